// The functions of this folder, by the steps of arithmetic.py and of the operators: the same bits as their formulas.
// Products and quotients are kept apart from what comes after them by a zero that the compiler cannot know.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace {

const double INFINITE = std::numeric_limits<double>::infinity();
const double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
const double LN2_HIGH = 0x1.62e42fee00000p-1;
const double LN2_LOW = 0x1.a39ef35793c76p-33;
const double LOG2_E = 0x1.71547652b82fep+0;
const double SQRT2 = 0x1.6a09e667f3bcdp+0;
const double TWO_BY_SQRT_PI = 0x1.20dd750429b6dp+0;

template<typename To, typename From>
inline To bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "one width");
    To y;
    std::memcpy(&y, &x, sizeof y);
    return y;
}

// float as double and back by integers: TensorFlow's threads take denormal numbers for 0
inline double widen(float x) {
    int32_t word = bits<int32_t>(x);
    int32_t size = word & 0x7FFFFFFF;
    if (size > 0x7F800000) return NOT_A_NUMBER;
    double denormal = (size & 0x7FFFFF) * 0x1p-149;
    if (size < 0x800000) return word < 0 ? -denormal : denormal;
    return x;
}

inline float narrow(double x) {
    double size = std::fabs(x);
    if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
    if (!(size < 0x1p-126 && size > 0)) return static_cast<float>(x);
    double steps = size * 0x1p149;
    double whole = std::floor(steps);
    double rest = steps - whole;
    int32_t number = static_cast<int32_t>(whole);
    number += rest > 0.5 || (rest == 0.5 && (number & 1));
    uint32_t sign = x < 0 ? 0x80000000u : 0u;
    return bits<float>(sign | static_cast<uint32_t>(number));
}

inline bool negative(double x) { return bits<int64_t>(x) < 0; }
inline double within(double x, double low, double high) {
    x = x < high ? x : high;
    return x > low ? x : low;
}
inline double power_of_two(double n) { return bits<double>((static_cast<int64_t>(n) + 1023) << 52); }

struct Series {
    double exp[14], atanh[11], erf[80];
    Series() {
        double factorial = 1;
        for (int k = 1; k <= 14; ++k) factorial *= k, exp[k - 1] = 1 / factorial;
        for (int k = 1; k <= 11; ++k) atanh[k - 1] = 1.0 / (2 * k + 1);
        erf[0] = 1;
        for (int k = 1; k < 80; ++k) erf[k] = erf[k - 1] * 32 / (2 * k + 1);
    }
};
const Series SERIES;

struct Arithmetic {
    int64_t zero;

    explicit Arithmetic(double x) {
        int64_t n = (bits<int64_t>(x) >> 32) & 0xFFFF;
        zero = (n * (n + 1)) & 1;
    }
    double apart(double x) const { return bits<double>(bits<int64_t>(x) ^ zero); }
    double times(double x, double y) const { return apart(x * y); }
    double over(double x, double y) const { return apart(x / y); }

    template<int count>
    double series(double x, const double (&coefficients)[count]) const {
        double total = coefficients[count - 1];
        for (int k = count - 2; k >= 0; --k) total = times(x, total) + coefficients[k];
        return total;
    }
    double exp_parts(double x, double &scale) const {
        double n = std::floor(times(x, LOG2_E) + 0.5);
        double r = (x - n * LN2_HIGH) - times(n, LN2_LOW);
        scale = power_of_two(n);
        return times(r, series(r, SERIES.exp));
    }
    double exp(double x) const {
        double scale, p = exp_parts(x, scale);
        return (1.0 + p) * scale;
    }
    double exp_minus_1(double x) const {
        double scale, p = exp_parts(x, scale);
        return p * scale + (scale - 1.0);
    }
    double log(double x) const {
        double n = static_cast<double>((bits<int64_t>(x) >> 52) - 1023);
        double m = x * power_of_two(-n);
        if (m > SQRT2) m = m * 0.5, n = n + 1.0;
        double f = m - 1.0;
        double s = over(f, f + 2.0);
        double square = times(s, s);
        double rest = times(square, series(square, SERIES.atanh));
        double log_m = 2.0 * (s + times(s, rest));
        return n * LN2_HIGH + (times(n, LN2_LOW) + log_m);
    }
};

struct ExpFormula {
    static double value(const Arithmetic &a, double x) { return a.exp(within(x, -200.0, 200.0)); }
    static double slope(const Arithmetic &a, double x) { return value(a, x); }
};
struct LogFormula {
    static double value(const Arithmetic &a, double x) {
        if (x < 0) return NOT_A_NUMBER;
        if (x == 0) return -INFINITE;
        return x == INFINITE ? INFINITE : a.log(x);
    }
    static double slope(const Arithmetic &a, double x) { return x == 0 ? INFINITE : a.over(1.0, x); }
};
struct TanhFormula {
    static double value(const Arithmetic &a, double x) {
        double e = a.exp_minus_1(2.0 * within(std::fabs(x), -1.0, 20.0));
        double y = a.over(e, e + 2.0);
        return negative(x) ? -y : y;
    }
    static double slope(const Arithmetic &a, double x) {
        double y = value(a, x);
        return 1.0 - a.times(y, y);
    }
};
struct SigmoidFormula {
    static double value(const Arithmetic &a, double x) {
        return a.over(1.0, 1.0 + a.exp(-within(x, -200.0, 200.0)));
    }
    static double slope(const Arithmetic &a, double x) { return a.times(value(a, x), value(a, -x)); }
};
struct ErfFormula {
    static double value(const Arithmetic &a, double x) {
        double size = within(std::fabs(x), -1.0, 4.0);
        double square = a.times(size, size);
        double total = a.series(square * 0.0625, SERIES.erf);
        double y = a.times(a.times(size, TWO_BY_SQRT_PI), a.times(a.exp(-square), total));
        return negative(x) ? -y : y;
    }
    static double slope(const Arithmetic &a, double x) {
        return a.times(a.exp(-within(a.times(x, x), -1.0, 200.0)), TWO_BY_SQRT_PI);
    }
};
struct RsqrtFormula {
    static double value(const Arithmetic &a, double x) {
        if (x == 0) return negative(x) ? -INFINITE : INFINITE;
        if (x < 0) return NOT_A_NUMBER;
        return x == INFINITE ? 0.0 : a.over(1.0, a.apart(std::sqrt(x)));
    }
    static double slope(const Arithmetic &a, double x) {
        double y = x == 0 ? INFINITE : value(a, x);
        return -0.5 * a.times(y, a.times(y, y));
    }
};

double power(const Arithmetic &a, double x, double exponent) {
    if (exponent == 0 || x == 1) return 1.0;
    if (std::isnan(x) || std::isnan(exponent)) return NOT_A_NUMBER;
    double size = std::fabs(x);
    bool usual = size > 0 && size < INFINITE;
    double y = within(exponent, -1e39, 1e39);
    double result = 0.0;
    if (usual) result = a.exp(within(a.times(y, a.log(size)), -200.0, 200.0));
    if ((size == 0 && y < 0) || (size == INFINITE && y > 0)) result = INFINITE;
    bool whole = std::floor(y) == y;
    bool odd = whole && std::fabs(y) < 0x1p24 && 2.0 * std::floor(0.5 * y) != y;
    if (x < 0 && usual && !whole) return NOT_A_NUMBER;
    return odd && negative(x) ? -result : result;
}

}  // namespace

template<typename Formula>
class Elementary : public deep500::CustomOperator {
    int64_t n;
public:
    explicit Elementary(int64_t length) : n(length) {}
    void forward(const float *x, float *y) {
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) {
            double wide = widen(x[i]);
            y[i] = narrow(std::isnan(wide) ? wide : Formula::value(Arithmetic(wide), wide));
        }
    }
    void backward(const float *dy, const float *x, const float *, float *dx) {
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) {
            double wide = widen(x[i]);
            Arithmetic arithmetic(wide);
            double slope = std::isnan(wide) ? wide : Formula::slope(arithmetic, wide);
            dx[i] = narrow(arithmetic.times(widen(dy[i]), slope));
        }
    }
};

struct fixed_exp : Elementary<ExpFormula> { using Elementary::Elementary; };
struct fixed_log : Elementary<LogFormula> { using Elementary::Elementary; };
struct fixed_tanh : Elementary<TanhFormula> { using Elementary::Elementary; };
struct fixed_sigmoid : Elementary<SigmoidFormula> { using Elementary::Elementary; };
struct fixed_erf : Elementary<ErfFormula> { using Elementary::Elementary; };
struct fixed_rsqrt : Elementary<RsqrtFormula> { using Elementary::Elementary; };

class fixed_pow : public deep500::CustomOperator {
    int64_t n;
public:
    fixed_pow(const deep500::tensor_t *inputs, const deep500::tensor_t *) : n(inputs[0].size()) {
        if (inputs[1].size() != n) throw std::invalid_argument("pow in C++ takes arrays of one shape");
    }
    void forward(const float *x, const float *exponent, float *y) {
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) {
            double wide = widen(exponent[i]);
            y[i] = narrow(power(Arithmetic(wide), widen(x[i]), wide));
        }
    }
    void backward(const float *dy, const float *x, const float *exponent, const float *, float *dx, float *dexponent) {
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) {
            double base = widen(x[i]), wide = widen(exponent[i]), gradient = widen(dy[i]);
            Arithmetic a(wide);
            double slope = wide == 0 ? 0.0 : a.times(wide, power(a, base, wide - 1.0));
            dx[i] = narrow(a.times(gradient, slope));
            double log_x = base > 0 && base < INFINITE ? a.log(base) : 0.0;
            dexponent[i] = narrow(a.times(gradient, a.times(power(a, base, wide), log_x)));
        }
    }
};
