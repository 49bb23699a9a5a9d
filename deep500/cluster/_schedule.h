// What every rank of a schedule has to do: operations, and which of them wait for which.
// Mirrored by NODE and RANK in schedule.py.
#pragma once
#include <cstdint>

typedef int64_t i64;
typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;

enum Kind : u32 { SEND = 1, RECV = 2, CALC = 3 };
static const u32 ANY = ~0u;                  // a receive takes any source, or any tag
static const u32 START = 1u << 31;           // of an edge: the target waits for the start only
static const u64 LARGEST = (1ull << 48) - 1; // bytes, or nanoseconds of work

// 24 bytes: there are tens of millions of them.
struct Node {
    u64 size : 48, cpu : 8, nic : 8;
    u32 peer, tag;
    u32 waits : 30, kind : 2; // how many operations it still waits for
    u32 first;                // of its edges, counted within its rank
};
static_assert(sizeof(Node) == 24, "as NODE in schedule.py");

// Where the nodes and edges of a rank are.
struct Rank {
    i64 node, nodes, edge, edges;
};
