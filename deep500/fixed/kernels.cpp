// Kernels whose bits depend on nothing but their numbers: not on the processor, on threads, or on how many rows a call
// has. Gradients of parameters are added leaf by leaf, as whole numbers (whole.h). Arrays are contiguous unless strides
// are given.
#include "attention.h"
#include "windows.h"

int threads = 1;
API void use_threads(i64 count) { threads = (int)count; }

// ---- products
API void product(i64 batch, i64 m, i64 n, i64 depth, const float* a, i64 a_batch, i64 a_row, i64 a_column, const float* b, i64 b_batch, i64 b_row, i64 b_column, const float* bias, float* c) {
    for (i64 i = 0; i < batch; i++, c += m * n) {
        fill(c, m, n, n, bias);
        add_product(m, n, depth, {a + i * a_batch, a_row, a_column}, {b + i * b_batch, b_row, b_column}, c, n);
    }
}

// total += the sum over leaves of a^T b: a has m columns, b has n
API void leaf_products(i64 rows, i64 leaf, i64 m, i64 n, const float* a, i64 a_row, const float* b, i64 b_row, double scale, double limit, i64* total, double* beyond) {
    const Whole whole = {scale, limit, beyond};
    float* sums = scratch<5>(m * n);
    for (i64 start = 0; start < rows; start += leaf) {
        std::memset(sums, 0, 4 * m * n);
        add_product(m, n, std::min(leaf, rows - start), {a + start * a_row, 1, a_row}, {b + start * b_row, b_row, 1}, sums, n);
        whole.add(sums, m * n, total);
    }
}

// ---- sums
// total += the sum over leaves of the rows of x, each times that of y if there is one
API void leaf_sums(i64 rows, i64 leaf, i64 n, const float* x, const float* y, double scale, double limit, i64* total, double* beyond) {
    const Whole whole = {scale, limit, beyond};
    float* sums = scratch<5>(n);
    for (i64 start = 0; start < rows; start += leaf) {
        std::memset(sums, 0, 4 * n);
        for (i64 r = start; r < std::min(rows, start + leaf); r++) {
            const float *a = x + r * n, *b = y + r * n;
            if (y) for (i64 i = 0; i < n; i++) sums[i] += a[i] * b[i];
            else for (i64 i = 0; i < n; i++) sums[i] += a[i];
        }
        whole.add(sums, n, total);
    }
}

// the same of (examples, channels, positions) for every channel
API void channel_sums(i64 examples, i64 leaf, i64 channels, i64 positions, const float* x, const float* y, double scale, double limit, i64* total, double* beyond) {
    const Whole whole = {scale, limit, beyond};
    float* sums = scratch<5>(channels);
    for (i64 start = 0; start < examples; start += leaf) {
        std::memset(sums, 0, 4 * channels);
        for (i64 e = start; e < std::min(examples, start + leaf); e++)
            for (i64 c = 0; c < channels; c++) {
                const i64 at = (e * channels + c) * positions;
                sums[c] += y ? dot(x + at, y + at, positions) : sum(x + at, positions);
            }
        whole.add(sums, channels, total);
    }
}

// of every channel: x * factor + shift
API void scale_channels(i64 examples, i64 channels, i64 positions, const float* x, const float* factor, const float* shift, float* y) {
    for (i64 row = 0; row < examples * channels; row++) {
        const float f = factor[row % channels], s = shift[row % channels];
        for (i64 i = row * positions; i < (row + 1) * positions; i++) y[i] = x[i] * f + s;
    }
}
// of every channel: (dy - shift - x * slope) * factor
API void channel_gradient(i64 examples, i64 channels, i64 positions, const float* dy, const float* x, const float* shift, const float* slope, const float* factor, float* dx) {
    for (i64 row = 0; row < examples * channels; row++) {
        const i64 c = row % channels;
        for (i64 i = row * positions; i < (row + 1) * positions; i++) dx[i] = (dy[i] - shift[c] - x[i] * slope[c]) * factor[c];
    }
}

// total[index] += row, for every row by itself
API void row_sums(i64 rows, i64 n, const i64* indices, const float* x, double scale, double limit, i64* total, double* beyond) {
    const Whole whole = {scale, limit, beyond};
    for (i64 r = 0; r < rows; r++) whole.add(x + r * n, n, total + indices[r] * n);
}

API void sum_rows(i64 rows, i64 n, const float* x, float* y) {
    for (i64 r = 0; r < rows; r++) y[r] = sum(x + r * n, n);
}

// ---- functions
API void exp_(const float* x, float* y, i64 n) { map<exp_of>(x, y, n); }
API void log_(const float* x, float* y, i64 n) { map<log_of>(x, y, n); }
API void tanh_(const float* x, float* y, i64 n) { map<tanh_of>(x, y, n); }
API void erf_(const float* x, float* y, i64 n) { map<erf_of>(x, y, n); }
API void sigmoid_(const float* x, float* y, i64 n) { map<sigmoid_of>(x, y, n); }
API void gelu(const float* x, float* y, i64 n) { map<gelu_of>(x, y, n); }
API void gelu_tanh(const float* x, float* y, i64 n) { map<gelu_tanh_of>(x, y, n); }
API void gelu_gradient(const float* dy, const float* x, float* dx, i64 n) { pull<gelu_slope>(dy, x, dx, n); }
API void gelu_tanh_gradient(const float* dy, const float* x, float* dx, i64 n) { pull<gelu_tanh_slope>(dy, x, dx, n); }
API void relu(const float* x, float* y, i64 n) {
    for (i64 i = 0; i < n; i++) y[i] = x[i] > 0 || x[i] != x[i] ? x[i] : 0;
}
API void relu_gradient(const float* dy, const float* y, float* dx, i64 n) {
    for (i64 i = 0; i < n; i++) dx[i] = y[i] > 0 ? dy[i] : 0;
}

// ---- rows
API void softmax_rows(i64 rows, i64 n, const float* x, float* y) {
    for (i64 r = 0; r < rows; r++) softmax(x + r * n, n, n, y + r * n);
}
API void cross_entropy_rows(i64 rows, i64 n, const float* x, const i64* labels, double share, float* losses, float* dx) {
    for (i64 r = 0; r < rows; r++) losses[r] = cross_entropy(x + r * n, n, labels[r], (float)share, dx + r * n);
}
API void layer_norm_rows(i64 rows, i64 n, const float* x, const float* scale, const float* bias, double epsilon, float* y, float* statistics) {
    for (i64 r = 0; r < rows; r++) layer_norm(x + r * n, scale, bias, n, (float)epsilon, y + r * n, statistics + 2 * r);
}
API void layer_norm_gradient_rows(i64 rows, i64 n, const float* dy, const float* x, const float* scale, const float* statistics, float* dx) {
    for (i64 r = 0; r < rows; r++) layer_norm_gradient(dy + r * n, x + r * n, scale, n, statistics + 2 * r, dx + r * n);
}
API void normal_rows(i64 rows, i64 n, const float* x, const float* statistics, float* y) {
    for (i64 r = 0; r < rows; r++)
        for (i64 i = 0; i < n; i++) y[r * n + i] = (x[r * n + i] - statistics[2 * r]) * statistics[2 * r + 1];
}

// ---- windows: `w` has the members of struct Windows, then outputs and groups
static Windows windows(const i64* w) { return {w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12]}; }
static Convolution convolution(const i64* w) { return {windows(w), w[13], w[14]}; }

API void convolve(i64 examples, const i64* w, const float* x, const float* weight, const float* bias, float* y) {
    const Convolution c = convolution(w);
    for (i64 e = 0; e < examples; e++) c.forward(x + e * c.w.pixels(), weight, bias, y + e * c.outputs * c.w.positions());
}
API void convolve_by_input(i64 examples, const i64* w, const float* dy, const float* weight, float* dx) {
    const Convolution c = convolution(w);
    for (i64 e = 0; e < examples; e++) c.by_input(dy + e * c.outputs * c.w.positions(), weight, dx + e * c.w.pixels());
}
API void convolve_by_weight(i64 examples, i64 leaf, const i64* w, const float* dy, const float* x, double scale, double limit, i64* total, double* beyond) {
    const Convolution c = convolution(w);
    const Whole whole = {scale, limit, beyond};
    const i64 size = c.outputs * c.depth();
    float* sums = scratch<5>(size);
    for (i64 start = 0; start < examples; start += leaf) {
        std::memset(sums, 0, 4 * size);
        for (i64 e = start; e < std::min(examples, start + leaf); e++)
            c.by_weight(dy + e * c.outputs * c.w.positions(), x + e * c.w.pixels(), sums);
        whole.add(sums, size, total);
    }
}
API void pool_max(i64 planes, const i64* w, const float* x, float* y, i64* places) { max_pool(x, planes, windows(w), y, places); }
API void pool_max_gradient(i64 planes, const i64* w, const float* dy, const i64* places, float* dx) {
    const Windows v = windows(w);
    std::memset(dx, 0, 4 * planes * v.height * v.width);
    for (i64 p = 0; p < planes; p++, dx += v.height * v.width)
        for (i64 i = 0; i < v.positions(); i++, dy++, places++) dx[*places] += *dy;
}

API void pool_mean(i64 planes, const i64* w, const float* x, float* y) { mean_pool(x, planes, windows(w), y); }
API void pool_mean_gradient(i64 planes, const i64* w, const float* dy, float* dx) { mean_pool_gradient(dy, planes, windows(w), dx); }

// ---- attention: `h` has the whole numbers of struct Heads
static Heads heads(const i64* h, double scale) { return {h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7], h[8], h[9], scale, h[10]}; }

API void attention(const i64* numbers, double scale, const float* q, const float* k, const float* v, float* y, float* weights) {
    const Heads h = heads(numbers, scale);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (i64 head = 0; head < h.count(); head++) attend(h, head, q, k, v, y, weights);
}
API void attention_gradient(const i64* numbers, double scale, const float* dy, const float* q, const float* k, const float* v, const float* weights, float* dq, float* dk, float* dv) {
    const Heads h = heads(numbers, scale);
#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (i64 head = 0; head < h.count(); head++) attend_gradient(h, head, dy, q, k, v, weights, dq, dk, dv);
}

// ---- random numbers: Threefry-2x32 with 20 rounds, as Namespace.uniform
static inline uint32_t rotated(uint32_t x, int by) { return x << by | x >> (32 - by); }

API void uniform(i64 rows, i64 width, const i64* key, float* out) {
    const uint32_t k0 = (uint32_t)key[0], k1 = (uint32_t)key[1], keys[] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDA};
    const int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const i64 half = (width + 1) / 2, first = key[2] * rows / key[3];
    for (i64 r = 0; r < rows; r++)
        for (i64 i = 0; i < half; i++) {
            uint32_t a = (uint32_t)(r + first) + k0, b = (uint32_t)i + k1;
            for (int round = 0; round < 5; round++) {
                for (int by : rotations[round % 2]) a += b, b = rotated(b, by) ^ a;
                a += keys[(round + 1) % 3], b += keys[(round + 2) % 3] + round + 1;
            }
            out[r * width + i] = (a >> 8) * 0x1p-24f;
            if (half + i < width) out[r * width + half + i] = (b >> 8) * 0x1p-24f;
        }
}
