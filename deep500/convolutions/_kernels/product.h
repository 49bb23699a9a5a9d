// The block of a matrix product that stays in registers, which every algorithm uses.
#pragma once
#include "problem.h"

// How many vectors go with so many rows: few rows need more of them to keep the multipliers busy.
constexpr int vectors_for(int rows) { return rows <= ROWS / 4 ? 8 : rows <= ROWS / 2 ? 4 : 2; }
constexpr int MOST_LANES = 8 * LANES;

// Left factors: element (row, k).
struct Packed {  // the rows of one k are neighbours
    const float* first;
    int64_t step;
    INLINE float operator()(int row, int64_t k) const { return first[k * step + row]; }
};

template <int R>
struct Strided {  // the elements of one row are neighbours
    const float* of_three[(R + 2) / 3];
    int64_t step;
    INLINE Strided(const float* first, int64_t step) : step(step) {
        for (int i = 0; i < (R + 2) / 3; i++) of_three[i] = first + 3 * i * step;
    }
    INLINE float operator()(int row, int64_t k) const { return of_three[row / 3][(row % 3) * step + k]; }
};

template <int R>
struct Scattered {  // every row has an address of its own
    const float* rows[R];
    INLINE float operator()(int row, int64_t k) const { return rows[row][k]; }
};

// Right factors: the vectors of one k.
struct Lines {
    const float* first;
    int64_t step;
    INLINE const float* operator()(int64_t k) const { return first + k * step; }
};

struct Places {
    const float* first;
    const int64_t* offsets;
    INLINE const float* operator()(int64_t k) const { return first + offsets[k]; }
};

// sums += left * right, or -= with MINUS
template <int R, int VECTORS, bool MINUS = false, class Left, class Right>
INLINE void multiply(V (&sums)[R][VECTORS], int64_t count, const Left& left, const Right& right) {
    for (int64_t k = 0; k < count; k++) {
        const float* line = right(k);
        V factors[VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) factors[v] = load(line + v * LANES);
#pragma GCC unroll 16
        for (int row = 0; row < R; row++) {
            float factor = left(row, k);
#pragma GCC unroll 8
            for (int v = 0; v < VECTORS; v++) {
                if constexpr (MINUS) sums[row][v] -= factor * factors[v];
                else sums[row][v] += factor * factors[v];
            }
        }
    }
}

// f<R>() for a number of rows that is known only now
template <int R = ROWS, class F>
INLINE void with_rows(int64_t rows, F f) {
    if constexpr (R == 1) {
        f.template operator()<1>();
    } else {
        if (rows == R) f.template operator()<R>();
        else with_rows<R - 1>(rows, f);
    }
}

// `count` rows in blocks of nearly the same height; each(first, rows)
struct Blocks {
    int64_t count, blocks;
    explicit Blocks(int64_t count) : count(count), blocks(parts(count, ROWS)) {}
    int64_t first(int64_t block) const { return block * count / blocks; }
    int64_t rows(int64_t block) const { return first(block + 1) - first(block); }
};

template <int R, int VECTORS>
INLINE void put(const V (&sums)[R][VECTORS], float* to, int64_t step, bool add) {
#pragma GCC unroll 16
    for (int row = 0; row < R; row++)
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; v++) {
            float* place = to + row * step + v * LANES;
            store(place, add ? load(place) + sums[row][v] : sums[row][v]);
        }
}

// Pixels `first` … of a result with a row of `sums` per channel.
template <int R, int VECTORS>
INLINE void put_pixels(const V (&sums)[R][VECTORS], const Grid& grid, int64_t first, int64_t count, float* to,
                       int64_t channel_step, bool add) {
    alignas(64) float lines[R][VECTORS * LANES];
    put<R, VECTORS>(sums, lines[0], VECTORS * LANES, false);
    count = std::min<int64_t>(count, VECTORS * LANES);
    grid.runs(first, count, [&](int64_t lane, int64_t length, int64_t place) {
        for (int row = 0; row < R; row++) {
            const float* line = lines[row] + lane;
            float* pixels = to + row * channel_step + place;
            if (grid.column_step == 1) {
                for (int64_t j = 0; j < length; j += LANES)
                    store_part(pixels + j, load_inside(line, j, length), length - j, add);
            } else {
                for (int64_t j = 0; j < length; j++) {
                    float& pixel = pixels[j * grid.column_step];
                    pixel = add ? pixel + line[j] : line[j];
                }
            }
        }
    });
}
