// Floats added as whole numbers, so that no order of leaves and ranks matters.
#pragma once
#include "vectors.h"

// a double near this number has its unit in the last place at 1: adding it rounds to a whole number, ties to even
constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52

template <typename To, typename From> static inline To bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "one width");
    To y;
    std::memcpy(&y, &x, sizeof y);
    return y;
}

struct Whole {
    double scale, limit;
    // the largest magnitude that was beyond the limit, or NaN; 0 if none was
    double* beyond;

    void add(const float* x, i64 n, i64* total) const {
        bool is_beyond = false;
        for (i64 i = 0; i < n; i++) {
            const double y = (double)x[i] * scale;
            is_beyond |= !(std::fabs(y) < limit);
            total[i] += bits<i64>(y + ROUNDER) - bits<i64>(ROUNDER);
        }
        if (is_beyond) note(x, n);
    }

    void note(const float* x, i64 n) const {
        for (i64 i = 0; i < n; i++) {
            if (std::fabs(x[i] * scale) < limit || std::isnan(*beyond)) continue;
            *beyond = std::isnan(x[i]) ? (double)x[i] : std::max(*beyond, (double)std::fabs(x[i]));
        }
    }
};
