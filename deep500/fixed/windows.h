// Convolutions by products with the windows of every example, and pools.
#pragma once
#include "products.h"

struct Windows {
    i64 channels, height, width;              // of x
    i64 kernel_height, kernel_width;
    i64 stride_y, stride_x, top, left, dilation_y, dilation_x;
    i64 out_height, out_width;
    i64 positions() const { return out_height * out_width; }
    i64 depth(i64 groups) const { return channels / groups * kernel_height * kernel_width; }
    i64 pixels() const { return channels * height * width; }
};

// Calls row(column, y, x from, x to, first pixel, offset) for the pixels that every element of a kernel meets.
template <typename Row> static inline void rows_of(const Windows& w, i64 first, i64 channels, Row row) {
    i64 element = 0;
    for (i64 c = first; c < first + channels; c++)
        for (i64 ky = 0; ky < w.kernel_height; ky++)
            for (i64 kx = 0; kx < w.kernel_width; kx++, element++) {
                const i64 offset = kx * w.dilation_x - w.left;
                i64 from = offset < 0 ? (-offset + w.stride_x - 1) / w.stride_x : 0;
                i64 to = (w.width - 1 - offset) < 0 ? 0 : (w.width - 1 - offset) / w.stride_x + 1;
                to = std::min(to, w.out_width), from = std::min(from, to);
                for (i64 y = 0; y < w.out_height; y++) {
                    const i64 line = y * w.stride_y + ky * w.dilation_y - w.top;
                    const bool is_inside = line >= 0 && line < w.height;
                    row(element * w.positions() + y * w.out_width, is_inside ? from : 0, is_inside ? to : 0,
                        (c * w.height + line) * w.width + offset);
                }
            }
}

// (channels * kernel, positions) of one example
static void windows_of(const float* x, const Windows& w, i64 first, i64 channels, float* out) {
    std::memset(out, 0, 4 * channels * w.kernel_height * w.kernel_width * w.positions());
    rows_of(w, first, channels, [&](i64 at, i64 from, i64 to, i64 pixel) {
        if (w.stride_x == 1) {
            if (to > from) std::memcpy(out + at + from, x + pixel + from, 4 * (to - from));
            return;
        }
        for (i64 i = from; i < to; i++) out[at + i] = x[pixel + i * w.stride_x];
    });
}
static void add_windows(const float* windows, const Windows& w, i64 first, i64 channels, float* x) {
    rows_of(w, first, channels, [&](i64 at, i64 from, i64 to, i64 pixel) {
        for (i64 i = from; i < to; i++) x[pixel + i * w.stride_x] += windows[at + i];
    });
}

struct Convolution {
    Windows w;
    i64 outputs, groups;
    i64 depth() const { return w.depth(groups); }
    i64 inputs() const { return w.channels / groups; }

    void forward(const float* x, const float* weight, const float* bias, float* y) const {
        const i64 rows = outputs / groups, n = w.positions();
        float* columns = scratch<3>(depth() * n);
        for (i64 o = 0; o < outputs; o++) std::fill_n(y + o * n, n, bias ? bias[o] : 0);
        for (i64 g = 0; g < groups; g++) {
            windows_of(x, w, g * inputs(), inputs(), columns);
            const Matrix kernels = {weight + g * rows * depth(), depth(), 1};
            add_product(rows, n, depth(), kernels, {columns, n, 1}, y + g * rows * n, n);
        }
    }
    void by_input(const float* dy, const float* weight, float* dx) const {
        const i64 rows = outputs / groups, n = w.positions();
        float* columns = scratch<3>(depth() * n);
        std::memset(dx, 0, 4 * w.pixels());
        for (i64 g = 0; g < groups; g++) {
            std::memset(columns, 0, 4 * depth() * n);
            const Matrix kernels = {weight + g * rows * depth(), depth(), 1};
            add_product(depth(), n, rows, kernels.turned(), {dy + g * rows * n, n, 1}, columns, n);
            add_windows(columns, w, g * inputs(), inputs(), dx);
        }
    }
    // adds to dw
    void by_weight(const float* dy, const float* x, float* dw) const {
        const i64 rows = outputs / groups, n = w.positions();
        float* columns = scratch<3>(depth() * n);
        for (i64 g = 0; g < groups; g++) {
            windows_of(x, w, g * inputs(), inputs(), columns);
            const Matrix turned = Matrix{columns, n, 1}.turned();
            add_product(rows, depth(), n, {dy + g * rows * n, n, 1}, turned, dw + g * rows * depth(), depth());
        }
    }
};

// The elements from..to of a kernel that meet an axis of `size` at this window.
struct Met {
    i64 start, from, to;
    Met(i64 window, i64 stride, i64 dilation, i64 before, i64 kernel, i64 size) {
        start = window * stride - before;
        from = start < 0 ? (-start + dilation - 1) / dilation : 0;
        to = start >= size ? 0 : std::min(kernel, (size - 1 - start) / dilation + 1);
    }
};

// Calls element(place in a plane) for all elements of every window, behind begin() and before end().
template <typename Begin, typename Element, typename End>
static inline void windows_in(const Windows& w, Begin begin, Element element, End end) {
    for (i64 oy = 0; oy < w.out_height; oy++) {
        const Met y(oy, w.stride_y, w.dilation_y, w.top, w.kernel_height, w.height);
        for (i64 ox = 0; ox < w.out_width; ox++) {
            const Met x(ox, w.stride_x, w.dilation_x, w.left, w.kernel_width, w.width);
            begin();
            for (i64 ky = y.from; ky < y.to; ky++) {
                const i64 line = (y.start + ky * w.dilation_y) * w.width + x.start;
                for (i64 kx = x.from; kx < x.to; kx++) element(line + kx * w.dilation_x);
            }
            end();
        }
    }
}

// The largest number of every window and where in x it lies; of several, the first one.
static void max_pool(const float* x, i64 planes, const Windows& w, float* y, i64* places) {
    for (i64 p = 0; p < planes; p++, x += w.height * w.width) {
        float most;
        i64 place;
        windows_in(
            w, [&] { most = -INFINITY, place = -1; },
            [&](i64 at) {
                const float value = x[at];
                const bool is_first = place < 0, is_new_nan = value != value && most == most;
                const bool is_taken = is_first | (value > most) | is_new_nan;
                most = is_taken ? value : most;
                place = is_taken ? at : place;
            },
            [&] { *y++ = most, *places++ = place; });
    }
}

// Means of windows that lie within x.
static void mean_pool(const float* x, i64 planes, const Windows& w, float* y) {
    const float count = w.kernel_height * w.kernel_width;
    for (i64 p = 0; p < planes; p++, x += w.height * w.width) {
        float total;
        windows_in(w, [&] { total = 0; }, [&](i64 at) { total += x[at]; }, [&] { *y++ = total / count; });
    }
}
static void mean_pool_gradient(const float* dy, i64 planes, const Windows& w, float* dx) {
    const float count = w.kernel_height * w.kernel_width;
    std::memset(dx, 0, 4 * planes * w.height * w.width);
    for (i64 p = 0; p < planes; p++, dx += w.height * w.width) {
        float share;
        windows_in(w, [&] { share = *dy++ / count; }, [&](i64 at) { dx[at] += share; }, [] {});
    }
}
