// GOAL's binary format, as LogGOPSim's txt2bin writes it, in and out; nothing in a file is believed before it is checked.
//   u64 4223 | u32 ranks | u8 last cpu | u8 last nic | per rank: u64 start, u64 end (from byte 8)
//   per rank: u32 nodes | u32 roots | roots x u32 | nodes x 39 bytes | u32 appendix
#include "_schedule.h"
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

static const u64 MAGIC = 4223, ORIGIN = 8;
static const i64 NODE_BYTES = 39;

struct Reader {
    FILE* file;
    i64 size, next = 0; // the next rank
    u64 end = 0; // of what has been read
    u32 ranks = 0;
    u32 cpus = 1, nics = 1;
    i64 nodes = 0, edges = 0;
    bool wildcards = false, starts = false;
    std::vector<u64> table;
    std::vector<u8> block;
    std::vector<u32> waits;
    std::string problem;
};

template <typename T> static T at(const u8* place) {
    T value;
    std::memcpy(&value, place, sizeof value);
    return value;
}

static bool fail(Reader& r, u64 offset, const std::string& text) {
    r.problem = "byte " + std::to_string(offset) + ": " + text;
    return false;
}

static std::string number(u64 n) { return std::to_string(n); }

static bool header(Reader& r) {
    u8 bytes[14];
    if (std::fread(bytes, 1, 14, r.file) != 14) return fail(r, 0, "the file ends within its header");
    if (at<u64>(bytes) != MAGIC) return fail(r, 0, "no GOAL file begins like this");
    r.ranks = at<u32>(bytes + 8);
    r.cpus = bytes[12] + 1;
    r.nics = bytes[13] + 1;
    if (r.ranks == 0) return fail(r, 8, "it has no ranks");
    if ((u64)r.size < 14 + 16ull * r.ranks)
        return fail(r, 8, number(r.ranks) + " ranks have no room in a file of " + number(r.size) + " bytes");
    r.table.resize(2ull * r.ranks);
    if (std::fread(r.table.data(), 16, r.ranks, r.file) != r.ranks) return fail(r, 14, "the table of ranks cannot be read");
    r.end = 14 + 16ull * r.ranks;
    return true;
}

struct Out {
    Node* nodes;
    u32* edges;
    Rank* rank;
};

// One edge of the appendix; its target must be a node of the rank.
static bool edges_of(Reader& r, const u8* block, u64 offset, u64 place, bool start, u32 nodes, i64 entries,
                     const u8* appendix, Out& out) {
    const u32 count = at<u32>(block + place), first = at<u32>(block + place + 4);
    if (count == 0) return true;
    if ((u64)first + count > (u64)entries)
        return fail(r, offset + place, number(count) + " dependants from " + number(first) + " on, and the appendix has " +
                                           number(entries));
    for (u32 i = 0; i < count; i++) {
        const u32 target = at<u32>(appendix + 4ull * (first + i));
        const u64 where = offset + (appendix - block) + 4ull * (first + i);
        if (target >= nodes) return fail(r, where, "operation " + number(target) + " of " + number(nodes));
        r.waits[target]++;
        out.edges[r.edges++] = target | (start ? START : 0);
    }
    r.starts |= start;
    return true;
}

static bool node_of(Reader& r, const u8* b, u64 offset, Node& node) {
    const u32 kind = b[4], peer = at<u32>(b + 5);
    const u64 size = at<u64>(b + 9);
    if (kind < SEND || kind > CALC) return fail(r, offset + 4, "an operation of type " + number(kind) + ": 1, 2 and 3 are known");
    const bool any = kind == RECV && peer == ANY;
    if (kind != CALC && peer >= r.ranks && !any)
        return fail(r, offset + 5, "rank " + number(peer) + " of " + number(r.ranks));
    if (size > LARGEST) return fail(r, offset + 9, "a size of " + number(size) + ": at most " + number(LARGEST));
    if (b[21] >= r.cpus) return fail(r, offset + 21, "cpu " + number(b[21]) + ", and the header says " + number(r.cpus - 1) + " is the last");
    if (b[22] >= r.nics) return fail(r, offset + 22, "nic " + number(b[22]) + ", and the header says " + number(r.nics - 1) + " is the last");
    const u32 tag = at<u32>(b + 17);
    if (kind == SEND && tag == ANY) return fail(r, offset + 17, "a send with any tag: only a receive may have that");
    r.wildcards |= any || (kind == RECV && tag == ANY);
    node.size = size;
    node.cpu = b[21];
    node.nic = b[22];
    node.peer = kind == CALC ? 0 : peer;
    node.tag = tag;
    node.kind = kind;
    node.waits = 0;
    return true;
}

static bool one_rank(Reader& r, u32 rank, Out& out, i64 node_room, i64 edge_room) {
    const u64 start = r.table[2ull * rank], end = r.table[2ull * rank + 1], entry = 14 + 16ull * rank;
    const u64 offset = start + ORIGIN;
    if (start > (u64)r.size || end > (u64)r.size || end + ORIGIN > (u64)r.size || end < start + 8 || offset < r.end)
        return fail(r, entry, "rank " + number(rank) + " is said to be in bytes " + number(start) + " to " + number(end));
    const u64 length = end - start;
    r.block.resize(length);
    if (offset != r.end && std::fseek(r.file, offset, SEEK_SET)) return fail(r, offset, "cannot be read");
    if (std::fread(r.block.data(), 1, length, r.file) != length) return fail(r, offset, "the file ends within rank " + number(rank));
    r.end = offset + length;
    const u8* b = r.block.data();
    const u32 nodes = at<u32>(b), roots = at<u32>(b + 4);
    const u64 nodes_at = 8 + 4ull * roots, appendix_at = nodes_at + NODE_BYTES * (u64)nodes;
    if (roots > nodes || appendix_at > length)
        return fail(r, offset, number(nodes) + " operations, of which " + number(roots) + " can begin, in " + number(length) + " bytes");
    if ((length - appendix_at) % 4) return fail(r, offset + appendix_at, "an appendix that is no list of 4-byte numbers");
    const i64 entries = (length - appendix_at) / 4;
    if (r.nodes + nodes > node_room || r.edges + entries > edge_room) return fail(r, offset, "more operations than the file has room for");
    out.rank[rank] = {r.nodes, nodes, r.edges, 0};
    r.waits.assign(nodes, 0);
    const i64 edges_before = r.edges;
    for (u32 i = 0; i < nodes; i++) {
        const u64 place = nodes_at + NODE_BYTES * (u64)i;
        Node& node = out.nodes[r.nodes + i];
        if (!node_of(r, b + place, offset + place, node)) return false;
        node.first = r.edges - edges_before;
        // an entry of the appendix belongs to one operation: else a short file would have edges without end
        if (r.edges + (i64)at<u32>(b + place + 23) + (i64)at<u32>(b + place + 31) > edges_before + entries)
            return fail(r, offset + place + 23, "more dependants than the appendix of rank " + number(rank) + " has");
        for (int part = 0; part < 2; part++)
            if (!edges_of(r, b, offset, place + 23 + 8 * part, part, nodes, entries, b + appendix_at, out)) return false;
    }
    for (u32 i = 0; i < nodes; i++) {
        const u64 place = nodes_at + NODE_BYTES * (u64)i;
        const u32 said = at<u32>(b + place);
        if (said != r.waits[i])
            return fail(r, offset + place, "operation " + number(i) + " of rank " + number(rank) + " is said to wait for " +
                                               number(said) + ", and " + number(r.waits[i]) + " name it");
    }
    r.nodes += nodes;
    out.rank[rank].edges = r.edges - edges_before;
    return true;
}

API Reader* goal_open(const char* path, i64 size) {
    FILE* file = std::fopen(path, "rb");
    if (!file) return nullptr;
    std::setvbuf(file, nullptr, _IOFBF, 1 << 20);
    Reader* reader = new Reader{file, size};
    header(*reader);
    return reader;
}
API const char* goal_problem(const Reader* reader) { return reader->problem.c_str(); }
API u32 goal_ranks(const Reader* reader) { return reader->ranks; }
// How many ranks were read; fewer than asked for at the end, or where something is wrong.
API i64 goal_read(Reader* r, i64 ranks, Node* nodes, i64 node_room, u32* edges, i64 edge_room, Rank* rank) {
    Out out{nodes, edges, rank};
    i64 read = 0;
    for (; read < ranks && r->next < r->ranks; read++, r->next++)
        if (!one_rank(*r, r->next, out, node_room, edge_room)) break;
    return read;
}
API void goal_counts(const Reader* r, i64* numbers) {
    const i64 counts[] = {r->ranks, r->cpus, r->nics, r->wildcards, r->starts, r->nodes, r->edges};
    std::memcpy(numbers, counts, sizeof counts);
}
API void goal_close(Reader* reader) {
    std::fclose(reader->file);
    delete reader;
}

// ---- out

static void put32(std::vector<u8>& out, u32 value) { out.insert(out.end(), (u8*)&value, (u8*)&value + 4); }

static void put_rank(std::vector<u8>& out, const Node* nodes, u32 count, const u32* edges, u32 edge_count) {
    std::vector<u32> waits(count, 0), roots;
    for (u32 i = 0; i < edge_count; i++) waits[edges[i] & ~START]++;
    for (u32 i = 0; i < count; i++)
        if (waits[i] == 0) roots.push_back(i);
    put32(out, count);
    put32(out, roots.size());
    for (u32 root : roots) put32(out, root);
    std::vector<u32> appendix;
    for (u32 i = 0; i < count; i++) {
        const Node& node = nodes[i];
        const u64 size = node.size;
        put32(out, waits[i]);
        out.push_back(node.kind);
        put32(out, node.peer);
        out.insert(out.end(), (u8*)&size, (u8*)&size + 8);
        put32(out, node.tag);
        out.push_back(node.cpu);
        out.push_back(node.nic);
        const u32 stop = i + 1 < count ? nodes[i + 1].first : edge_count;
        for (u32 flag : {0u, START}) {
            const u32 first = appendix.size();
            for (u32 e = node.first; e < stop; e++)
                if ((edges[e] & START) == flag) appendix.push_back(edges[e] & ~START);
            put32(out, appendix.size() - first);
            put32(out, first);
        }
    }
    out.insert(out.end(), (u8*)appendix.data(), (u8*)(appendix.data() + appendix.size()));
}

// 0: written, else the number of an error of the system.
API i64 goal_write(const char* path, i64 ranks, i64 cpus, i64 nics, const Node* nodes, const u32* edges, const Rank* rank,
                   i64* error) {
    *error = 1;
    FILE* file = std::fopen(path, "wb");
    if (!file) return 0;
    std::vector<u64> table(2 * ranks);
    std::vector<u8> head(14 + 16 * ranks, 0), block;
    bool good = std::fwrite(head.data(), 1, head.size(), file) == head.size();
    u64 end = head.size();
    for (i64 i = 0; i < ranks && good; i++) {
        block.clear();
        put_rank(block, nodes + rank[i].node, rank[i].nodes, edges + rank[i].edge, rank[i].edges);
        table[2 * i] = end - ORIGIN;
        end += block.size();
        table[2 * i + 1] = end - ORIGIN;
        good = std::fwrite(block.data(), 1, block.size(), file) == block.size();
    }
    const u32 count = ranks;
    std::memcpy(head.data(), &MAGIC, 8);
    std::memcpy(head.data() + 8, &count, 4);
    head[12] = cpus - 1;
    head[13] = nics - 1;
    std::memcpy(head.data() + 14, table.data(), 16 * ranks);
    good = good && std::fseek(file, 0, SEEK_SET) == 0 && std::fwrite(head.data(), 1, head.size(), file) == head.size();
    good = (std::fclose(file) == 0) && good;
    *error = !good;
    return end;
}
