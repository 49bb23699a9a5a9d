// What takes processors away from the work: detours of the operating system. A detour is an interval of time in which a
// host does no work. They come from a table that repeats, begun at another place on every host, or are drawn.
// The same integers as noise.py, whose draws are counters' hashes: they depend on nothing but seed, host and number.
#pragma once
#include "_schedule.h"
#include <algorithm>
#include <cmath>
#include <vector>

static const u64 GOLDEN = 0x9e3779b97f4a7c15ull;

static inline u64 mixed(u64 z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
static inline u64 stream_key(u64 seed, u64 stream, u64 host) {
    return mixed(mixed(seed ^ (GOLDEN * (stream + 1))) + host * GOLDEN);
}
static inline u64 draw(u64 key, u64 number) { return mixed(key + (number + 1) * GOLDEN); }
static inline double uniform(u64 bits) { return ((bits >> 11) + 1) * 0x1p-53; } // above 0, at most 1

// Mirrored by DETOURS in engine.py.
struct Detours {
    i64 kind; // 0: none, 1: a table, 2: drawn
    i64 count, period, together;
    const i64 *starts, *ends;
    double every, lasting, shape; // shape 0: all as long, 1: exponential, more: a Pareto tail
    u64 seed;
};

class Noise {
  public:
    Noise(const Detours& detours, u64 hosts) : d_(detours) {
        if (d_.kind != 2) return;
        state_.resize(hosts);
        for (u64 host = 0; host < hosts; host++) {
            state_[host] = {0, 0, stream_key(d_.seed, 0, d_.together ? 0 : host), 0};
            next(state_[host]);
        }
    }

    // When work of so many nanoseconds that begins at a time ends.
    i64 end_of(u64 host, i64 time, i64 work) {
        if (d_.kind == 0 || work == 0) return time + work;
        return d_.kind == 1 ? by_table(host, time, work) : by_draws(host, time, work);
    }

  private:
    struct State {
        i64 start, end; // of a detour
        u64 key, number;
    };

    // Work goes on until the next detour, and again behind it; false when it is done.
    static bool passes(i64 start, i64 end, i64& now, i64& left) {
        if (start > now) {
            if (left <= start - now) return false;
            left -= start - now;
        }
        now = std::max(now, end);
        return true;
    }

    i64 by_table(u64 host, i64 now, i64 left) const {
        const u64 key = stream_key(d_.seed, 1, d_.together ? 0 : host);
        const i64 phase = draw(key, 0) % (u64)d_.period;
        const i64 place = (now + phase) % d_.period;
        i64 origin = now - place; // when the table began, in the host's time
        i64 i = std::upper_bound(d_.ends, d_.ends + d_.count, place) - d_.ends;
        for (;; i++) {
            if (i == d_.count) {
                i = 0;
                origin += d_.period;
            }
            if (!passes(origin + d_.starts[i], origin + d_.ends[i], now, left)) return now + left;
        }
    }

    i64 by_draws(u64 host, i64 now, i64 left) {
        State& kept = state_[host];
        while (kept.end <= now) next(kept);
        State detour = kept; // the next operation may begin before this one ends, on another processor
        while (passes(detour.start, detour.end, now, left)) next(detour);
        return now + left;
    }

    void next(State& detour) const {
        const double pause = uniform(draw(detour.key, 2 * detour.number));
        const double length = uniform(draw(detour.key, 2 * detour.number + 1));
        detour.start = detour.end + (i64)(-std::log(pause) * d_.every);
        double lasting = d_.lasting;
        if (d_.shape == 1) lasting = -std::log(length) * d_.lasting;
        else if (d_.shape > 1) lasting = d_.lasting * (d_.shape - 1) / d_.shape * std::pow(length, -1 / d_.shape);
        detour.end = detour.start + (i64)std::min(lasting, 1e15);
        detour.number++;
    }

    Detours d_;
    std::vector<State> state_;
};
