// Elementary functions by the formulas of deep500/elementary, which they share every bit with: float64 inside, by
// +, -, *, / and floor in one order, and one rounding at the end.
#pragma once
#include "whole.h"

constexpr double LN2_HIGH = 0x1.62e42fee00000p-1, LN2_LOW = 0x1.a39ef35793c76p-33, LOG2_E = 0x1.71547652b82fep+0;
constexpr double SQRT2 = 0x1.6a09e667f3bcdp+0, TWO_BY_SQRT_PI = 0x1.20dd750429b6dp+0;
constexpr double SQRT_HALF = 0x1.6a09e667f3bcdp-1, ROOT_2_BY_PI = 0x1.9884533d43651p-1, CUBE = 0.044715;

struct Series {
    double exp[14], atanh[11], erf[80];
    constexpr Series() : exp(), atanh(), erf() {
        double factorial = 1;
        for (int k = 1; k <= 14; ++k) factorial *= k, exp[k - 1] = 1 / factorial;
        for (int k = 1; k <= 11; ++k) atanh[k - 1] = 1.0 / (2 * k + 1);
        erf[0] = 1;
        for (int k = 1; k < 80; ++k) erf[k] = erf[k - 1] * 32 / (2 * k + 1);
    }
};
constexpr Series SERIES;

template <int count> static inline double series(double x, const double (&coefficients)[count]) {
    double total = coefficients[count - 1];
#pragma GCC unroll 80
    for (int k = count - 2; k >= 0; --k) total = x * total + coefficients[k];
    return total;
}
static inline double within(double x, double low, double high) {
    x = x < high ? x : high;
    return x > low ? x : low;
}
static inline double exp_parts(double x, double& scale) {
    const double n = std::floor(x * LOG2_E + 0.5);
    const double r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // the bits of the rounder and of n + 1023, of which the exponent's are left
    scale = bits<double>(bits<i64>(n + (ROUNDER + 1023)) << 52);
    return r * series(r, SERIES.exp);
}
static inline double exp_of(double x) {
    double scale;
    const double p = exp_parts(within(x, -200.0, 200.0), scale);
    return (1.0 + p) * scale;
}
static inline double exp_minus_1(double x) {
    double scale;
    const double p = exp_parts(x, scale);
    return p * scale + (scale - 1.0);
}
static inline double tanh_of(double x) {
    const double e = exp_minus_1(2.0 * within(std::fabs(x), -1.0, 20.0));
    return std::copysign(e / (e + 2.0), x);
}
static inline double sigmoid_of(double x) { return 1.0 / (1.0 + exp_of(-x)); }
static inline double erf_of(double x) {
    const double size = within(std::fabs(x), -1.0, 4.0), square = size * size;
    const double y = (size * TWO_BY_SQRT_PI) * (exp_of(-square) * series(square * 0.0625, SERIES.erf));
    return std::copysign(y, x);
}
static inline double log_of(double x) {
    const double shifted = bits<double>((bits<i64>(x) >> 52) + bits<i64>(ROUNDER)) - (ROUNDER + 1023);
    double n = shifted, m = bits<double>((bits<i64>(x) & 0x000FFFFFFFFFFFFF) | 0x3FF0000000000000);
    const bool is_large = m > SQRT2;
    m = is_large ? m * 0.5 : m;
    n = is_large ? n + 1.0 : n;
    const double f = m - 1.0, s = f / (f + 2.0), square = s * s;
    const double rest = square * series(square, SERIES.atanh);
    const double value = n * LN2_HIGH + (n * LN2_LOW + 2.0 * (s + s * rest));
    const double at_edge = x == 0 ? -INFINITY : x;  // infinity is its own logarithm
    return x > 0 && x < INFINITY ? value : x < 0 ? NAN : at_edge;
}

static inline double gelu_tanh_of(double x) { return 0.5 * x * (1.0 + tanh_of(ROOT_2_BY_PI * (x + CUBE * x * x * x))); }
static inline double gelu_tanh_slope(double x) {
    const double bend = tanh_of(ROOT_2_BY_PI * (x + CUBE * x * x * x));
    const double slope = (1.0 - bend * bend) * ROOT_2_BY_PI * (1.0 + 3.0 * CUBE * x * x);
    return 0.5 * (1.0 + bend + x * slope);
}
static inline double gelu_of(double x) { return 0.5 * x * (1.0 + erf_of(x * SQRT_HALF)); }
static inline double gelu_slope(double x) {
    return 0.5 * (1.0 + erf_of(x * SQRT_HALF) + x * ROOT_2_BY_PI * exp_of(-0.5 * x * x));
}

// NaN stays NaN: the formulas are for numbers
template <double (*function)(double)> static inline float at(float x) {
    const double wide = x;
    return wide != wide ? x : (float)function(wide);
}
template <double (*function)(double)> static void map(const float* x, float* y, i64 n) {
#pragma omp parallel for num_threads(threads) if (threads > 1 && n > 20000)
    for (i64 start = 0; start < n; start += 4096) {
        const i64 end = std::min(n, start + 4096);
        for (i64 i = start; i < end; i++) y[i] = at<function>(x[i]);
    }
}
template <double (*slope)(double)> static void pull(const float* dy, const float* x, float* dx, i64 n) {
#pragma omp parallel for num_threads(threads) if (threads > 1 && n > 20000)
    for (i64 start = 0; start < n; start += 4096) {
        const i64 end = std::min(n, start + 4096);
        for (i64 i = start; i < end; i++) dx[i] = dy[i] * at<slope>(x[i]);
    }
}
