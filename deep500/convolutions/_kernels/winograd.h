// The transforms of Winograd's F(M x M, 3 x 3); their matrices come from cook_toom.py.
#pragma once
#include "matrices.h"
#include "transformed.h"

template <int N, class F>
INLINE void repeat(F f) {
    [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
        (f(std::integral_constant<int, I>{}), ...);
    }(std::make_integer_sequence<int, N>{});
}

// 0 if rows i and i + 1 are no pair; 1 or -1 if they differ in the signs of the odd or of the even columns alone.
template <class M>
constexpr int pair_at(int i) {
    if (i + 1 >= M::rows) return 0;
    bool odd = true, even = true, some_odd = false, some_even = false;
    for (int j = 0; j < M::columns; j++) {
        double a = M::value[i][j], b = M::value[i + 1][j];
        bool is_odd = j % 2;
        if (a != 0) (is_odd ? some_odd : some_even) = true;
        if (b != (is_odd ? -a : a)) odd = false;
        if (b != (is_odd ? a : -a)) even = false;
    }
    if (!some_odd || !some_even) return 0;
    return odd ? 1 : even ? -1 : 0;
}

template <class M>
constexpr bool is_second(int i) {
    bool second = false;
    for (int row = 1; row <= i; row++) second = !second && pair_at<M>(row - 1) != 0;
    return second;
}

// A sum that is made of known factors: zeros and ones cost nothing.
struct Sum {
    V value{};
    bool empty = true;
    INLINE void add(double factor, V x) {
        if (factor == 0) return;
        V term = factor == 1 ? x : factor == -1 ? -x : (float)factor * x;
        if (empty) value = term;
        else if (factor == 1) value += x;
        else if (factor == -1) value -= x;
        else value += (float)factor * x;
        empty = false;
    }
};

// y = M x
template <class M>
INLINE void apply(const V* x, V* y) {
    repeat<M::rows>([&](auto row) __attribute__((always_inline)) {
        constexpr int i = row;
        constexpr int kind = pair_at<M>(i);
        if constexpr (is_second<M>(i)) return;
        Sum even, odd;
        repeat<M::columns>([&](auto column) __attribute__((always_inline)) {
            constexpr int j = column;
            (j % 2 && kind ? odd : even).add(M::value[i][j], x[j]);
        });
        if constexpr (kind == 0) {
            y[i] = even.value;
        } else {
            y[i] = even.value + odd.value;
            y[i + 1] = kind > 0 ? even.value - odd.value : odd.value - even.value;
        }
    });
}

// y = M^T x
template <class M>
INLINE void apply_transposed(const V* x, V* y) {
    V sums[M::rows], differences[M::rows];
    repeat<M::rows>([&](auto row) __attribute__((always_inline)) {
        constexpr int i = row;
        if constexpr (!is_second<M>(i) && pair_at<M>(i) != 0) {
            sums[i] = x[i] + x[i + 1];
            differences[i] = x[i] - x[i + 1];
        }
    });
    repeat<M::columns>([&](auto column) __attribute__((always_inline)) {
        constexpr int j = column;
        Sum sum;
        repeat<M::rows>([&](auto row) __attribute__((always_inline)) {
            constexpr int i = row;
            constexpr int kind = pair_at<M>(i);
            if constexpr (is_second<M>(i)) return;
            else if constexpr (kind == 0) sum.add(M::value[i][j], x[i]);
            else sum.add(M::value[i][j], (j % 2 == 0) == (kind > 0) ? sums[i] : differences[i]);
        });
        y[j] = sum.value;
    });
}

template <int M>
struct Winograd {
    using BT = typename Matrices<M>::BT;  // of inputs
    using G = typename Matrices<M>::G;    // of filters
    using A = typename Matrices<M>::A;    // of gradients; transposed of outputs
    static constexpr int SIZE = M + 2;
    static constexpr int64_t tile_h = SIZE, tile_w = SIZE, out_h = M, out_w = M;
    static constexpr int64_t positions = SIZE * SIZE, reals = positions;

    static int64_t scratch() { return 0; }

    // to = L x L^T for a square matrix x of vectors
    template <class L, int IN, int OUT>
    static INLINE void both_sides(const V* x, int64_t pitch, float* to, int64_t step) {
        V half[OUT][IN];
        for (int j = 0; j < IN; j++) {
            V column[IN], result[OUT];
            for (int i = 0; i < IN; i++) column[i] = x[i * pitch + j];
            apply<L>(column, result);
            for (int i = 0; i < OUT; i++) half[i][j] = result[i];
        }
        for (int i = 0; i < OUT; i++) {
            V result[OUT];
            apply<L>(half[i], result);
            for (int j = 0; j < OUT; j++) store(to + (i * OUT + j) * step, result[j]);
        }
    }

    // to = L^T x L
    template <class L, int OUT>
    static INLINE void both_sides_transposed(const float* x, int64_t step, V* to, int64_t pitch) {
        V half[OUT][SIZE];
        for (int j = 0; j < SIZE; j++) {
            V column[SIZE], result[OUT];
            for (int i = 0; i < SIZE; i++) column[i] = load(x + (i * SIZE + j) * step);
            apply_transposed<L>(column, result);
            for (int i = 0; i < OUT; i++) half[i][j] = result[i];
        }
        for (int i = 0; i < OUT; i++) apply_transposed<L>(half[i], to + i * pitch);
    }

    void input(const V* tile, int64_t pitch, float* to, int64_t step, V*) const {
        both_sides<BT, SIZE, SIZE>(tile, pitch, to, step);
    }
    void gradient(const V* tile, int64_t pitch, float* to, int64_t step, V*) const {
        both_sides<A, M, SIZE>(tile, pitch, to, step);
    }
    void filter(const V* taps, float* to, int64_t step, V*) const { both_sides<G, 3, SIZE>(taps, 3, to, step); }
    void output(const float* from, int64_t step, V* tile, int64_t pitch, V*) const {
        both_sides_transposed<A, M>(from, step, tile, pitch);
    }
    void taps(const float* from, int64_t step, V* to, V*) const { both_sides_transposed<G, 3>(from, step, to, 3); }
};
