// Simulates a schedule under LogGOPS, event by event, in integer nanoseconds. The rules are those of LogGOPSim, in the
// same order of events; reference.py says the same in Python, and both give the same nanoseconds.
//   send   when its processor and its card are free: the processor is busy for o + (s - 1) O, the card for g + (s - 1) G;
//          the message is there after o + L. Up to S bytes the send is done then, beyond, when it has met its receive.
//   message  when the receiver's processor and card are free: busy for o + max((s - 1) O, (s - 1) G), and g + (s - 1) G.
//   calc   when its processor is free.
#include "_events.h"
#include "_matching.h"
#include "_task.h"
#include <new>

#define API extern "C" __attribute__((visibility("default")))

class Engine {
  public:
    explicit Engine(const Task& task)
        : t(task), noise(task.detours, task.ranks), matching(task.ranks, task.wildcards), done(task.ranks, 0),
          stride(task.cpus + 2 * task.nics), free_at(task.ranks * stride, 0) {
        if (t.cpus > 1) ready.resize(t.node_count, 0);
        if (t.recorded) {
            causes.resize(task.ranks * stride);
            if (t.cpus > 1) ready_cause.resize(t.node_count);
        }
        count_waits();
        for (u32 host = 0; host < t.ranks; host++) {
            const Rank& rank = t.rank[host];
            for (i64 i = 0; i < rank.nodes; i++)
                if (t.nodes[rank.node + i].waits == 0) freed.push_back({host, (u32)(rank.node + i)});
            release();
        }
    }

    // So many events at most; whether there are more.
    bool run(i64 most) {
        for (i64 i = 0; i < most && !queue.empty(); i++) {
            prefetch();
            Event event = queue.pop();
            if (!is_dead(event)) handle(event);
            if (!freed.empty()) release();
        }
        return !queue.empty();
    }

    void finish() {
        for (i64 host = 0; host < t.ranks; host++) {
            i64 last = 0;
            for (i64 cpu = 0; cpu < t.cpus; cpu++) last = std::max(last, free_at[host * stride + cpu]);
            t.finish[host] = last;
        }
    }

    // Why a host has not finished: 0 it has, 1 an unmatched receive, 2 a send that nobody received, 3 a message that
    // nobody received, 4 operations that wait for each other, 5 it died; and the node.
    void blocked(u8* reason, u32* node) {
        for (u32 host = 0; host < t.ranks; host++)
            if (done[host] < t.rank[host].nodes) {
                reason[host] = 4;
                node[host] = first_waiting(host);
            }
        Waiting waiting;
        for (u32 host = 0; host < t.ranks; host++) {
            if (matching.first(host, Matching::UNEXPECTED, waiting)) {
                const i64 bytes = t.nodes[waiting.node].size;
                const bool meets = bytes > level_of(t.level, t.levels, host, waiting.source).S;
                if (meets || reason[waiting.source] == 0) {
                    reason[waiting.source] = meets ? 2 : 3;
                    node[waiting.source] = waiting.node;
                }
            }
        }
        for (u32 host = 0; host < t.ranks; host++)
            if (matching.first(host, Matching::POSTED, waiting)) {
                reason[host] = 1;
                node[host] = waiting.node;
            }
        for (u32 host = 0; t.death && host < t.ranks; host++)
            if (t.death[host] >= 0 && reason[host]) reason[host] = 5;
    }

    u64 events() const { return serial; } // one that had to wait counts once
    u64 pending_peak = 0;
    i64 interval_count = 0, now = 0;

  private:
    struct Freed {
        u32 host, node;
    };

    void count_waits() {
        for (i64 host = 0; host < t.ranks; host++) {
            const Rank& rank = t.rank[host];
            Node* nodes = t.nodes + rank.node;
            for (i64 i = 0; i < rank.nodes; i++) nodes[i].waits = 0;
            for (i64 i = 0; i < rank.edges; i++) nodes[t.edges[rank.edge + i] & ~START].waits++;
        }
    }

    u32 first_waiting(u32 host) const {
        const Rank& rank = t.rank[host];
        for (i64 i = 0; i < rank.nodes; i++)
            if (t.nodes[rank.node + i].waits > 0) return rank.node + i;
        return rank.node;
    }

    i64& cpu(u32 host, u32 number) { return free_at[host * stride + number]; }
    i64& sender(u32 host, u32 number) { return free_at[host * stride + t.cpus + number]; }
    i64& receiver(u32 host, u32 number) { return free_at[host * stride + t.cpus + t.nics + number]; }
    Cause& cause(u32 host, i64 place) { return causes[host * stride + place]; }

    void prefetch() const {
        const Event* later = queue.ahead(8);
        if (!later) return;
        __builtin_prefetch(&t.nodes[later->node]);
        __builtin_prefetch(&free_at[later->host * stride]);
        matching.prefetch(later->host);
        if (const Event* soon = queue.ahead(4)) {
            const u32 host = soon->source == NO_MESSAGE ? soon->host : soon->source;
            __builtin_prefetch(&t.edges[t.rank[host].edge + t.nodes[soon->node].first]);
        }
    }

    bool is_dead(const Event& event) const {
        return t.death && t.death[event.host] >= 0 && (i64)event.time >= t.death[event.host];
    }

    void handle(Event& event) {
        now = event.time;
        if (event.source != NO_MESSAGE) message(event);
        else if (t.nodes[event.node].kind == SEND) send(event);
        else if (t.nodes[event.node].kind == RECV) receive(event);
        else calculate(event);
    }

    void again(Event& event, i64 time) {
        event.time = time;
        event.cause = NO_CAUSE; // it is not the wire that it waits for
        queue.push(event);
    }

    void calculate(Event& event) {
        const Node& node = t.nodes[event.node];
        const u32 host = event.host;
        if (cpu(host, node.cpu) > now) return again(event, cpu(host, node.cpu));
        i64 work = node.size;
        if (t.speed) work = (i64)((double)work * t.speed[host] + 0.5);
        const i64 end = noise.end_of(host, now, work);
        spend(host, WORK, work, end - now - work);
        record(event, CALC, node.cpu, end, node.cpu);
        cpu(host, node.cpu) = end;
        began(host, event.node, now);
        ended(host, event.node, end);
    }

    void send(Event& event) {
        const Node& node = t.nodes[event.node];
        const u32 host = event.host;
        const i64 available = std::max(cpu(host, node.cpu), sender(host, node.nic));
        if (available > now) return again(event, available);
        began(host, event.node, now);
        const Level& level = level_of(t.level, t.levels, host, node.peer);
        const i64 left = noise.end_of(host, now, level.o);
        const i64 end = std::max(now, left + charge(node.size, level.O));
        spend(host, OVERHEAD, end - now - (left - now - level.o), left - now - level.o);
        const bool by_card = sender(host, node.nic) == now && cpu(host, node.cpu) != now;
        const u32 interval = record(event, SEND, node.cpu, end, by_card ? t.cpus + node.nic : node.cpu);
        cpu(host, node.cpu) = end;
        sender(host, node.nic) = std::max(now, now + level.g + stream(level, node.size));
        if (t.recorded) cause(host, t.cpus + node.nic) = {interval, GAP};
        queue.push({(u64)(left + level.L), serial++, event.node, node.peer, host, interval});
        if ((i64)node.size <= level.S) ended(host, event.node, end);
    }

    void receive(Event& event) {
        const Node& node = t.nodes[event.node];
        const u32 host = event.host;
        began(host, event.node, now);
        Waiting message;
        if (!matching.take(host, Matching::UNEXPECTED, node.peer, node.tag, message)) {
            matching.add(host, Matching::POSTED, {0, event.node, node.peer, node.tag, 0});
            return;
        }
        if (t.recorded) met(host, message, cause(host, node.cpu));
        else met(host, message, Cause());
        ended(host, event.node, std::max(now, message.finish));
    }

    void message(Event& event) {
        const Node& node = t.nodes[event.node];
        const u32 host = event.host;
        const i64 available = std::max(cpu(host, node.cpu), receiver(host, node.nic));
        if (available > now) return again(event, available);
        const Level& level = level_of(t.level, t.levels, event.source, host);
        const i64 taken = noise.end_of(host, now, level.o);
        const i64 bytes = receive_charge(level, node.size);
        const i64 end = std::max(now, taken + bytes);
        spend(host, OVERHEAD, level.o, taken - now - level.o);
        t.spent[4 * host + BYTES] += end - taken;
        Cause own;
        if (t.recorded) own = cause_of_message(event, node);
        record(event, RECV, node.cpu, end, -1, own);
        cpu(host, node.cpu) = end;
        receiver(host, node.nic) = std::max(now, now + level.g + stream(level, node.size));
        if (t.recorded) cause(host, t.cpus + t.nics + node.nic) = {(u32)interval_count - 1, GAP};
        const Waiting message{end, event.node, event.source, node.tag, 0};
        Waiting posted;
        if (!matching.take(host, Matching::POSTED, event.source, node.tag, posted)) {
            matching.add(host, Matching::UNEXPECTED, message);
            return;
        }
        met(host, message, own);
        ended(host, posted.node, end);
    }

    // A message has met its receive: its sender may go on now, if it has waited for that.
    void met(u32 host, const Waiting& message, Cause own) {
        const Node& node = t.nodes[message.node];
        if ((i64)node.size <= level_of(t.level, t.levels, message.source, host).S) return;
        i64& processor = cpu(message.source, node.cpu);
        if (processor < now) {
            processor = now;
            if (t.recorded) cause(message.source, node.cpu) = own;
        }
        i64& card = sender(message.source, node.nic);
        card = std::max(card, now);
        ended(message.source, message.node, now);
    }

    void began(u32 host, u32 node, i64 time) {
        if (t.starts) pass_edges(host, node, time, START);
    }
    void ended(u32 host, u32 node, i64 time) {
        done[host]++;
        pass_edges(host, node, time, 0);
    }

    // Tell those that wait for the start (or the end) of a node.
    void pass_edges(u32 host, u32 node, i64 time, u32 flag) {
        const Rank& rank = t.rank[host];
        const u32* edges = t.edges + rank.edge;
        const bool is_last = (i64)node + 1 == rank.node + rank.nodes;
        const u32 stop = is_last ? rank.edges : t.nodes[node + 1].first;
        for (u32 i = t.nodes[node].first; i < stop; i++) {
            if ((edges[i] & START) != flag) continue;
            const u32 target = rank.node + (edges[i] & ~START);
            if (t.cpus > 1 && time >= ready[target]) {
                ready[target] = time;
                if (t.recorded) ready_cause[target] = cause(host, t.nodes[node].cpu);
            }
            if (--t.nodes[target].waits == 0) freed.push_back({host, target});
        }
    }

    // What has become free goes into the queue, host by host, sends first and work last.
    void release() {
        const auto earlier = [this](const Freed& a, const Freed& b) {
            return a.host != b.host ? a.host < b.host : t.nodes[a.node].kind < t.nodes[b.node].kind;
        };
        if (freed.size() > 1) std::stable_sort(freed.begin(), freed.end(), earlier);
        for (const Freed& one : freed) {
            const Node& node = t.nodes[one.node];
            i64 time = cpu(one.host, node.cpu);
            if (node.kind == SEND) time = std::max(time, sender(one.host, node.nic));
            if (t.cpus > 1) time = std::max(time, ready[one.node]);
            queue.push({(u64)std::max(time, now), serial++, one.node, one.host, NO_MESSAGE, NO_CAUSE});
        }
        freed.clear();
        pending_peak = std::max(pending_peak, queue.size());
    }

    void spend(u32 host, Spent what, i64 time, i64 lost) {
        t.spent[4ull * host + what] += time;
        t.spent[4ull * host + NOISE] += lost;
    }

    Cause cause_of_message(const Event& event, const Node& node) {
        if (event.cause != NO_CAUSE) return {event.cause, WIRE};
        if (cpu(event.host, node.cpu) == now) return cause(event.host, node.cpu);
        return cause(event.host, t.cpus + t.nics + node.nic);
    }

    // Keep an interval. `place` is of the processor or card that was busy until it began; -1: the cause is `given`.
    u32 record(const Event& event, Kind kind, u32 number, i64 end, i64 place, Cause given = Cause()) {
        if (!t.recorded) return NO_CAUSE;
        Cause own = given;
        if (place >= 0) own = cause(event.host, place);
        if (kind != RECV && t.cpus > 1 && ready[event.node] == now && cpu(event.host, number) < now)
            own = ready_cause[event.node];
        const u32 interval = interval_count++;
        t.intervals[interval] = {now, end, event.node, event.host, own.interval, (u8)kind, own.why, (u8)number, 0};
        cause(event.host, number) = {interval, PROCESSOR};
        return interval;
    }

    Task t;
    Noise noise;
    Matching matching;
    EventQueue queue;
    std::vector<u32> done;
    i64 stride;
    std::vector<i64> free_at, ready;
    std::vector<Cause> causes, ready_cause;
    std::vector<Freed> freed;
    u64 serial = 0;
};

API Engine* engine_new(const Task* task) {
    try {
        return new Engine(*task);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
// 1: there are more events, 0: done, -1: out of memory
API int engine_run(Engine* engine, i64 most) {
    try {
        return engine->run(most);
    } catch (const std::bad_alloc&) {
        return -1;
    }
}
API void engine_finish(Engine* engine, i64* numbers) {
    engine->finish();
    numbers[0] = engine->events();
    numbers[1] = engine->pending_peak;
    numbers[2] = engine->interval_count;
}
API void engine_blocked(Engine* engine, u8* reason, u32* node) { engine->blocked(reason, node); }
API u64 engine_events(const Engine* engine) { return engine->events(); }
API void engine_delete(Engine* engine) { delete engine; }
