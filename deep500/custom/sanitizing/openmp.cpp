// OpenMP as GCC's code calls it, over std::thread. ThreadSanitizer cannot see how libgomp's threads wait for each
// other, and reports races where there are none; here it sees every thread, lock and barrier.
//
// Where OpenMP promises no order, this gives none: a lock around a counter would order the threads that take turns with
// it, and hide their races. Iterations and sections are dealt to the threads in turn, whatever the schedule: on a busy
// machine the first thread would take them all. What is missing here (doacross, reductions over tasks, target) is missing
// when the program is linked.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using Number = unsigned long long;
using Region = void (*)(void *);
using CopyArguments = void (*)(void *, void *);
constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

// A list whose elements never move.
template<typename T>
class Growing {
    static constexpr size_t FIRST = 64;
    std::atomic<T *> blocks[40] = {};

public:
    Growing() { blocks[0] = new T[FIRST]; }
    ~Growing() {
        for (auto &block : blocks)
            delete[] block.load();
    }
    T &operator[](size_t index) {
        size_t block = 0, size = FIRST;
        for (; index >= size; ++block, size *= 2)
            index -= size;
        T *elements = blocks[block].load(acquire);
        if (!elements) {
            T *fresh = new T[size];
            if (blocks[block].compare_exchange_strong(elements, fresh))
                elements = fresh;
            else
                delete[] fresh;
        }
        return elements[index];
    }
};

struct Share {  // what the threads of a loop or a single have in common
    std::atomic<bool> taken{false};   // a single
    std::atomic<Number> finished{0};  // iterations of an ordered loop
    void *copied = nullptr;           // by copyprivate
};

struct Loop {  // as one thread sees it
    Number start = 0, end = 0, step = 0, count = 0, chunk = 0;
    bool ordered = false;
    Share *share = nullptr;
    Number turns = 0, first = 0, last = 0;
};

struct Group {
    std::atomic<long> running{0};
    Group *outer = nullptr;
};

struct Frame {  // a task while it runs
    std::atomic<long> children{0};
    Group *group = nullptr;
    bool final = false;
};

struct Task {
    std::atomic<bool> ready{false};
    Region region = nullptr;
    std::unique_ptr<char[]> memory;
    void *data = nullptr;
    Frame frame, *parent = nullptr;
};

struct Team {
    const unsigned size;
    const int level, active;
    Growing<Share> shares;
    Growing<Task> tasks;
    std::atomic<size_t> first_task{0}, last_task{0};
    std::atomic<long> pending{0};
    std::atomic<unsigned> arrived{0}, generation{0};

    Team(unsigned size, int level, int active) : size(size), level(level), active(active) {}
};

struct Thread {
    Team *team;
    unsigned number;
    int max_threads;
    Thread *outer;
    size_t share = 0;
    Loop loop{};
    Frame implicit{}, *frame = &implicit;
};

std::atomic<int> max_active_levels{1};
std::mutex critical, atomic;
thread_local Thread *current = nullptr;

Thread &self() {
    static thread_local Team alone(1, 0, 0);
    static thread_local Thread initial{&alone, 0, 4, nullptr};
    return current ? *current : initial;
}

Share &next_share(Thread &me) {
    if (me.team->size > 1)
        return me.team->shares[me.share++];
    Share &only = me.team->shares[0];
    only.taken = false;
    only.finished = 0;
    return only;
}

// ---- Tasks

void run(Task &task) {
    Thread &me = self();
    Frame *before = me.frame;
    me.frame = &task.frame;
    task.region(task.data);
    me.frame = before;
    task.memory.reset();
    if (task.frame.group)
        task.frame.group->running.fetch_sub(1, release);
    task.parent->children.fetch_sub(1, release);
    me.team->pending.fetch_sub(1, release);
}

bool run_one(Team &team) {
    size_t index = team.first_task.load(relaxed);
    do {
        if (index >= team.last_task.load(relaxed))
            return false;
    } while (!team.first_task.compare_exchange_weak(index, index + 1, relaxed));
    Task &task = team.tasks[index];
    while (!task.ready.load(acquire))
        std::this_thread::yield();
    run(task);
    std::this_thread::yield();  // the next one is for another thread
    return true;
}

template<typename Done>
void help_until(Team &team, Done done) {
    while (!done())
        if (!run_one(team))
            std::this_thread::yield();
}

void wait_for_children(Thread &me) {
    Frame &frame = *me.frame;
    auto none_left = [&] { return frame.children.load(acquire) == 0; };
    if (!none_left())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // others shall run some of them
    help_until(*me.team, none_left);
}

void begin_group(Thread &me) {
    Group *group = new Group;
    group->outer = me.frame->group;
    me.frame->group = group;
}

void end_group(Thread &me) {
    Group *group = me.frame->group;
    help_until(*me.team, [&] { return group->running.load(acquire) == 0; });
    me.frame->group = group->outer;
    delete group;
}

std::unique_ptr<char[]> copied(void *data, CopyArguments copy, long size, long alignment, void *&place) {
    std::unique_ptr<char[]> memory(new char[size + alignment]);
    uintptr_t start = reinterpret_cast<uintptr_t>(memory.get());
    place = reinterpret_cast<void *>((start + alignment - 1) / alignment * alignment);
    if (copy)
        copy(place, data);
    else
        std::memcpy(place, data, size);
    return memory;
}

void run_now(Thread &me, Region region, void *data, bool final) {
    Frame frame, *before = me.frame;
    frame.group = before->group;
    frame.final = final || before->final;
    me.frame = &frame;
    region(data);
    wait_for_children(me);
    me.frame = before;
}

void defer(Thread &me, Region region, std::unique_ptr<char[]> memory, void *data) {
    Team &team = *me.team;
    Frame &parent = *me.frame;
    team.pending.fetch_add(1, relaxed);
    parent.children.fetch_add(1, relaxed);
    if (parent.group)
        parent.group->running.fetch_add(1, relaxed);
    Task &task = team.tasks[team.last_task.fetch_add(1, relaxed)];
    task.region = region;
    task.memory = std::move(memory);
    task.data = data;
    task.parent = &parent;
    task.frame.group = parent.group;
    task.ready.store(true, release);
}

// ---- Teams

void barrier(Thread &me) {
    Team &team = *me.team;
    auto nothing_left = [&] { return team.pending.load(acquire) == 0; };
    unsigned generation = team.generation.load(acquire);
    if (team.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 < team.size) {
        help_until(team, [&] { return team.generation.load(acquire) != generation; });
        return;
    }
    help_until(team, nothing_left);
    team.arrived.store(0, relaxed);
    team.generation.fetch_add(1, release);
}

void parallel(Region region, void *data, unsigned threads, const Loop *loop = nullptr) {
    Thread &outer = self();
    bool nested = outer.team->active >= max_active_levels;
    unsigned size = nested ? 1 : threads ? threads : unsigned(outer.max_threads);
    Team team(size, outer.team->level + 1, outer.team->active + (size > 1));
    auto work = [&](unsigned number) {
        Thread *before = current;
        Thread me{&team, number, outer.max_threads, &outer};
        if (loop) {
            me.loop = *loop;
            me.loop.share = &team.shares[me.share++];
        }
        current = &me;
        region(data);
        barrier(me);
        current = before;
    };
    std::vector<std::thread> others;
    for (unsigned number = 1; number < size; ++number)
        others.emplace_back(work, number);
    work(0);
    for (auto &other : others)
        other.join();
}

// ---- Loops

template<typename Int>
Loop counted(bool up, Int start, Int end, Int step, Int chunk, bool ordered = false) {
    Loop loop;
    loop.start = Number(start), loop.end = Number(end), loop.step = Number(step);
    loop.chunk = Number(chunk), loop.ordered = ordered;
    if (up ? start < end : end < start) {
        Number distance = up ? loop.end - loop.start : loop.start - loop.end;
        Number stride = up ? loop.step : -loop.step;
        loop.count = (distance - 1) / stride + 1;
    }
    return loop;
}

void finish_chunk(Loop &loop) {
    if (!loop.ordered || loop.first == loop.last)
        return;
    while (loop.share->finished.load(acquire) != loop.first)
        std::this_thread::yield();
    loop.share->finished.store(loop.last, release);
    loop.first = loop.last;
}

bool take(const Thread &me, Loop &loop) {
    Number size = me.team->size, turn = loop.turns++, wanted = loop.chunk;
    if (wanted) {
        loop.first = (turn * size + me.number) * wanted;
    } else {  // one block for each thread
        Number least = loop.count / size, more = loop.count % size;
        loop.first = turn ? loop.count : least * me.number + std::min<Number>(me.number, more);
        wanted = least + (me.number < more);
    }
    bool any = loop.first < loop.count && wanted;
    loop.last = any ? loop.first + std::min(wanted, loop.count - loop.first) : loop.first;
    return any;
}

template<typename Int>
bool next_chunk(Int *from, Int *to) {
    Thread &me = self();
    Loop &loop = me.loop;
    finish_chunk(loop);
    if (!take(me, loop))
        return false;
    *from = Int(loop.start + loop.first * loop.step);
    *to = Int(loop.last == loop.count ? loop.end : loop.start + loop.last * loop.step);
    return true;
}

template<typename Int>
bool start_loop(Loop loop, Int *from, Int *to) {
    Thread &me = self();
    loop.share = &next_share(me);
    me.loop = loop;
    return next_chunk(from, to);
}

unsigned next_section() {
    Thread &me = self();
    return take(me, me.loop) ? unsigned(me.loop.last) : 0;
}

// ---- Locks: four bytes, as in omp.h

void lock(int *word) {
    while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
        std::this_thread::yield();
}

struct NestLock {
    int word, count;
    Thread *owner;
};

template<typename Int>
void split(Region region, void *data, CopyArguments copy, long size, long alignment, unsigned flags, Number tasks,
           Int start, Int end, Int step, bool up) {
    constexpr unsigned GRAINSIZE = 1 << 9, IF = 1 << 10, NOGROUP = 1 << 11;
    Thread &me = self();
    Number count = counted(up, start, end, step, Int(1)).count;
    if (flags & GRAINSIZE)
        tasks = count / std::max<Number>(tasks, 1);
    else if (!tasks)
        tasks = me.team->size;
    tasks = std::max<Number>(std::min(tasks, count), 1);
    if (!(flags & NOGROUP))
        begin_group(me);
    for (Number k = 0; count && k < tasks; ++k) {
        void *place;
        auto memory = copied(data, copy, size, alignment, place);
        Int *range = static_cast<Int *>(place);
        range[0] = Int(Number(start) + count / tasks * k * Number(step));
        range[1] = k + 1 == tasks ? end : Int(Number(start) + count / tasks * (k + 1) * Number(step));
        if (me.team->size == 1 || !(flags & IF) || me.frame->final)
            run_now(me, region, place, false);
        else
            defer(me, region, std::move(memory), place);
    }
    if (!(flags & NOGROUP))
        end_group(me);
}

// The mutex of a named critical section, where GCC has left room for a pointer.
std::atomic<std::mutex *> &mutex_of(void **name) {
    return *reinterpret_cast<std::atomic<std::mutex *> *>(name);
}

}  // namespace

extern "C" {

// ---- What GCC's code calls

void GOMP_parallel(Region region, void *data, unsigned threads, unsigned) { parallel(region, data, threads); }
void GOMP_barrier() { barrier(self()); }
bool GOMP_barrier_cancel() { barrier(self()); return false; }
bool GOMP_cancel(int, bool) { return false; }  // switched off, as OMP_CANCELLATION is
bool GOMP_cancellation_point(int) { return false; }

void GOMP_critical_start() { critical.lock(); }
void GOMP_critical_end() { critical.unlock(); }
void GOMP_atomic_start() { atomic.lock(); }
void GOMP_atomic_end() { atomic.unlock(); }

void GOMP_critical_name_start(void **name) {
    auto &place = mutex_of(name);
    std::mutex *mutex = place.load(acquire);
    if (!mutex) {
        auto *fresh = new std::mutex;
        if (place.compare_exchange_strong(mutex, fresh))
            mutex = fresh;
        else
            delete fresh;
    }
    mutex->lock();
}
// An atomic read: a thread that came first, too, may still try to write the name (GOMP_critical_name_start).
void GOMP_critical_name_end(void **name) { mutex_of(name).load(acquire)->unlock(); }

bool GOMP_single_start() { return !next_share(self()).taken.exchange(true, relaxed); }
void *GOMP_single_copy_start() {
    Thread &me = self();
    Share &share = next_share(me);
    me.loop.share = &share;
    if (!share.taken.exchange(true, relaxed))
        return nullptr;
    barrier(me);
    return share.copied;
}
void GOMP_single_copy_end(void *data) {
    Thread &me = self();
    me.loop.share->copied = data;
    barrier(me);
}

unsigned GOMP_sections_start(unsigned count) {
    Thread &me = self();
    me.loop = counted(true, 0u, count, 1u, 1u);
    return next_section();
}
unsigned GOMP_sections_next() { return next_section(); }
void GOMP_sections_end() { barrier(self()); }
void GOMP_sections_end_nowait() {}
bool GOMP_sections_end_cancel() { barrier(self()); return false; }
void GOMP_parallel_sections(Region region, void *data, unsigned threads, unsigned count, unsigned) {
    Loop loop = counted(true, 0u, count, 1u, 1u);
    parallel(region, data, threads, &loop);
}

void GOMP_loop_end() {
    finish_chunk(self().loop);
    barrier(self());
}
void GOMP_loop_end_nowait() { finish_chunk(self().loop); }
bool GOMP_loop_end_cancel() { GOMP_loop_end(); return false; }
void GOMP_ordered_start() {
    Loop &loop = self().loop;
    while (loop.share && loop.ordered && loop.share->finished.load(acquire) != loop.first)
        std::this_thread::yield();
}
void GOMP_ordered_end() {}

using ull = unsigned long long;

// A schedule is known by the least size of its chunks; 0 stands for one block for each thread.
#define NEXT(name)                                                                                                   \
    bool GOMP_loop_##name##_next(long *from, long *to) { return next_chunk(from, to); }                              \
    bool GOMP_loop_ull_##name##_next(ull *from, ull *to) { return next_chunk(from, to); }

#define LOOP(name, least, ordered)                                                                                   \
    bool GOMP_loop_##name##_start(long start, long end, long step, long chunk, long *from, long *to) {               \
        return start_loop(counted(step > 0, start, end, step, std::max(chunk, decltype(chunk)(least)), ordered), from, to);\
    }                                                                                                                \
    bool GOMP_loop_ull_##name##_start(bool up, ull start, ull end, ull step, ull chunk, ull *from, ull *to) {        \
        return start_loop(counted(up, start, end, step, std::max(chunk, decltype(chunk)(least)), ordered), from, to);\
    }                                                                                                                \
    NEXT(name)

#define LOOP_RUNTIME(name, ordered)                                                                                  \
    bool GOMP_loop_##name##_start(long start, long end, long step, long *from, long *to) {                           \
        return start_loop(counted(step > 0, start, end, step, 1L, ordered), from, to);                               \
    }                                                                                                                \
    bool GOMP_loop_ull_##name##_start(bool up, ull start, ull end, ull step, ull *from, ull *to) {                   \
        return start_loop(counted(up, start, end, step, ull(1), ordered), from, to);                                 \
    }                                                                                                                \
    NEXT(name)

#define PARALLEL_LOOP(name, least)                                                                                   \
    void GOMP_parallel_loop_##name(Region region, void *data, unsigned threads, long start, long end, long step,     \
                                   long chunk, unsigned) {                                                           \
        Loop loop = counted(step > 0, start, end, step, std::max(chunk, long(least)));                               \
        parallel(region, data, threads, &loop);                                                                      \
    }

#define PARALLEL_LOOP_RUNTIME(name)                                                                                  \
    void GOMP_parallel_loop_##name(Region region, void *data, unsigned threads, long start, long end, long step,     \
                                   unsigned) {                                                                       \
        Loop loop = counted(step > 0, start, end, step, 1L);                                                         \
        parallel(region, data, threads, &loop);                                                                      \
    }

LOOP(static, 0, false)
LOOP(dynamic, 1, false)
LOOP(guided, 1, false)
LOOP(nonmonotonic_dynamic, 1, false)
LOOP(nonmonotonic_guided, 1, false)
LOOP(ordered_static, 0, true)
LOOP(ordered_dynamic, 1, true)
LOOP(ordered_guided, 1, true)
LOOP_RUNTIME(runtime, false)
LOOP_RUNTIME(nonmonotonic_runtime, false)
LOOP_RUNTIME(maybe_nonmonotonic_runtime, false)
LOOP_RUNTIME(ordered_runtime, true)
PARALLEL_LOOP(static, 0)
PARALLEL_LOOP(dynamic, 1)
PARALLEL_LOOP(guided, 1)
PARALLEL_LOOP(nonmonotonic_dynamic, 1)
PARALLEL_LOOP(nonmonotonic_guided, 1)
PARALLEL_LOOP_RUNTIME(runtime)
PARALLEL_LOOP_RUNTIME(nonmonotonic_runtime)
PARALLEL_LOOP_RUNTIME(maybe_nonmonotonic_runtime)

void GOMP_task(Region region, void *data, CopyArguments copy, long size, long alignment, bool deferred, unsigned flags,
               void **, int, void *) {
    constexpr unsigned FINAL = 1 << 1, DEPEND = 1 << 3;
    Thread &me = self();
    void *place;
    auto memory = copied(data, copy, size, alignment, place);
    // A task that depends on others runs at once, after all of those.
    if (me.team->size == 1 || !deferred || flags & (FINAL | DEPEND) || me.frame->final)
        run_now(me, region, place, flags & FINAL);
    else
        defer(me, region, std::move(memory), place);
}
void GOMP_taskwait() { wait_for_children(self()); }
void GOMP_taskwait_depend(void **) { wait_for_children(self()); }
void GOMP_taskyield() {}
void GOMP_taskgroup_start() { begin_group(self()); }
void GOMP_taskgroup_end() { end_group(self()); }
void GOMP_taskloop(Region region, void *data, CopyArguments copy, long size, long alignment, unsigned flags,
                   unsigned long tasks, int, long start, long end, long step) {
    split(region, data, copy, size, alignment, flags, tasks, start, end, step, step > 0);
}
void GOMP_taskloop_ull(Region region, void *data, CopyArguments copy, long size, long alignment, unsigned flags,
                       unsigned long tasks, int, ull start, ull end, ull step) {
    constexpr unsigned UP = 1 << 8;
    split(region, data, copy, size, alignment, flags, tasks, start, end, step, flags & UP);
}

// ---- What programs call

int omp_get_thread_num() { return int(self().number); }
int omp_get_num_threads() { return int(self().team->size); }
int omp_get_max_threads() { return self().max_threads; }
void omp_set_num_threads(int count) { self().max_threads = std::max(count, 1); }
int omp_get_num_procs() { return int(std::max(std::thread::hardware_concurrency(), 1u)); }
int omp_get_thread_limit() { return 1 << 20; }
int omp_in_parallel() { return self().team->active > 0; }
int omp_get_level() { return self().team->level; }
int omp_get_active_level() { return self().team->active; }
int omp_in_final() { return self().frame->final; }
int omp_get_max_active_levels() { return max_active_levels; }
void omp_set_max_active_levels(int levels) { max_active_levels = levels; }
int omp_get_nested() { return max_active_levels > 1; }
void omp_set_nested(int nested) { max_active_levels = nested ? 1 << 20 : 1; }
int omp_get_dynamic() { return 0; }
void omp_set_dynamic(int) {}
void omp_set_schedule(int, int) {}
void omp_get_schedule(int *kind, int *chunk) { *kind = 2, *chunk = 1; }
int omp_get_cancellation() { return 0; }
int omp_get_proc_bind() { return 0; }
int omp_get_num_teams() { return 1; }
int omp_get_team_num() { return 0; }
int omp_get_num_devices() { return 0; }
int omp_get_default_device() { return 0; }
int omp_is_initial_device() { return 1; }

int omp_get_ancestor_thread_num(int level) {
    Thread *thread = &self();
    while (thread && thread->team->level > level)
        thread = thread->outer;
    return thread && thread->team->level == level ? int(thread->number) : -1;
}
int omp_get_team_size(int level) {
    Thread *thread = &self();
    while (thread && thread->team->level > level)
        thread = thread->outer;
    return thread && thread->team->level == level ? int(thread->team->size) : -1;
}

double omp_get_wtime() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double omp_get_wtick() { return 1e-9; }

void omp_init_lock(int *word) { __atomic_store_n(word, 0, __ATOMIC_RELAXED); }
void omp_init_lock_with_hint(int *word, int) { omp_init_lock(word); }
void omp_destroy_lock(int *) {}
void omp_set_lock(int *word) { lock(word); }
void omp_unset_lock(int *word) { __atomic_store_n(word, 0, __ATOMIC_RELEASE); }
int omp_test_lock(int *word) { return !__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE); }

void omp_init_nest_lock(NestLock *nest) { *nest = NestLock{0, 0, nullptr}; }
void omp_init_nest_lock_with_hint(NestLock *nest, int) { omp_init_nest_lock(nest); }
void omp_destroy_nest_lock(NestLock *) {}
int omp_test_nest_lock(NestLock *nest) {
    Thread *me = &self();
    if (__atomic_load_n(&nest->owner, __ATOMIC_RELAXED) != me) {
        if (!omp_test_lock(&nest->word))
            return 0;
        __atomic_store_n(&nest->owner, me, __ATOMIC_RELAXED);
    }
    return ++nest->count;
}
void omp_set_nest_lock(NestLock *nest) {
    while (!omp_test_nest_lock(nest))
        std::this_thread::yield();
}
void omp_unset_nest_lock(NestLock *nest) {
    if (--nest->count)
        return;
    __atomic_store_n(&nest->owner, nullptr, __ATOMIC_RELAXED);
    omp_unset_lock(&nest->word);
}

}  // extern "C"
