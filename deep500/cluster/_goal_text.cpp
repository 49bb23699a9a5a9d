// GOAL's text format, read as txt2bin reads it; a line that is wrong is named.
//   num_ranks N
//   rank R { [label:] send SIZEb to RANK [tag T] [cpu C] [nic N] | recv SIZEb from RANK … | calc NS [cpu C]
//            label requires label | label irequires label }
#include "_schedule.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

struct Pair {
    u32 after, before, flag;
};
struct Label {
    u32 node;
    i64 line; // of the first use; 0 once it is defined
};

struct Reader {
    FILE* file;
    std::vector<char> buffer = std::vector<char>(1 << 20);
    size_t place = 0, filled = 0;
    i64 line = 1, begun = 1; // of the statement
    i64 ranks = -1, rank = -1, blocks = 0;
    i64 node_room, edge_room;
    Node* nodes = nullptr;
    u32* edges = nullptr;
    Rank* out = nullptr;
    i64 node_count = 0, edge_count = 0;
    u32 cpus = 1, nics = 1;
    bool wildcards = false, starts = false;
    std::unordered_map<std::string, u32> names;
    std::vector<Label> labels;
    std::vector<Pair> pairs;
    std::vector<std::string> words;
    std::string problem;

    int peek() {
        if (place == filled) {
            filled = std::fread(buffer.data(), 1, buffer.size(), file);
            place = 0;
            if (filled == 0) return -1;
        }
        return (unsigned char)buffer[place];
    }
    int take() {
        const int c = peek();
        if (c >= 0) place++;
        return c;
    }
};

static const u32 UNDEFINED = ~0u;

static bool fail(Reader& r, const std::string& text, i64 line = 0) {
    r.problem = "line " + std::to_string(line ? line : r.begun) + ": " + text;
    return false;
}

static std::string visible(const std::string& word) {
    std::string text;
    for (unsigned char c : word.substr(0, 40)) {
        char code[5];
        std::snprintf(code, sizeof code, "\\x%02x", c);
        text += c < 32 || c > 126 ? std::string(code) : std::string(1, c);
    }
    return "'" + text + "'";
}

static bool letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool digit(int c) { return c >= '0' && c <= '9'; }

static bool comment(Reader& r) {
    const int second = r.take();
    if (second == '/') {
        while (r.peek() >= 0 && r.peek() != '\n') r.take();
        return true;
    }
    if (second != '*') return fail(r, "expected a comment behind '/'", r.line);
    const i64 begin = r.line;
    for (int before = 0, c; (c = r.take()) >= 0; before = c) {
        if (c == '\n') r.line++;
        if (before == '*' && c == '/') return true;
    }
    return fail(r, "a comment without an end", begin);
}

enum Stop { LINE, OPEN, CLOSE, END, WRONG };

// The words of a statement, and what ended it.
static Stop statement(Reader& r) {
    r.words.clear();
    r.begun = r.line;
    for (;;) {
        const int c = r.take();
        if (c < 0) return END;
        if (c == '\n') return LINE;
        if (c == '{') return OPEN;
        if (c == '}') return CLOSE;
        if (c == ' ' || c == '\t' || c == '\r') continue;
        if (c == '/') {
            if (!comment(r)) return WRONG;
            continue;
        }
        std::string word(1, (char)c);
        if (digit(c) || c == '-')
            while (digit(r.peek())) word += (char)r.take();
        else if (letter(c))
            while (letter(r.peek()) || digit(r.peek())) word += (char)r.take();
        else if (c != ':') {
            fail(r, "the byte " + visible(word) + " has no meaning here", r.line);
            return WRONG;
        }
        if (r.words.empty()) r.begun = r.line;
        r.words.push_back(word);
        if (r.words.size() > 16) {
            fail(r, "too many words");
            return WRONG;
        }
    }
}

static bool whole(Reader& r, const std::string& word, u64 most, u64& value) {
    value = 0;
    if (word.empty() || !digit(word[0])) return fail(r, "expected a number from 0 to " + std::to_string(most) + " instead of " + visible(word));
    for (char c : word) {
        value = value * 10 + (c - '0');
        if (word.size() > 19 || value > most) return fail(r, visible(word) + " is too large: at most " + std::to_string(most));
    }
    return true;
}

static u32 label(Reader& r, const std::string& name) {
    const auto entry = r.names.emplace(name, r.labels.size());
    if (entry.second) r.labels.push_back({UNDEFINED, r.begun});
    return entry.first->second;
}

static bool option(Reader& r, Node& node, const std::string& name, const std::string& word) {
    u64 value;
    if (name == "tag" && node.kind != CALC) {
        if (word == "-1" && node.kind == RECV) {
            node.tag = ANY;
            r.wildcards = true;
            return true;
        }
        if (!whole(r, word, ANY - 1, value)) return false;
        node.tag = value;
        return true;
    }
    if (name != "cpu" && !(name == "nic" && node.kind != CALC)) return fail(r, "expected tag, cpu, nic or a new line instead of " + visible(name));
    if (!whole(r, word, 254, value)) return false;
    u32& most = name == "cpu" ? r.cpus : r.nics;
    most = std::max(most, (u32)value + 1);
    if (name == "cpu") node.cpu = value;
    else node.nic = value;
    return true;
}

// "send 1024b to 3", "recv 8b from -1", "calc 500", and what may follow.
static bool operation(Reader& r, size_t i, Node& node) {
    const auto word = [&r](size_t place) { return place < r.words.size() ? r.words[place] : std::string(); };
    const std::string verb = word(i);
    node = Node{};
    node.kind = verb == "send" ? SEND : verb == "recv" ? RECV : CALC;
    if (verb != "send" && verb != "recv" && verb != "calc") return fail(r, "expected send, recv or calc instead of " + visible(verb));
    u64 value;
    if (!whole(r, word(i + 1), LARGEST, value)) return false;
    node.size = value;
    i += 2;
    if (node.kind != CALC) {
        const std::string towards = node.kind == SEND ? "to" : "from";
        if (word(i) != "b") return fail(r, "expected b, for bytes, instead of " + visible(word(i)));
        if (word(i + 1) != towards) return fail(r, "expected " + towards + " instead of " + visible(word(i + 1)));
        if (word(i + 2) == "-1" && node.kind == RECV) {
            node.peer = ANY;
            r.wildcards = true;
        } else {
            if (!whole(r, word(i + 2), r.ranks - 1, value)) return false;
            node.peer = value;
        }
        i += 3;
    }
    for (; i < r.words.size(); i += 2)
        if (!option(r, node, r.words[i], word(i + 1))) return false;
    return true;
}

static bool line_of_block(Reader& r) {
    const std::vector<std::string>& w = r.words;
    if (w.empty()) return true;
    if (r.rank < 0) return fail(r, "expected num_ranks or rank instead of " + visible(w[0]));
    if (w.size() > 1 && (w[1] == "requires" || w[1] == "irequires")) {
        if (w.size() != 3 || !letter(w[0][0]) || !letter(w[2][0])) return fail(r, "expected one label behind " + w[1]);
        const u32 flag = w[1] == "irequires" ? START : 0;
        r.starts |= flag != 0;
        const u32 after = label(r, w[0]);
        r.pairs.push_back({after, label(r, w[2]), flag});
        return true;
    }
    const bool named = w.size() > 1 && w[1] == ":";
    if (named && !letter(w[0][0])) return fail(r, visible(w[0]) + " is no label: begin with a letter");
    if (r.node_count >= r.node_room) return fail(r, "more operations than the file has room for");
    const i64 place = r.node_count - r.out[r.rank].node;
    if (!operation(r, named ? 2 : 0, r.nodes[r.node_count])) return false;
    if (named) {
        Label& own = r.labels[label(r, w[0])];
        if (own.node != UNDEFINED) return fail(r, "the label " + visible(w[0]) + " is there already");
        own.node = place;
    }
    r.node_count++;
    return true;
}

static bool begin_rank(Reader& r) {
    u64 value;
    if (r.rank >= 0) return fail(r, "a block within rank " + std::to_string(r.rank));
    if (r.words.size() != 2 || r.words[0] != "rank") return fail(r, "expected rank and its number before {");
    if (r.ranks < 0) return fail(r, "expected num_ranks before the first rank");
    if (!whole(r, r.words[1], r.ranks - 1, value)) return false;
    if (r.out[value].node >= 0) return fail(r, "rank " + r.words[1] + " has a block already");
    r.rank = value;
    r.out[value] = {r.node_count, 0, r.edge_count, 0};
    r.names.clear();
    r.labels.clear();
    r.pairs.clear();
    return true;
}

static bool end_rank(Reader& r) {
    if (r.rank < 0) return fail(r, "a } without a {");
    for (const auto& entry : r.names)
        if (r.labels[entry.second].node == UNDEFINED)
            return fail(r, "the label " + visible(entry.first) + " is not defined in rank " + std::to_string(r.rank), r.labels[entry.second].line);
    Rank& rank = r.out[r.rank];
    rank.nodes = r.node_count - rank.node;
    rank.edges = r.pairs.size();
    if (r.edge_count + rank.edges > r.edge_room) return fail(r, "more dependences than the file has room for");
    Node* nodes = r.nodes + rank.node;
    std::vector<u32> place(rank.nodes + 1, 0);
    for (const Pair& pair : r.pairs) place[r.labels[pair.before].node + 1]++;
    for (i64 i = 0; i < rank.nodes; i++) {
        place[i + 1] += place[i];
        nodes[i].first = place[i];
    }
    for (const Pair& pair : r.pairs)
        r.edges[rank.edge + place[r.labels[pair.before].node]++] = r.labels[pair.after].node | pair.flag;
    r.edge_count += rank.edges;
    r.rank = -1;
    r.blocks++;
    return true;
}

static bool number_of_ranks(Reader& r) {
    u64 value;
    if (r.ranks >= 0) return fail(r, "num_ranks is there already");
    if (r.words.size() != 2 || !whole(r, r.words[1], 1ull << 31, value)) return r.problem.empty() ? fail(r, "expected one number behind num_ranks") : false;
    if (value == 0) return fail(r, "a schedule of 0 ranks");
    r.ranks = value;
    return true;
}

// One statement; false at the end of the file, or where something is wrong.
static bool one(Reader& r) {
    const Stop stop = statement(r);
    if (stop == WRONG) return false;
    bool good;
    if (stop == OPEN) good = begin_rank(r);
    else if (!r.words.empty() && r.words[0] == "num_ranks") good = number_of_ranks(r);
    else good = line_of_block(r);
    if (good && stop == CLOSE) good = end_rank(r);
    if (!good) return false;
    if (stop == LINE) r.line++;
    if (stop != END) return true;
    if (r.rank >= 0) fail(r, "the file ends within rank " + std::to_string(r.rank));
    else if (r.ranks < 0) fail(r, "the file ends without num_ranks");
    else if (r.blocks < r.ranks) {
        for (i64 i = 0; r.out && i < r.ranks; i++)
            if (r.out[i].node < 0) {
                fail(r, "the file ends, and rank " + std::to_string(i) + " of " + std::to_string(r.ranks) + " has no block");
                break;
            }
        if (r.problem.empty()) fail(r, "the file ends before its first rank");
    }
    return false;
}

API Reader* text_open(const char* path) {
    FILE* file = std::fopen(path, "rb");
    if (!file) return nullptr;
    Reader* reader = new Reader{file};
    while (reader->ranks < 0 && reader->problem.empty() && one(*reader)) {
    }
    return reader;
}
API const char* text_problem(const Reader* reader) { return reader->problem.c_str(); }
API i64 text_ranks(const Reader* reader) { return reader->ranks; }
API void text_into(Reader* r, Node* nodes, i64 node_room, u32* edges, i64 edge_room, Rank* rank) {
    r->nodes = nodes;
    r->node_room = node_room;
    r->edges = edges;
    r->edge_room = edge_room;
    r->out = rank;
    for (i64 i = 0; i < r->ranks; i++) rank[i].node = -1;
}
// So many statements at most; whether there are more.
API int text_read(Reader* r, i64 most) {
    for (i64 i = 0; i < most; i++)
        if (!one(*r)) return 0;
    return 1;
}
API void text_counts(const Reader* r, i64* numbers) {
    const i64 counts[] = {r->ranks, r->cpus, r->nics, r->wildcards, r->starts, r->node_count, r->edge_count};
    std::memcpy(numbers, counts, sizeof counts);
}
API void text_close(Reader* reader) {
    std::fclose(reader->file);
    delete reader;
}
