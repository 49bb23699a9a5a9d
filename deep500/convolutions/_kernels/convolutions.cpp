// All algorithms behind one function, which counts the bytes of its workspace when it is given no arrays.
#include "direct.h"
#include "fft.h"
#include "im2col.h"
#include "winograd.h"

enum Algorithm { DIRECT, IM2COL, WINOGRAD, FFT, FFT_TILED };

struct Request {
    Problem problem;
    Direction direction;
    int64_t first, second;  // images at once; size of outputs; sizes of tiles
    int threads;
    const Arrays* arrays;
    Arena arena;
};

template <class T>
void transformed(Request& request, const T& transform, bool whole) {
    Transformed<T> way(transform, request.problem, request.direction, whole, request.threads, request.arena);
    if (request.arrays) way.run(*request.arrays);
}

static void direct(Request& request) {
    if (request.direction == FILTER) {
        DirectFilter way(request.problem, request.arena);
        if (request.arrays) way.run(*request.arrays, request.threads);
        return;
    }
    Direct way(request.problem, request.direction, request.arena);
    if (request.arrays) way.run(*request.arrays, request.threads);
}

static void im2col(Request& request) {
    if (request.direction == FORWARD) {
        Patches way(request.problem, request.first, request.arena);
        if (request.arrays) way.run(*request.arrays, request.threads);
    } else if (request.direction == DATA) {
        PatchesData way(request.problem, request.threads, request.arena);
        if (request.arrays) way.run(*request.arrays, request.threads);
    } else {
        PatchesFilter way(request.problem, request.arena);
        if (request.arrays) way.run(*request.arrays, request.threads);
    }
}

static void dispatch(int64_t algorithm, Request& request) {
    if (algorithm == DIRECT) direct(request);
    if (algorithm == IM2COL) im2col(request);
    if (algorithm == WINOGRAD) {
        if (request.first == 2) transformed(request, Winograd<2>{}, false);
        if (request.first == 4) transformed(request, Winograd<4>{}, false);
        if (request.first == 6) transformed(request, Winograd<6>{}, false);
    }
    if (algorithm == FFT || algorithm == FFT_TILED)
        transformed(request, Fourier(request.problem, request.first, request.second), algorithm == FFT);
}

// sizes are the fields of Problem; returns the bytes that the workspace has to have.
extern "C" __attribute__((visibility("default"))) int64_t convolve(const int64_t* sizes, int64_t algorithm,
                                                                   int64_t direction, int64_t first, int64_t second,
                                                                   int64_t threads, const float* a, const float* b,
                                                                   float* out, char* workspace, int64_t accumulate) {
    Problem problem;
    std::memcpy(&problem, sizes, sizeof(Problem));
    if (algorithm == DIRECT || algorithm == IM2COL) flatten(problem);
    Arrays arrays{a, b, out, accumulate != 0};
    Request request{problem, (Direction)direction, first, second, (int)threads, out ? &arrays : nullptr, {}};
    if (out) request.arena.memory = (char*)(((uintptr_t)workspace + 63) / 64 * 64);
    dispatch(algorithm, request);
    return request.arena.used ? request.arena.used + 63 : 0;
}
