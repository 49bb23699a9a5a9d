// The queue of events in the order of time, then of their serial numbers: a radix heap. Times never decrease, so events
// lie in buckets by the highest bit in which their time differs from the current one, and are moved in long runs of
// neighbouring memory, where a binary heap of millions of events would miss the cache at every level.
#pragma once
#include "_schedule.h"
#include <algorithm>
#include <vector>

static const u32 NO_MESSAGE = ~0u;

struct Event {
    u64 time, serial;
    u32 node, host;
    u32 source; // of a message; NO_MESSAGE for an operation
    u32 cause;  // the interval of a message's send, if intervals are recorded
};

class EventQueue {
  public:
    bool empty() const { return size_ == 0; }
    u64 size() const { return size_; }

    void push(const Event& event) {
        buckets_[bucket(event.time)].push_back(event);
        size_++;
    }

    Event pop() {
        if (front_ == buckets_[0].size()) refill();
        size_--;
        return buckets_[0][front_++];
    }

    // The event that comes so many after the next one, if that is already known.
    const Event* ahead(size_t distance) const {
        const size_t place = front_ + distance;
        return place < buckets_[0].size() ? &buckets_[0][place] : nullptr;
    }

  private:
    int bucket(u64 time) const { return time == now_ ? 0 : 64 - __builtin_clzll(time ^ now_); }

    static bool earlier(const Event& a, const Event& b) { return a.serial < b.serial; }

    // Make the next moment the current one: the lowest bucket is dealt out to lower ones.
    void refill() {
        buckets_[0].clear();
        front_ = 0;
        int lowest = 1;
        while (buckets_[lowest].empty()) lowest++;
        dealt_.swap(buckets_[lowest]);
        now_ = ~0ull;
        for (const Event& event : dealt_) now_ = std::min(now_, event.time);
        for (const Event& event : dealt_) buckets_[bucket(event.time)].push_back(event);
        dealt_.clear();
        std::vector<Event>& current = buckets_[0];
        if (!std::is_sorted(current.begin(), current.end(), earlier))
            std::sort(current.begin(), current.end(), earlier);
    }

    std::vector<Event> buckets_[65], dealt_;
    u64 now_ = 0, size_ = 0;
    size_t front_ = 0;
};
