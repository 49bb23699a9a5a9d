// Vectors as wide as the instruction set has them. A wider one computes more results at once, and none of them otherwise:
// every result is added up in one order, whatever the width. Must be compiled with -ffp-contract=off.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define API extern "C" __attribute__((visibility("default")))

typedef int64_t i64;

#if defined(__AVX512F__)
constexpr i64 WIDTH = 16, TILE_ROWS = 12;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr i64 WIDTH = 8, TILE_ROWS = 6;
#else
constexpr i64 WIDTH = 4, TILE_ROWS = 4;
#endif
typedef float Vector __attribute__((vector_size(4 * WIDTH)));
// the partial sums of a row: as many everywhere, in several registers where these are narrow
constexpr i64 LANES = 16;
typedef float Lanes __attribute__((vector_size(4 * LANES)));

template <typename V> static inline V loaded(const float* x) {
    V v;
    std::memcpy(&v, x, sizeof v);
    return v;
}
template <typename V> static inline void store(float* x, V v) { std::memcpy(x, &v, sizeof v); }

// a * b + c, rounded once: where there is no such instruction, the C library computes it
static inline Vector fused(Vector a, Vector b, Vector c) {
#if defined(__AVX512F__)
    return (Vector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
    return (Vector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    Vector v;
    for (i64 l = 0; l < WIDTH; l++) v[l] = __builtin_fmaf(a[l], b[l], c[l]);
    return v;
#endif
}

// memory for copies, which a thread keeps
template <int number> static float* scratch(i64 size) {
    static thread_local std::vector<float> memory;
    if ((i64)memory.size() < size) memory.resize(size);
    return memory.data();
}

extern int threads;  // of the host, for everything in this library
