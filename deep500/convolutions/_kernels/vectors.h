// Vectors of floats, as long as this processor has them, with transposition and loads that end at a border.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define INLINE inline __attribute__((always_inline))

// LANES floats in a vector; ROWS rows of two vectors leave registers for the factors of a product.
#if defined(__AVX512F__)
constexpr int LANES = 16, ROWS = 12;
#elif defined(__AVX__)
constexpr int LANES = 8, ROWS = 6;
#else
constexpr int LANES = 4, ROWS = 6;
#endif

typedef float V __attribute__((vector_size(4 * LANES)));
typedef float Unaligned __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

INLINE V load(const float* from) { return *reinterpret_cast<const Unaligned*>(from); }
INLINE void store(float* to, V value) { *reinterpret_cast<Unaligned*>(to) = value; }

inline int64_t parts(int64_t whole, int64_t part) { return (whole + part - 1) / part; }
inline int64_t rounded(int64_t whole, int64_t part) { return parts(whole, part) * part; }

// row[x], row[x + 1] …; zeros outside of [0, end).
INLINE V load_inside(const float* row, int64_t x, int64_t end) {
    if (x >= 0 && x + LANES <= end) return load(row + x);
    int64_t first = std::clamp<int64_t>(-x, 0, LANES);
    int64_t last = std::clamp<int64_t>(end - x, 0, LANES);
#ifdef __AVX512F__
    uint32_t mask = first < last ? ((1u << last) - 1) & ~((1u << first) - 1) : 0;
    return (V)_mm512_maskz_loadu_ps(mask, row + x);
#else
    V value{};
    for (int64_t i = first; i < last; i++) value[i] = row[x + i];
    return value;
#endif
}

// The first `count` elements.
INLINE void store_part(float* to, V value, int64_t count, bool add) {
    if (count >= LANES) {
        store(to, add ? load(to) + value : value);
        return;
    }
#ifdef __AVX512F__
    uint32_t mask = (1u << count) - 1;
    if (add) value += (V)_mm512_maskz_loadu_ps(mask, to);
    _mm512_mask_storeu_ps(to, mask, (__m512)value);
#else
    for (int64_t i = 0; i < count; i++) to[i] = add ? to[i] + value[i] : value[i];
#endif
}

template <int STEP, int... J>
INLINE V lower(V a, V b, std::integer_sequence<int, J...>) {
    return __builtin_shufflevector(a, b, ((J & STEP) ? LANES + J - STEP : J)...);
}

template <int STEP, int... J>
INLINE V upper(V a, V b, std::integer_sequence<int, J...>) {
    return __builtin_shufflevector(a, b, ((J & STEP) ? LANES + J : J + STEP)...);
}

template <int STEP>
INLINE void exchange(V* rows) {
    constexpr auto lanes = std::make_integer_sequence<int, LANES>{};
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) {
        if (i & STEP) continue;
        V a = rows[i], b = rows[i + STEP];
        rows[i] = lower<STEP>(a, b, lanes);
        rows[i + STEP] = upper<STEP>(a, b, lanes);
    }
}

// A square of numbers, in place.
INLINE void transpose(V* rows) {
    exchange<1>(rows);
    exchange<2>(rows);
    if constexpr (LANES > 4) exchange<4>(rows);
    if constexpr (LANES > 8) exchange<8>(rows);
}

// `count` elements from column x on of as many rows as there are lanes, so that to[i * step] holds column x + i.
inline void gather_columns(const float* rows, int64_t row_step, int64_t row_count, int64_t x, int64_t end,
                           int64_t count, float* to, int64_t step) {
    for (int64_t first = 0; first < count; first += LANES) {
        V square[LANES];
        for (int i = 0; i < LANES; i++)
            square[i] = i < row_count ? load_inside(rows + i * row_step, x + first, end) : V{};
        transpose(square);
        int64_t some = std::min<int64_t>(LANES, count - first);
        for (int64_t i = 0; i < some; i++) store(to + (first + i) * step, square[i]);
    }
}

// The reverse: columns become parts of rows.
inline void scatter_columns(const V* columns, int64_t count, float* rows, int64_t row_step, int64_t row_count,
                            bool add) {
    for (int64_t first = 0; first < count; first += LANES) {
        V square[LANES];
        int64_t some = std::min<int64_t>(LANES, count - first);
        for (int64_t i = 0; i < LANES; i++) square[i] = i < some ? columns[first + i] : V{};
        transpose(square);
        for (int64_t i = 0; i < row_count; i++) store_part(rows + i * row_step + first, square[i], some, add);
    }
}
