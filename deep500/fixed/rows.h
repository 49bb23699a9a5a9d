// Sums over a row of numbers, and what is made of them. Number i of a row belongs to partial sum i % 16; halves of the
// partial sums are added to halves.
#pragma once
#include "functions.h"

static inline float folded(Lanes sums) {
    float s[LANES];
    store(s, sums);
#pragma GCC unroll 4
    for (i64 half = LANES / 2; half; half /= 2)
        for (i64 l = 0; l < half; l++) s[l] += s[half + l];
    return s[0];
}

// the sum over i of term(i), where term gives 16 neighbours at once or, at the end of a row, a single one
template <typename Sixteen, typename One> static inline float summed(i64 n, Sixteen sixteen, One one) {
    Lanes sums = {};
    i64 i = 0;
    for (; i + LANES <= n; i += LANES) sums += sixteen(i);
    float rest[LANES] = {};
    for (i64 l = 0; i + l < n; l++) rest[l] = one(i + l);
    sums += loaded<Lanes>(rest);
    return folded(sums);
}
static inline float sum(const float* x, i64 n) {
    return summed(n, [=](i64 i) { return loaded<Lanes>(x + i); }, [=](i64 i) { return x[i]; });
}
static inline float dot(const float* x, const float* y, i64 n) {
    return summed(
        n, [=](i64 i) { return loaded<Lanes>(x + i) * loaded<Lanes>(y + i); }, [=](i64 i) { return x[i] * y[i]; });
}
static inline float largest(const float* x, i64 n) {
    float most = -INFINITY;
    for (i64 i = 0; i < n; i++) most = x[i] > most ? x[i] : most;
    return most;
}

// exp(x - most) of the first `used` numbers, 0 for the others; returns the sum
static inline float exponentials(const float* x, i64 n, i64 used, float most, float* y) {
    for (i64 i = 0; i < used; i++) y[i] = at<exp_of>(x[i] - most);
    for (i64 i = used; i < n; i++) y[i] = 0;
    return sum(y, n);
}
static inline void softmax(const float* x, i64 n, i64 used, float* y) {
    const float total = exponentials(x, n, used, largest(x, used), y);
    for (i64 i = 0; i < n; i++) y[i] = y[i] / total;
}

// The loss of a row by its label, and its gradient times `share`.
static inline float cross_entropy(const float* x, i64 n, i64 label, float share, float* dx) {
    const float most = largest(x, n), total = exponentials(x, n, n, most, dx);
    for (i64 i = 0; i < n; i++) dx[i] = dx[i] / total * share;
    dx[label] = dx[label] - share;
    return at<log_of>(total) + most - x[label];
}

static inline void layer_norm(const float* x, const float* scale, const float* bias, i64 n, float epsilon, float* y, float* mean_and_inverse) {
    const float mean = sum(x, n) / n;
    for (i64 i = 0; i < n; i++) y[i] = x[i] - mean;
    const float inverse = 1 / std::sqrt(dot(y, y, n) / n + epsilon);
    for (i64 i = 0; i < n; i++) y[i] = y[i] * inverse * scale[i] + (bias ? bias[i] : 0);
    mean_and_inverse[0] = mean, mean_and_inverse[1] = inverse;
}
static inline void layer_norm_gradient(const float* dy, const float* x, const float* scale, i64 n, const float* mean_and_inverse, float* dx) {
    const float mean = mean_and_inverse[0], inverse = mean_and_inverse[1];
    float *normal = scratch<2>(2 * n), *weighted = normal + n;
    for (i64 i = 0; i < n; i++) {
        normal[i] = (x[i] - mean) * inverse;
        weighted[i] = dy[i] * scale[i];
    }
    const float shift = sum(weighted, n) / n, slope = dot(weighted, normal, n) / n;
    for (i64 i = 0; i < n; i++) dx[i] = inverse * (weighted[i] - shift - normal[i] * slope);
}
