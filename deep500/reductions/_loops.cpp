// The inner loops of the reproducible sums. Each has a twin in NumPy that gives the same bits: what they add are whole
// numbers, or floats whose sums are exact, so that neither the order nor the width of a vector matters.
// Must be compiled with -ffp-contract=off and without -ffast-math, which would take (x + M) - M for x.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define API extern "C" __attribute__((visibility("default")))

typedef int64_t i64;
constexpr int WIDTH = 8;
constexpr int UNROLLED = 4;
typedef double Doubles __attribute__((vector_size(8 * WIDTH)));
typedef uint64_t Words __attribute__((vector_size(8 * WIDTH)));
constexpr i64 BLOCK = 2048;  // so that a block's sum of numbers below 2^51 fits into 64 bits
// a double near this number has its unit in the last place at 1: adding it rounds to a whole number, ties to even
constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52

static inline uint64_t bits_of(double x) {
    uint64_t b;
    std::memcpy(&b, &x, sizeof b);
    return b;
}
// |y| < 2^51
static inline i64 rounded(double y) { return bits_of(y + ROUNDER) - bits_of(ROUNDER); }

static inline Doubles loaded(const double* x) {
    Doubles v;
    std::memcpy(&v, x, sizeof v);
    return v;
}
static inline Doubles loaded(const float* x) {
#ifdef __AVX512F__
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));  // g++ 12 makes three instructions of the lines below
#endif
    float v __attribute__((vector_size(4 * WIDTH)));
    std::memcpy(&v, x, sizeof v);
    return __builtin_convertvector(v, Doubles);
}

// x * scale + y
static inline Doubles fused(Doubles x, double scale, double y) {
    Doubles v;
    for (int l = 0; l < WIDTH; l++) v[l] = __builtin_fma(x[l], scale, y);
    return v;
}

// ---- fixed point: out = {low 40 bits, the rest, whether one was beyond the 52 bits of a whole number}
template <typename T> static void fixed_sum(const T* x, i64 n, double scale, i64* out) {
    i64 low = 0, high = 0, beyond = 0;
    for (i64 start = 0; start < n; start += BLOCK) {
        const i64 count = n - start < BLOCK ? n - start : BLOCK;
        const T* block = x + start;
        Words sums[UNROLLED] = {}, changes[UNROLLED] = {};
        i64 i = 0;
        for (; i + UNROLLED * WIDTH <= count; i += UNROLLED * WIDTH)
#pragma GCC unroll 8
            for (int v = 0; v < UNROLLED; v++) {
                // a scale is a power of two: fused or not, the bits are the same
                const Words bits = (Words)fused(loaded(block + i + v * WIDTH), scale, ROUNDER);
                changes[v] |= bits ^ bits_of(ROUNDER);
                sums[v] += bits;
            }
        // of the sums of bit patterns, modulo 2^64
        uint64_t total = -(i * bits_of(ROUNDER));
        for (int v = 0; v < UNROLLED; v++)
            for (int l = 0; l < WIDTH; l++) {
                total += sums[v][l];
                // a number beyond 2^51, an infinity and NaN have another sign or exponent than the rounder
                beyond |= changes[v][l] >> 52;
            }
        for (; i < count; i++) {
            const uint64_t bits = bits_of(__builtin_fma((double)block[i], scale, ROUNDER));
            beyond |= (bits ^ bits_of(ROUNDER)) >> 52;
            total += bits - bits_of(ROUNDER);
        }
        low += (i64)total;
        high += low >> 40;
        low &= ((i64)1 << 40) - 1;
    }
    out[0] = low, out[1] = high, out[2] = beyond;
}
API void fixed_sum32(const float* x, i64 n, double scale, i64* out) { fixed_sum(x, n, scale, out); }
API void fixed_sum64(const double* x, i64 n, double scale, i64* out) { fixed_sum(x, n, scale, out); }

// total += x, element by element
template <typename T> static i64 fixed_add(const T* x, i64 n, double scale, double limit, i64* total) {
    i64 bad = 0;
    for (i64 i = 0; i < n; i++) {
        const double y = (double)x[i] * scale;
        bad |= !(std::fabs(y) < limit);
        total[i] += rounded(y);
    }
    return bad;
}
API void fixed_add32(const float* x, i64 n, double scale, double limit, i64* total, i64* bad) { *bad |= fixed_add(x, n, scale, limit, total); }
API void fixed_add64(const double* x, i64 n, double scale, double limit, i64* total, i64* bad) { *bad |= fixed_add(x, n, scale, limit, total); }

template <typename T> static void fixed_value(const i64* total, i64 n, double unit, T* out) {
    for (i64 i = 0; i < n; i++) out[i] = (T)((double)total[i] * unit);
}
API void fixed_value32(const i64* total, i64 n, double unit, float* out) { fixed_value(total, n, unit, out); }
API void fixed_value64(const i64* total, i64 n, double unit, double* out) { fixed_value(total, n, unit, out); }

// The sums of rows, block by block, so that the whole numbers stay in the cache.
template <typename T>
static void fixed_rows(const i64* rows, i64 count, i64 n, double scale, double unit, double limit, T* out, i64* bad) {
    i64 total[BLOCK];
    for (i64 start = 0; start < n; start += BLOCK) {
        const i64 length = n - start < BLOCK ? n - start : BLOCK;
        for (i64 i = 0; i < length; i++) total[i] = 0;
        for (i64 r = 0; r < count; r++) *bad |= fixed_add((const T*)rows[r] + start, length, scale, limit, total);
        fixed_value(total, length, unit, out + start);
    }
}
API void fixed_rows32(const i64* rows, i64 count, i64 n, double scale, double unit, double limit, float* out, i64* bad) { fixed_rows(rows, count, n, scale, unit, limit, out, bad); }
API void fixed_rows64(const i64* rows, i64 count, i64 n, double scale, double unit, double limit, double* out, i64* bad) { fixed_rows(rows, count, n, scale, unit, limit, out, bad); }

// ---- the largest magnitude; NaN if a number is NaN
template <typename T> static double largest(const T* x, i64 n) {
    typedef T Numbers __attribute__((vector_size(64)));
    constexpr int width = 64 / sizeof(T);
    Numbers high[2] = {}, low[2] = {}, nans = {};
    i64 i = 0;
    for (; i + 2 * width <= n; i += 2 * width)
#pragma GCC unroll 2
        for (int v = 0; v < 2; v++) {
            Numbers a;
            std::memcpy(&a, x + i + v * width, sizeof a);
            high[v] = a > high[v] ? a : high[v];
            low[v] = a < low[v] ? a : low[v];
            nans = a != a ? a : nans;
        }
    for (; i < n; i++) {
        high[0][0] = x[i] > high[0][0] ? x[i] : high[0][0];
        low[0][0] = x[i] < low[0][0] ? x[i] : low[0][0];
        if (x[i] != x[i]) nans[0] = x[i];
    }
    T most = 0;
    for (int v = 0; v < 2; v++)
        for (int l = 0; l < width; l++) {
            if (nans[l] != nans[l]) return std::numeric_limits<double>::quiet_NaN();
            most = high[v][l] > most ? high[v][l] : most;
            most = -low[v][l] > most ? -low[v][l] : most;
        }
    return most;
}
API void largest32(const float* x, i64 n, double* out) { *out = largest(x, n); }
API void largest64(const double* x, i64 n, double* out) { *out = largest(x, n); }

// ---- levels: sums[k] += what rounding to the unit of rounders[k] takes off, all of it exact
template <int K, typename T> static void levels(const T* x, i64 n, double scale, const double* rounders, double* sums) {
    Doubles total[K][2] = {};
    Doubles m[K];
    for (int k = 0; k < K; k++) m[k] = Doubles{} + rounders[k];
    i64 i = 0;
    for (; i + 2 * WIDTH <= n; i += 2 * WIDTH) {
        Doubles rest[2] = {loaded(x + i) * scale, loaded(x + i + WIDTH) * scale};
#pragma GCC unroll 4
        for (int k = 0; k < K; k++)
#pragma GCC unroll 2
            for (int v = 0; v < 2; v++) {
                const Doubles part = (rest[v] + m[k]) - m[k];
                total[k][v] += part;
                rest[v] -= part;
            }
    }
    for (; i < n; i++) {
        double rest = (double)x[i] * scale;
        for (int k = 0; k < K; k++) {
            const double part = (rest + rounders[k]) - rounders[k];
            total[k][0][0] += part;
            rest -= part;
        }
    }
    for (int k = 0; k < K; k++)
        for (int l = 0; l < WIDTH; l++) sums[k] += total[k][0][l] + total[k][1][l];
}
template <typename T> static void any_levels(const T* x, i64 n, i64 k, double scale, const double* rounders, double* sums) {
    if (k == 1) levels<1>(x, n, scale, rounders, sums);
    else if (k == 2) levels<2>(x, n, scale, rounders, sums);
    else levels<3>(x, n, scale, rounders, sums);
}
API void levels32(const float* x, i64 n, i64 k, double scale, const double* rounders, double* sums) { any_levels(x, n, k, scale, rounders, sums); }
API void levels64(const double* x, i64 n, i64 k, double scale, const double* rounders, double* sums) { any_levels(x, n, k, scale, rounders, sums); }

// ---- bins: one sweep. Bin t counts in units of 2^(40 t); its totals are whole numbers, in two words each.
// state = {whether it has a top bin, top bin, whether a number is not finite, low and high word of every level}
static inline int bin_of(double most) {
    int exponent;
    std::frexp(most, &exponent);  // most < 2^exponent
    return (int)std::ceil((exponent + 1) / 40.0) - 1;
}
constexpr int SCALED_FROM = 24;  // bins whose rounder would overflow
constexpr double SMALLER = 0x1p-128;

template <typename T> static void bins(const T* x, i64 n, i64 k, i64* state) {
    for (i64 start = 0; start < n; start += BLOCK) {
        const i64 count = n - start < BLOCK ? n - start : BLOCK;
        const double most = largest(x + start, count);
        if (most == 0) continue;
        if (!(most <= std::numeric_limits<double>::max())) {
            state[2] = 1;
            return;
        }
        const int bin = bin_of(most);
        i64* words = state + 3;
        if (!state[0] || bin > state[1]) {
            const i64 shift = state[0] ? bin - state[1] : k;
            for (i64 level = k - 1; level >= 0; level--)
                for (int word = 0; word < 2; word++)
                    words[2 * level + word] = level >= shift ? words[2 * (level - shift) + word] : 0;
            state[0] = 1, state[1] = bin;
        }
        if (bin <= state[1] - k) continue;
        const bool is_scaled = state[1] >= SCALED_FROM;
        double rounders[3], sums[3] = {0, 0, 0};
        for (i64 level = 0; level < k; level++)
            rounders[level] = std::ldexp(1.5, 52 + 40 * (int)(state[1] - level) - (is_scaled ? 128 : 0));
        any_levels(x + start, count, k, is_scaled ? SMALLER : 1.0, rounders, sums);
        for (i64 level = 0; level < k; level++) {
            const i64 whole = (i64)std::ldexp(sums[level], (is_scaled ? 128 : 0) - 40 * (int)(state[1] - level));
            words[2 * level] += whole;
            words[2 * level + 1] += words[2 * level] >> 40;
            words[2 * level] &= ((i64)1 << 40) - 1;
        }
    }
}
API void bins32(const float* x, i64 n, i64 k, i64* state) { bins(x, n, k, state); }
API void bins64(const double* x, i64 n, i64 k, i64* state) { bins(x, n, k, state); }

// ---- the plain sum, in the dtype of the numbers: what the others are measured against
template <typename T> static double plain(const T* x, i64 n) {
    typedef T Numbers __attribute__((vector_size(64)));
    constexpr int width = 64 / sizeof(T);
    Numbers sums[UNROLLED] = {};
    i64 i = 0;
    for (; i + UNROLLED * width <= n; i += UNROLLED * width)
#pragma GCC unroll 8
        for (int v = 0; v < UNROLLED; v++) {
            Numbers a;
            std::memcpy(&a, x + i + v * width, sizeof a);
            sums[v] += a;
        }
    T total = 0;
    for (int v = 0; v < UNROLLED; v++)
        for (int l = 0; l < width; l++) total += sums[v][l];
    for (; i < n; i++) total += x[i];
    return total;
}
API void plain32(const float* x, i64 n, double* out) { *out = plain(x, n); }
API void plain64(const double* x, i64 n, double* out) { *out = plain(x, n); }

// ---- tree: every 64 neighbours as one number, halves added to halves
template <typename T> static void atoms(const T* x, i64 count, double* out) {
    for (i64 a = 0; a < count; a++) {
        double v[64];
        for (int i = 0; i < 32; i++) v[i] = (double)x[64 * a + i] + (double)x[64 * a + 32 + i];
#pragma GCC unroll 5
        for (int half = 16; half; half /= 2)
            for (int i = 0; i < half; i++) v[i] += v[half + i];
        out[a] = v[0];
    }
}
API void atoms32(const float* x, i64 count, double* out) { atoms(x, count, out); }
API void atoms64(const double* x, i64 count, double* out) { atoms(x, count, out); }
