// Records what interrupts a processor: it reads the clock again and again, and whenever much more time has passed between
// two readings than it should, something else has run (the "selfish detour" benchmark).
#include <cstdint>
#include <ctime>

#define API extern "C" __attribute__((visibility("default")))

typedef int64_t i64;

static inline i64 now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

// Record for so long, or until there is no more room; `numbers`: how many detours, the nanoseconds recorded, the readings.
API void record_detours(i64 nanoseconds, i64 threshold, i64 room, i64* starts, i64* ends, i64* numbers) {
    const i64 begin = now();
    i64 before = begin, count = 0, readings = 0;
    while (before - begin < nanoseconds && count < room) {
        const i64 time = now();
        readings++;
        if (time - before >= threshold) {
            starts[count] = before - begin;
            ends[count] = time - begin;
            count++;
        }
        before = time;
    }
    numbers[0] = count;
    numbers[1] = before - begin;
    numbers[2] = readings;
}
