// The inner loops of the codecs. Each has a twin in NumPy that gives the same bits, so sums have a fixed order:
// eight lanes of double, each added up in the order of its elements, then the lanes in pairs.
// Must be compiled with -ffp-contract=off: a fused multiply-add would round once where NumPy rounds twice.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

// Starting threads costs more than a short loop, above all where several ranks share the cores.
#define PARALLEL_FROM (1 << 17)
#define API extern "C" __attribute__((visibility("default")))

typedef int64_t i64;
template <typename T> using bits_of = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <typename T> static inline bits_of<T> magnitude(T x) {
    bits_of<T> b;
    std::memcpy(&b, &x, sizeof b);
    return b & (std::numeric_limits<bits_of<T>>::max() >> 1);
}
template <typename T> static inline T as_float(bits_of<T> b) {
    T x;
    std::memcpy(&x, &b, sizeof x);
    return x;
}
template <typename T> static bits_of<T> largest_magnitude(const T* x, i64 n) {
    bits_of<T> most = 0;
    for (i64 i = 0; i < n; i++) most = std::max(most, magnitude(x[i]));
    return most;
}

// ---- random numbers: Threefry-2x32-20. 16 blocks give 64 numbers of 16 bits: element 64 g + 16 part + lane is
// part `part` (low and high half of both words) of the block 16 g + lane.
struct Words { uint32_t k0, k1; };

static inline uint32_t rotated(uint32_t x, int by) { return (x << by) | (x >> (32 - by)); }

// Both words of 16 blocks, from block `first` on; the low word of the counter does not overflow inside of them.
static inline void threefry16(Words key, uint64_t first, uint32_t* a, uint32_t* b) {
    const uint32_t keys[3] = {key.k0, key.k1, key.k0 ^ key.k1 ^ 0x1BD11BDAu};
    static const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    for (int l = 0; l < 16; l++) {
        a[l] = (uint32_t)first + l + key.k0;
        b[l] = (uint32_t)(first >> 32) + key.k1;
    }
#pragma GCC unroll 5
    for (int i = 0; i < 5; i++) {
#pragma GCC unroll 4
        for (int r = 0; r < 4; r++) {
            const int by = turns[i % 2][r];
            for (int l = 0; l < 16; l++) {
                a[l] += b[l];
                b[l] = rotated(b[l], by) ^ a[l];
            }
        }
        for (int l = 0; l < 16; l++) {
            a[l] += keys[(i + 1) % 3];
            b[l] += keys[(i + 2) % 3] + i + 1;
        }
    }
}

static void random64(Words key, uint64_t group, uint16_t* out) {
    uint32_t a[16], b[16];
    threefry16(key, group * 16, a, b);
    for (int l = 0; l < 16; l++) {
        out[l] = a[l];
        out[16 + l] = a[l] >> 16;
        out[32 + l] = b[l];
        out[48 + l] = b[l] >> 16;
    }
}

API void blocks(uint32_t k0, uint32_t k1, i64 n, uint32_t* first, uint32_t* second) {
    for (i64 start = 0; start < n; start += 16) {
        uint32_t a[16], b[16];
        threefry16({k0, k1}, start, a, b);
        const i64 count = std::min<i64>(16, n - start);
        std::copy(a, a + count, first + start);
        std::copy(b, b + count, second + start);
    }
}

// The numbers of elements `start` to `start + n`; returns where they begin in `out`.
static const uint16_t* random_range(Words key, i64 start, i64 n, std::vector<uint16_t>& out) {
    const i64 first = start / 64, last = (start + n + 63) / 64;
    out.resize((last - first) * 64);
    for (i64 g = first; g < last; g++) random64(key, g, out.data() + (g - first) * 64);
    return out.data() + (start - first * 64);
}

API void random16(uint32_t k0, uint32_t k1, i64 n, uint16_t* out) {
    const i64 groups = n / 64;
#pragma omp parallel for if (n >= PARALLEL_FROM)
    for (i64 g = 0; g < groups; g++) random64({k0, k1}, g, out + g * 64);
    if (n % 64) {
        uint16_t rest[64];
        random64({k0, k1}, groups, rest);
        std::copy(rest, rest + n % 64, out + groups * 64);
    }
}

// ---- sums in a fixed order
static inline double lanes_total(const double* s) {
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}
template <typename T, typename F> static double ordered_sum(const T* x, i64 n, F term) {
    double lanes[8] = {0};
    i64 i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) lanes[l] += term((double)x[i + l]);
    for (int l = 0; i + l < n; l++) lanes[l] += term((double)x[i + l]);
    return lanes_total(lanes);
}
template <typename T> static void moments(const T* x, i64 n, i64 row, double* sums, double* squares) {
    const i64 rows = (n + row - 1) / row;
#pragma omp parallel for if (n >= PARALLEL_FROM)
    for (i64 r = 0; r < rows; r++) {
        const T* part = x + r * row;
        const i64 size = std::min(row, n - r * row);
        sums[r] = ordered_sum(part, size, [](double v) { return v; });
        squares[r] = ordered_sum(part, size, [](double v) { return v * v; });
    }
}
API void moments32(const float* x, i64 n, i64 row, double* a, double* b) { moments(x, n, row, a, b); }
API void moments64(const double* x, i64 n, i64 row, double* a, double* b) { moments(x, n, row, a, b); }

// ---- QSGD
template <typename T> static T bucket_norm(const T* x, i64 n, bool euclidean) {
    const T most = as_float<T>(largest_magnitude(x, n));
    if (!std::isfinite(most)) return std::numeric_limits<T>::quiet_NaN();
    if (!euclidean || most == 0) return most;
    const double unit = most;
    const double squares = ordered_sum(x, n, [unit](double v) { const double q = v / unit; return q * q; });
    const T norm = (T)(unit * std::sqrt(squares));
    return std::isfinite(norm) ? norm : std::numeric_limits<T>::quiet_NaN();
}

template <typename T, int BITS>
static void quantise(const T* x, i64 n, T norm, const uint16_t* random, uint8_t* codes, uint8_t* packed) {
    const int levels = (1 << (BITS - 1)) - 1;
    if (!(norm > 0)) {  // zeros, or NaN
        std::fill(codes, codes + n, (uint8_t)levels);
    } else {
        const T s = levels;
        for (i64 i = 0; i < n; i++) {
            const T u = ((T)random[i] + (T)0.5) * (T)(1.0 / 65536);
            const T y = (std::fabs(x[i]) / norm) * s;
            int level = (int)(y + u);
            level = level > levels ? levels : level;
            codes[i] = (uint8_t)(x[i] < 0 ? levels - level : levels + level);
        }
    }
    if (BITS == 8) {
        std::copy(codes, codes + n, packed);
        return;
    }
    const int each = 8 / BITS;
    std::fill(codes + n, codes + n + 8, (uint8_t)0);
    const i64 bytes = (n + each - 1) / each;
    for (i64 j = 0; j < bytes; j++) {
        unsigned byte = 0;
        for (int p = 0; p < each; p++) byte |= (unsigned)codes[j * each + p] << (p * BITS);
        packed[j] = (uint8_t)byte;
    }
}

template <typename T, int BITS>
static void qsgd_encode(const T* x, i64 n, i64 bucket, int euclidean, Words key, T* norms, uint8_t* packed) {
    const i64 buckets = (n + bucket - 1) / bucket;
#pragma omp parallel if (n >= PARALLEL_FROM)
    {
        std::vector<uint16_t> random;
        std::vector<uint8_t> codes(bucket + 8);
#pragma omp for
        for (i64 b = 0; b < buckets; b++) {
            const i64 start = b * bucket, size = std::min(bucket, n - start);
            const T norm = bucket_norm(x + start, size, euclidean);
            std::memcpy(norms + b, &norm, sizeof norm);
            const uint16_t* draws = random_range(key, start, size, random);
            quantise<T, BITS>(x + start, size, norm, draws, codes.data(), packed + start * BITS / 8);
        }
    }
}

template <typename T, int BITS, bool ADD>
static void qsgd_decode(const T* norms, const uint8_t* packed, i64 n, i64 bucket, T weight, T* out) {
    const int levels = (1 << (BITS - 1)) - 1, each = 8 / BITS, mask = (1 << BITS) - 1;
    const i64 buckets = (n + bucket - 1) / bucket;
#pragma omp parallel for if (n >= PARALLEL_FROM)
    for (i64 b = 0; b < buckets; b++) {
        const i64 start = b * bucket, size = std::min(bucket, n - start);
        T norm;
        std::memcpy(&norm, norms + b, sizeof norm);
        const T step = norm / (T)levels;
        const uint8_t* bytes = packed + start * BITS / 8;
        T* to = out + start;
        const i64 whole = size / each;
        for (i64 j = 0; j < whole; j++)
            for (int p = 0; p < each; p++) {
                const T value = (T)((int)((bytes[j] >> (p * BITS)) & mask) - levels) * step;
                if (ADD) to[j * each + p] += value * weight; else to[j * each + p] = value;
            }
        for (i64 i = whole * each; i < size; i++) {
            const T value = (T)((int)((bytes[whole] >> ((i - whole * each) * BITS)) & mask) - levels) * step;
            if (ADD) to[i] += value * weight; else to[i] = value;
        }
    }
}

#define QSGD(T, W, BITS)                                                                                              \
    API void qsgd_encode##W##_##BITS(const T* x, i64 n, i64 bucket, int euclidean, uint32_t k0, uint32_t k1,         \
                                     T* norms, uint8_t* packed) {                                                    \
        qsgd_encode<T, BITS>(x, n, bucket, euclidean, {k0, k1}, norms, packed);                                      \
    }                                                                                                                 \
    API void qsgd_decode##W##_##BITS(const T* norms, const uint8_t* packed, i64 n, i64 bucket, T* out) {             \
        qsgd_decode<T, BITS, false>(norms, packed, n, bucket, 1, out);                                               \
    }                                                                                                                 \
    API void qsgd_add##W##_##BITS(const T* norms, const uint8_t* packed, i64 n, i64 bucket, T weight, T* out) {      \
        qsgd_decode<T, BITS, true>(norms, packed, n, bucket, weight, out);                                           \
    }
QSGD(float, 32, 2) QSGD(float, 32, 4) QSGD(float, 32, 8)
QSGD(double, 64, 2) QSGD(double, 64, 4) QSGD(double, 64, 8)

// ---- one bit
// Eight flags of a byte each to the bits of one byte, the first to the lowest.
static inline uint8_t packed_flags(const uint8_t* flags) {
    uint64_t eight;
    std::memcpy(&eight, flags, 8);
    return (uint8_t)((eight * 0x0102040810204080ull) >> 56);
}
static inline void unpacked_flags(uint8_t byte, uint8_t* flags) {
    for (int l = 0; l < 8; l++) flags[l] = (byte >> l) & 1;
}

template <typename T>
static void one_bit_encode(const T* x, i64 n, i64 bucket, T* means, uint8_t* packed) {
    const i64 buckets = (n + bucket - 1) / bucket;
#pragma omp parallel if (n >= PARALLEL_FROM)
    {
        std::vector<uint8_t> flags(bucket + 8);
        std::vector<T> values(bucket + 8);
#pragma omp for
        for (i64 b = 0; b < buckets; b++) {
            const i64 start = b * bucket, size = std::min(bucket, n - start), whole = (size + 7) / 8;
            const T* from = x + start;
            if (size % 8) {  // filled up with zeros, which change no sum
                std::copy(from, from + size, values.begin());
                std::fill(values.begin() + size, values.begin() + 8 * whole, (T)0);
                from = values.data();
            }
            double above[8] = {0}, below[8] = {0};
            for (i64 j = 0; j < whole; j++)
                for (int l = 0; l < 8; l++) {
                    const double value = (double)from[8 * j + l];
                    above[l] += value >= 0 ? value : 0.0;
                    below[l] += value >= 0 ? 0.0 : value;
                }
            i64 count = 0;
            for (i64 i = 0; i < size; i++) {
                flags[i] = from[i] >= 0;
                count += flags[i];
            }
            std::fill(flags.begin() + size, flags.begin() + 8 * whole, (uint8_t)0);
            uint8_t* bytes = packed + start / 8;
            for (i64 j = 0; j < whole; j++) bytes[j] = packed_flags(flags.data() + 8 * j);
            const i64 others = size - count;
            const T pair[2] = {others ? (T)(lanes_total(below) / (double)others) : (T)0,
                               count ? (T)(lanes_total(above) / (double)count) : (T)0};
            std::memcpy(means + 2 * b, pair, sizeof pair);
        }
    }
}
template <typename T, bool ADD>
static void one_bit_decode(const T* means, const uint8_t* packed, i64 n, i64 bucket, T weight, T* out) {
    const i64 buckets = (n + bucket - 1) / bucket;
#pragma omp parallel if (n >= PARALLEL_FROM)
    {
        std::vector<uint8_t> flags(bucket + 8);
#pragma omp for
        for (i64 b = 0; b < buckets; b++) {
            const i64 start = b * bucket, size = std::min(bucket, n - start);
            T pair[2];
            std::memcpy(pair, means + 2 * b, sizeof pair);
            const uint8_t* bytes = packed + start / 8;
            for (i64 j = 0; j < (size + 7) / 8; j++) unpacked_flags(bytes[j], flags.data() + 8 * j);
            T* to = out + start;
            const T low = pair[0], high = pair[1];
            for (i64 i = 0; i < size; i++) {
                const T value = flags[i] ? high : low;
                if (ADD) to[i] += value * weight; else to[i] = value;
            }
        }
    }
}
#define ONE_BIT(T, W)                                                                                                 \
    API void one_bit_encode##W##_1(const T* x, i64 n, i64 bucket, T* means, uint8_t* packed) {                           \
        one_bit_encode(x, n, bucket, means, packed);                                                                 \
    }                                                                                                                 \
    API void one_bit_decode##W##_1(const T* means, const uint8_t* packed, i64 n, i64 bucket, T* out) {                   \
        one_bit_decode<T, false>(means, packed, n, bucket, 1, out);                                                  \
    }                                                                                                                 \
    API void one_bit_add##W##_1(const T* means, const uint8_t* packed, i64 n, i64 bucket, T weight, T* out) {            \
        one_bit_decode<T, true>(means, packed, n, bucket, weight, out);                                              \
    }
ONE_BIT(float, 32) ONE_BIT(double, 64)

// ---- ternary: 0, 1, 2 for -1, 0, 1; five to a byte
template <typename T>
static void ternary_encode(const T* x, i64 n, T clip, T scale, Words key, uint8_t* digits) {
    const i64 block = 4096;
#pragma omp parallel if (n >= PARALLEL_FROM)
    {
        std::vector<uint16_t> random;
#pragma omp for
        for (i64 b = 0; b < (n + block - 1) / block; b++) {
            const i64 start = b * block, size = std::min(block, n - start);
            const uint16_t* draws = random_range(key, start, size, random);
            for (i64 i = 0; i < size; i++) {
                const T most = std::fabs(x[start + i]), cut = most > clip ? clip : most;
                const T u = ((T)draws[i] + (T)0.5) * (T)(1.0 / 65536);
                const int one = cut / scale + u >= (T)1;
                digits[start + i] = (uint8_t)(x[start + i] < 0 ? 1 - one : 1 + one);
            }
        }
    }
}
API void ternary_encode32(const float* x, i64 n, float clip, float scale, uint32_t k0, uint32_t k1, uint8_t* digits) {
    ternary_encode(x, n, clip, scale, {k0, k1}, digits);
}
API void ternary_encode64(const double* x, i64 n, double clip, double scale, uint32_t k0, uint32_t k1, uint8_t* digits) {
    ternary_encode(x, n, clip, scale, {k0, k1}, digits);
}
API void pack_fives(const uint8_t* digits, i64 n, uint8_t* packed) {
    const i64 whole = n / 5;
#pragma omp parallel for if (n >= PARALLEL_FROM)
    for (i64 j = 0; j < whole; j++) {
        const uint8_t* d = digits + 5 * j;
        packed[j] = (uint8_t)(d[0] + 3 * d[1] + 9 * d[2] + 27 * d[3] + 81 * d[4]);
    }
    unsigned rest = 0, power = 1;
    for (i64 i = whole * 5; i < n; i++, power *= 3) rest += power * digits[i];
    if (n % 5) packed[whole] = (uint8_t)rest;
}
template <typename T, bool ADD> static void ternary_decode(const uint8_t* packed, i64 n, T scale, T weight, T* out) {
    const i64 whole = (n + 4) / 5;
#pragma omp parallel for if (n >= PARALLEL_FROM)
    for (i64 j = 0; j < whole; j++) {
        unsigned rest = packed[j];
        const int width = (int)std::min<i64>(5, n - 5 * j);
        for (int p = 0; p < width; p++, rest /= 3) {
            const T value = (T)((int)(rest % 3) - 1) * scale;
            if (ADD) out[5 * j + p] += value * weight; else out[5 * j + p] = value;
        }
    }
}
#define TERNARY(T, W)                                                                                                 \
    API void ternary_decode##W(const uint8_t* packed, i64 n, T scale, T* out) {                                      \
        ternary_decode<T, false>(packed, n, scale, 1, out);                                                          \
    }                                                                                                                 \
    API void ternary_add##W(const uint8_t* packed, i64 n, T scale, T weight, T* out) {                               \
        ternary_decode<T, true>(packed, n, scale, weight, out);                                                      \
    }
TERNARY(float, 32) TERNARY(double, 64)

// ---- top-k: the places of the k largest magnitudes in ascending order; among equals the lower place
template <typename T> struct Candidate { bits_of<T> size; uint32_t place; };

// The k-th largest of a small array, found bit by bit: every round counts, which is a vectorised pass.
template <typename B> static B kth_by_bits(const B* sizes, i64 n, i64 k) {
    B threshold = 0;
    for (int bit = sizeof(B) * 8 - 2; bit >= 0; bit--) {
        const B trial = threshold | ((B)1 << bit);
        i64 count = 0;
        for (i64 i = 0; i < n; i++) count += sizes[i] >= trial;
        if (count >= k) threshold = trial;
    }
    return threshold;
}

template <typename T> static void top_k_small(const T* x, i64 n, i64 k, uint32_t* places, bits_of<T>* sizes) {
    for (i64 i = 0; i < n; i++) sizes[i] = magnitude(x[i]);
    const bits_of<T> threshold = kth_by_bits(sizes, n, k);
    i64 above = 0;
    for (i64 i = 0; i < n; i++) above += sizes[i] > threshold;
    i64 level = k - above, to = 0;
    for (i64 i = 0; i < n; i++) {
        const bool equal = sizes[i] == threshold;
        if (sizes[i] > threshold || (equal && level > 0)) {
            places[to++] = (uint32_t)i;
            level -= equal;
        }
    }
}

// A bound below which no candidate is expected, from a sample; whatever it is, the result is exact.
template <typename T> static bits_of<T> sampled_bound(const T* x, i64 n, i64 k) {
    const i64 wanted = 32768, stride = std::max<i64>(1, n / wanted), count = n / stride;
    if (stride == 1) return 0;
    std::vector<bits_of<T>> sample(count);
    for (i64 i = 0; i < count; i++) sample[i] = magnitude(x[i * stride + (i * 7919) % stride]);
    const double expected = (double)count * k / n;
    const i64 rank = (i64)(expected + 4 * std::sqrt(expected) + 8);
    if (rank >= count) return 0;
    std::nth_element(sample.begin(), sample.begin() + rank, sample.end(), std::greater<bits_of<T>>());
    return sample[rank];
}

template <typename T>
static void candidates(const T* x, i64 n, bits_of<T> bound, std::vector<Candidate<T>>& all) {
    const i64 part = 1 << 17, parts = (n + part - 1) / part;
    std::vector<std::vector<Candidate<T>>> lists(parts);
#pragma omp parallel for schedule(static) if (n >= PARALLEL_FROM)
    for (i64 p = 0; p < parts; p++) {
        const i64 stop = std::min(n, (p + 1) * part);
        std::vector<Candidate<T>>& list = lists[p];
        for (i64 i = p * part; i < stop; i += 32) {
            const i64 end = std::min(stop, i + 32);
            if (end == i + 32 && largest_magnitude(x + i, 32) < bound) continue;
            for (i64 j = i; j < end; j++) {
                const bits_of<T> size = magnitude(x[j]);
                if (size >= bound) list.push_back({size, (uint32_t)j});
            }
        }
    }
    all.clear();
    for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
}

template <typename T> static void top_k_large(const T* x, i64 n, i64 k, uint32_t* places) {
    std::vector<Candidate<T>> all;
    candidates(x, n, sampled_bound(x, n, k), all);
    if ((i64)all.size() < k) candidates(x, n, (bits_of<T>)0, all);
    std::vector<bits_of<T>> sizes(all.size());
    for (size_t i = 0; i < all.size(); i++) sizes[i] = all[i].size;
    std::nth_element(sizes.begin(), sizes.begin() + (k - 1), sizes.end(), std::greater<bits_of<T>>());
    const bits_of<T> threshold = sizes[k - 1];
    i64 level = k, to = 0;
    for (const auto& c : all) level -= c.size > threshold;
    for (const auto& c : all) {
        const bool equal = c.size == threshold;
        if (c.size > threshold || (equal && level > 0)) {
            places[to++] = c.place;
            level -= equal;
        }
    }
}

template <typename T> static void top_k(const T* x, i64 n, i64 bucket, i64 k, i64 k_last, uint32_t* places) {
    const i64 buckets = (n + bucket - 1) / bucket;
    if (bucket > 8192) {
        for (i64 b = 0; b < buckets; b++) {
            const i64 size = std::min(bucket, n - b * bucket);
            top_k_large(x + b * bucket, size, size == bucket ? k : k_last, places + b * k);
        }
        return;
    }
#pragma omp parallel if (n >= PARALLEL_FROM)
    {
        std::vector<bits_of<T>> sizes(bucket);
#pragma omp for
        for (i64 b = 0; b < buckets; b++) {
            const i64 size = std::min(bucket, n - b * bucket);
            top_k_small(x + b * bucket, size, size == bucket ? k : k_last, places + b * k, sizes.data());
        }
    }
}
API void top_k32(const float* x, i64 n, i64 bucket, i64 k, i64 last, uint32_t* places) { top_k(x, n, bucket, k, last, places); }
API void top_k64(const double* x, i64 n, i64 bucket, i64 k, i64 last, uint32_t* places) { top_k(x, n, bucket, k, last, places); }

// ---- 16 bits
API void to_half(const float* x, i64 n, uint16_t* out) {
#pragma omp parallel for if (n >= PARALLEL_FROM)
    for (i64 i = 0; i < n; i++) {
        const _Float16 half = (_Float16)x[i];
        std::memcpy(out + i, &half, 2);
    }
}
API void from_half(const uint16_t* x, i64 n, float* out) {
#pragma omp parallel for if (n >= PARALLEL_FROM)
    for (i64 i = 0; i < n; i++) {
        _Float16 half;
        std::memcpy(&half, x + i, 2);
        out[i] = (float)half;
    }
}
API void to_bfloat(const float* x, i64 n, uint16_t* out) {
#pragma omp parallel for if (n >= PARALLEL_FROM)
    for (i64 i = 0; i < n; i++) {
        uint32_t b;
        std::memcpy(&b, x + i, 4);
        const uint32_t rounded = (b + 0x7FFFu + ((b >> 16) & 1)) >> 16;
        const uint32_t quiet = (b >> 16) | 0x40;  // a NaN must not be rounded into an infinity
        out[i] = (uint16_t)((b & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
    }
}
API void from_bfloat(const uint16_t* x, i64 n, float* out) {
#pragma omp parallel for if (n >= PARALLEL_FROM)
    for (i64 i = 0; i < n; i++) {
        const uint32_t b = (uint32_t)x[i] << 16;
        std::memcpy(out + i, &b, 4);
    }
}
