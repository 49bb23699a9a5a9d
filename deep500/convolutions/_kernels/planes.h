// Input planes, padded and split by strides, so that every tap of a filter reads neighbours; and the products on them.
#pragma once
#include "product.h"

// The element under tap t of output pixel (i, j) lies at t's offset + i * pitch + j, for any stride and dilation.
struct Planes {
    int64_t height, width, row_step, column_step;  // of the source
    int64_t first_row, first_column;               // of the source, at the corner of the padded plane
    int64_t rows, pitch;                           // of one phase

    int64_t size() const { return row_step * column_step * rows * pitch; }

    int64_t offset(int64_t row, int64_t column) const {
        int64_t phase = row % row_step * column_step + column % column_step;
        return (phase * rows + row / row_step) * pitch + column / column_step;
    }

    void fill(const float* source, float* to) const {
        for (int64_t qy = 0; qy < row_step; qy++)
            for (int64_t qx = 0; qx < column_step; qx++)
                for (int64_t y = 0; y < rows; y++, to += pitch)
                    fill_row(source, first_row + qy + y * row_step, first_column + qx, to);
    }

    void fill_row(const float* source, int64_t row, int64_t column, float* to) const {
        if (row < 0 || row >= height) {
            std::memset(to, 0, pitch * sizeof(float));
            return;
        }
        const float* from = source + row * width;
        if (column_step == 1) {
            int64_t before = std::clamp<int64_t>(-column, 0, pitch);
            int64_t end = std::clamp<int64_t>(width - column, before, pitch);
            std::fill(to, to + before, 0.0f);
            std::copy(from + column + before, from + column + end, to + before);
            std::fill(to + end, to + pitch, 0.0f);
            return;
        }
        for (int64_t x = 0; x < pitch; x++) {
            int64_t at = column + x * column_step;
            to[x] = at >= 0 && at < width ? from[at] : 0;
        }
    }
};

inline Planes forward_planes(const Problem& p) {
    int64_t rows = p.out_h + (p.extent_h() - 1) / p.stride_h;
    int64_t pitch = p.out_w + (p.extent_w() - 1) / p.stride_w;
    return {p.height, p.width, p.stride_h, p.stride_w, -p.top, -p.left, rows, pitch};
}

// to[chunk][pixel][lane]: the channels of some planes as vectors of two lanes' length; to be called by all threads.
constexpr int PAIR = 2 * LANES;

inline void interleave(const float* planes, int64_t channels, int64_t pixels, float* to) {
    int64_t halves = parts(channels, PAIR) * 2;
#pragma omp for schedule(static)
    for (int64_t half = 0; half < halves; half++) {
        int64_t first = half * LANES;
        int64_t some = std::clamp<int64_t>(channels - first, 0, LANES);
        float* chunk = to + half / 2 * pixels * PAIR + half % 2 * LANES;
        gather_columns(planes + first * pixels, pixels, some, 0, pixels, pixels, chunk, PAIR);
    }
}

// dw[filter][entry] += sum over pixels of dy[filter][pixel] * x[offsets[entry] + i * pitch + j]; by all threads.
struct FilterProduct {
    const float* x;
    const int64_t* offsets;
    int64_t entries, filters;
    int64_t rows, pitch, columns;
    const float* dy;  // interleaved
    float* dw;
    bool add;

    void run() const {
        Blocks blocks(entries);
        int64_t items = parts(filters, PAIR) * blocks.blocks;
#pragma omp for schedule(dynamic)
        for (int64_t item = 0; item < items; item++) {
            int64_t block = item % blocks.blocks;
            with_rows(blocks.rows(block), [&]<int R>() { one<R>(blocks.first(block), item / blocks.blocks); });
        }
    }

    template <int R>
    __attribute__((noinline)) void one(int64_t entry, int64_t chunk) const {
        V sums[R][2] = {};
        const float* right = dy + chunk * rows * columns * PAIR;
        for (int64_t i = 0; i < rows; i++) {
            Scattered<R> left;
            for (int row = 0; row < R; row++) left.rows[row] = x + offsets[entry + row] + i * pitch;
            multiply(sums, columns, left, Lines{right + i * columns * PAIR, PAIR});
        }
        float square[R][PAIR];
        put<R, 2>(sums, square[0], PAIR, false);
        int64_t some = std::min<int64_t>(PAIR, filters - chunk * PAIR);
        for (int64_t filter = 0; filter < some; filter++) {
            float* to = dw + (chunk * PAIR + filter) * entries + entry;
            for (int row = 0; row < R; row++) to[row] = add ? to[row] + square[row][filter] : square[row][filter];
        }
    }
};
