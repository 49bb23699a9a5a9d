// The inner loops of sparse collectives. Each has a twin in NumPy (_merging.py) that gives the same bits: where both
// streams have an entry, the first one's value comes first.
#include <cstdint>

#define API extern "C" __attribute__((visibility("default")))

typedef int64_t i64;
typedef uint32_t u32;

// Two streams with ascending indices become one; `count` is how many entries it has. One pass, without branches that
// depend on the data.
template <typename T>
static void merge(i64 na, const u32* ia, const T* va, i64 nb, const u32* ib, const T* vb, u32* io, T* vo, i64* count) {
    i64 a = 0, b = 0, n = 0;
    while (a < na && b < nb) {
        const u32 x = ia[a], y = ib[b];
        const bool left = x <= y, right = y <= x;
        const T p = va[a], q = vb[b];
        const T sum = p + q;
        io[n] = left ? x : y;
        vo[n] = left ? (right ? sum : p) : q;
        a += left;
        b += right;
        n++;
    }
    for (; a < na; a++, n++) { io[n] = ia[a]; vo[n] = va[a]; }
    for (; b < nb; b++, n++) { io[n] = ib[b]; vo[n] = vb[b]; }
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
