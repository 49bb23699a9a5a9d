// What a simulation reads and writes. Mirrored by TASK in engine.py and INTERVAL in outcome.py.
#pragma once
#include "_network.h"
#include "_noise.h"
#include "_schedule.h"

// An interval in which a processor was busy, for the timeline and the critical path.
struct Interval {
    i64 begin, end;
    u32 node, host, cause; // the interval without which it would have begun earlier
    u8 kind, why, cpu, unused;
};
enum Why : u8 { NOTHING = 0, PROCESSOR = 1, GAP = 2, WIRE = 3 };
static const u32 NO_CAUSE = ~0u;
struct Cause {
    u32 interval = NO_CAUSE;
    u8 why = NOTHING;
};

struct Task {
    i64 ranks, cpus, nics, levels, wildcards, starts, recorded;
    Node* nodes;
    i64 node_count;
    const u32* edges;
    const Rank* rank;
    const Level* level;
    const double* speed; // null: all as they are
    const i64* death;    // null: nobody dies
    Detours detours;
    i64 *finish, *spent; // of every rank; spent: 4 of each, work, overhead, bytes, noise
    Interval* intervals;
};
enum Spent { WORK = 0, OVERHEAD = 1, BYTES = 2, NOISE = 3 };
