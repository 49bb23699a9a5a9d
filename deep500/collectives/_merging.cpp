// The inner loops of sparse collectives. Each has a twin in NumPy (_merging.py) that gives the same bits: where both
// streams have an entry, the first one's value comes first; a value without a partner is added to zero, so that -0 is 0.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define API extern "C" __attribute__((visibility("default")))

typedef int64_t i64;
typedef uint32_t u32;

template <typename T> using bits_of = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// The number, or zero. Compilers make a branch of `wanted ? x : 0`, which costs more than the rest of a step.
template <typename T> static inline T masked(T x, bool wanted) {
    bits_of<T> b;
    std::memcpy(&b, &x, sizeof b);
    b &= -(bits_of<T>)wanted;
    std::memcpy(&x, &b, sizeof x);
    return x;
}

// Two streams with ascending indices, as far as they are merged.
template <typename T> struct Lane {
    const u32 *ia, *ib;
    const T *va, *vb;
    i64 na, nb;
    u32* io;
    T* vo;
    i64 a = 0, b = 0, n = 0;

    // One entry of the sum, without branches that depend on the data.
    inline void step() {
        const u32 x = ia[a], y = ib[b];
        const bool left = x <= y, right = y <= x;
        io[n] = x < y ? x : y;
        vo[n] = masked(va[a], left) + masked(vb[b], right);
        a += left;
        b += right;
        n++;
    }
    // So many steps can be done before one of the streams may end.
    inline i64 safe() const { return std::min(na - a, nb - b); }
    void finish() {
        while (safe() > 0) step();
        for (; a < na; a++, n++) { io[n] = ia[a]; vo[n] = va[a] + T(0); }
        for (; b < nb; b++, n++) { io[n] = ib[b]; vo[n] = vb[b] + T(0); }
    }
};

// Ranges of indices are merged in turn, so that no step waits for the one before it; then they are moved together.
template <typename T>
static void merge(i64 na, const u32* ia, const T* va, i64 nb, const u32* ib, const T* vb, u32* io, T* vo, i64* count) {
    const int lanes = 2;
    Lane<T> lane[lanes];
    i64 a[lanes + 1] = {0}, b[lanes + 1] = {0};
    a[lanes] = na;
    b[lanes] = nb;
    for (int k = 1; k < lanes; k++) {
        a[k] = na * k / lanes;
        b[k] = na ? std::lower_bound(ib, ib + nb, ia[a[k]]) - ib : nb;
    }
    for (int k = 0; k < lanes; k++) {
        const i64 start = a[k] + b[k];
        const i64 of_a = a[k + 1] - a[k], of_b = b[k + 1] - b[k];
        lane[k] = {ia + a[k], ib + b[k], va + a[k], vb + b[k], of_a, of_b, io + start, vo + start};
    }
    Lane<T> first = lane[0], second = lane[1];
    for (;;) {
        const i64 steps = std::min(first.safe(), second.safe());
        if (steps <= 0) break;
        for (i64 i = 0; i < steps; i++) {
            first.step();
            second.step();
        }
    }
    lane[0] = first;
    lane[1] = second;
    i64 n = 0;
    for (int k = 0; k < lanes; k++) {
        const i64 start = a[k] + b[k];
        lane[k].finish();
        const i64 length = lane[k].n;
        if (n != start) {
            std::memmove(io + n, io + start, length * sizeof *io);
            std::memmove(vo + n, vo + start, length * sizeof *vo);
        }
        n += length;
    }
    *count = n;
}

// The values of a stream are added to a vector.
template <typename T> static void add(i64 n, const u32* indices, const T* values, T* total) {
    for (i64 i = 0; i < n; i++) total[indices[i]] += values[i];
}

API void merge32(i64 na, const u32* ia, const float* va, i64 nb, const u32* ib, const float* vb, u32* io, float* vo,
                 i64* count) {
    merge<float>(na, ia, va, nb, ib, vb, io, vo, count);
}
API void merge64(i64 na, const u32* ia, const double* va, i64 nb, const u32* ib, const double* vb, u32* io, double* vo,
                 i64* count) {
    merge<double>(na, ia, va, nb, ib, vb, io, vo, count);
}
API void add32(i64 n, const u32* indices, const float* values, float* total) { add<float>(n, indices, values, total); }
API void add64(i64 n, const u32* indices, const double* values, double* total) { add<double>(n, indices, values, total); }
