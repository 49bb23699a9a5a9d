// LogGOPS in integer nanoseconds: what a message of so many bytes costs, by how near its two ranks are to each other.
// Mirrored by LEVEL in engine.py; network.py has the same arithmetic in Python.
#pragma once
#include "_schedule.h"
#include <algorithm>

static const i64 FEMTO = 1000000; // femtoseconds of a nanosecond
static const int KNOTS = 16;

struct Level {
    i64 ranks; // so many neighbouring ranks share this level; the last level is for all
    i64 L, o, g, S;
    i64 G, O; // femtoseconds per byte
    i64 knots;
    i64 knot[KNOTS], gap[KNOTS]; // of a network whose gap per byte depends on the size
};

// The bytes after the first one. A message without any costs a byte less, as in LogGOPSim.
static inline i64 charge(i64 bytes, i64 per_byte) {
    if (bytes == 0) return -((per_byte + FEMTO / 2) / FEMTO);
    if (per_byte % FEMTO == 0) return (bytes - 1) * (per_byte / FEMTO);
    return (i64)(((__int128)(bytes - 1) * per_byte + FEMTO / 2) / FEMTO);
}

static inline i64 stream(const Level& level, i64 bytes) {
    if (level.knots == 0) return charge(bytes, level.G);
    __int128 total = 0;
    for (i64 i = 0; i < level.knots && level.knot[i] < bytes; i++) {
        const i64 end = i + 1 < level.knots ? std::min(level.knot[i + 1], bytes) : bytes;
        total += (__int128)level.gap[i] * (end - level.knot[i]);
    }
    return (i64)((total + FEMTO / 2) / FEMTO);
}

// What the receiver pays: the longer of the two, compared as LogGOPSim compares, without signs.
static inline i64 receive_charge(const Level& level, i64 bytes) {
    return (i64)std::max((u64)charge(bytes, level.O), (u64)stream(level, bytes));
}

static inline const Level& level_of(const Level* levels, i64 count, u32 a, u32 b) {
    for (i64 i = 0; i + 1 < count; i++)
        if (a / levels[i].ranks == b / levels[i].ranks) return levels[i];
    return levels[count - 1];
}
