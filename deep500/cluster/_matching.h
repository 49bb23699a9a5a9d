// Which message meets which receive, as MPI matches them: by source and tag, in order. Every host has two queues, of
// receives that were posted and of messages that came before their receive. A queue is a list in order; one that grows
// long, on a host without wildcards, is kept by source and tag.
#pragma once
#include "_schedule.h"
#include <deque>
#include <unordered_map>
#include <vector>

struct Waiting {
    i64 finish; // of a message: when it was taken from the network
    u32 node, source, tag, next;
};

class Matching {
  public:
    Matching(u64 hosts, bool wildcards) : lists_(2 * hosts), wildcards_(wildcards) {}

    enum Side { POSTED = 0, UNEXPECTED = 1 };

    void prefetch(u32 host) const { __builtin_prefetch(&lists_[2ull * host]); }

    void add(u32 host, Side side, const Waiting& waiting) {
        List& list = lists_[2ull * host + side];
        list.length++;
        if (list.head == LONG) {
            by_channel(host, side)[channel(waiting.source, waiting.tag)].push_back(waiting);
            return;
        }
        const u32 place = allocate(waiting);
        if (list.length == 1) list.head = place;
        else pool_[list.tail].next = place;
        list.tail = place;
        if (list.length > LONGEST && !wildcards_) lengthen(host, side, list);
    }

    // Take the first that matches out of a queue; whether there was one.
    bool take(u32 host, Side side, u32 source, u32 tag, Waiting& out) {
        List& list = lists_[2ull * host + side];
        if (list.length == 0) return false;
        if (list.head == LONG) return take_long(host, side, list, channel(source, tag), out);
        u32 before = NONE;
        for (u32 place = list.head; place != NONE; before = place, place = pool_[place].next) {
            const Waiting& one = pool_[place];
            if (!same(one.source, source) || !same(one.tag, tag)) continue;
            out = one;
            if (before == NONE) list.head = one.next;
            else pool_[before].next = one.next;
            if (list.tail == place) list.tail = before;
            list.length--;
            pool_[place].next = free_;
            free_ = place;
            return true;
        }
        return false;
    }

    // The first of a queue, if it has any.
    bool first(u32 host, Side side, Waiting& out) {
        const List& list = lists_[2ull * host + side];
        if (list.length == 0) return false;
        if (list.head != LONG) {
            out = pool_[list.head];
            return true;
        }
        for (auto& entry : by_channel(host, side))
            if (!entry.second.empty()) {
                out = entry.second.front();
                return true;
            }
        return false;
    }

  private:
    static const u32 NONE = ~0u, LONG = ~0u - 1, LONGEST = 32;
    struct List {
        u32 head = NONE, tail = NONE, length = 0;
    };
    typedef std::unordered_map<u64, std::deque<Waiting>> Channels;

    static bool same(u32 a, u32 b) { return a == b || a == ANY || b == ANY; }
    static u64 channel(u32 source, u32 tag) { return (u64)source << 32 | tag; }
    Channels& by_channel(u32 host, Side side) { return channels_[2ull * host + side]; }

    u32 allocate(const Waiting& waiting) {
        u32 place = free_;
        if (place == NONE) {
            place = pool_.size();
            pool_.push_back(waiting);
        } else {
            free_ = pool_[place].next;
            pool_[place] = waiting;
        }
        pool_[place].next = NONE;
        return place;
    }

    void lengthen(u32 host, Side side, List& list) {
        Channels& channels = by_channel(host, side);
        for (u32 place = list.head; place != NONE;) {
            const Waiting one = pool_[place];
            channels[channel(one.source, one.tag)].push_back(one);
            pool_[place].next = free_;
            free_ = place;
            place = one.next;
        }
        list.head = LONG;
    }

    bool take_long(u32 host, Side side, List& list, u64 wanted, Waiting& out) {
        Channels& channels = by_channel(host, side);
        const auto found = channels.find(wanted);
        if (found == channels.end()) return false;
        out = found->second.front();
        found->second.pop_front();
        if (found->second.empty()) channels.erase(found);
        list.length--;
        return true;
    }

    std::vector<List> lists_;
    std::vector<Waiting> pool_;
    std::unordered_map<u64, Channels> channels_;
    u32 free_ = NONE;
    bool wildcards_;
};
