// The sizes of a convolution, the memory it is given, and where the pixels of a result lie.
#pragma once
#include "vectors.h"

enum Direction { FORWARD, DATA, FILTER };

struct Problem {
    int64_t batch, channels, height, width, filters, kernel_h, kernel_w, stride_h, stride_w;
    int64_t top, left, bottom, right, dilation_h, dilation_w, groups;
    int64_t out_h, out_w;

    int64_t taps() const { return kernel_h * kernel_w; }
    int64_t extent_h() const { return (kernel_h - 1) * dilation_h + 1; }
    int64_t extent_w() const { return (kernel_w - 1) * dilation_w + 1; }
    int64_t group_channels() const { return channels / groups; }
    int64_t group_filters() const { return filters / groups; }
};

// A plain 1 x 1 convolution of a plane is one of a single row, with longer runs of neighbours.
inline void flatten(Problem& p) {
    bool is_plain = p.taps() == 1 && p.stride_h == 1 && p.stride_w == 1 && !(p.top | p.left | p.bottom | p.right);
    if (!is_plain) return;
    p.width *= p.height, p.out_w *= p.out_h;
    p.height = p.out_h = 1;
}

struct Arrays {
    const float *a, *b;
    float* out;
    bool accumulate;
};

// Hands out parts of a workspace; without one it counts the bytes.
struct Arena {
    char* memory = nullptr;
    int64_t used = 0;

    template <class T>
    T* take(int64_t count) {
        char* start = memory ? memory + used : nullptr;
        used += rounded(count * (int64_t)sizeof(T), 64);
        return reinterpret_cast<T*>(start);
    }
};

// Pixel f of a result is column j of row i of image n: f = (n * rows + i) * pitch + j. From `columns` on there is none.
struct Grid {
    int64_t rows, pitch, columns;
    int64_t image_step, row_step, column_step;

    // each(f - first, length, place) for every row of the pixels from f on
    template <class Each>
    INLINE void runs(int64_t first, int64_t count, Each each) const {
        int64_t lane = 0;
        while (lane < count) {
            int64_t j = (first + lane) % pitch, row = (first + lane) / pitch;
            int64_t i = row % rows, n = row / rows;
            int64_t length = std::min(count - lane, pitch - j);
            int64_t valid = std::min(length, columns - j);
            if (valid > 0) each(lane, valid, n * image_step + i * row_step + j * column_step);
            lane += length;
        }
    }
};
