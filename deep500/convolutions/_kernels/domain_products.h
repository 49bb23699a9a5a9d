// Products of blocks of transformed numbers, position by position; the first `reals` positions are real, the others
// are pairs of complex numbers.
#pragma once
#include "product.h"

class DomainProducts {
  protected:
    int64_t positions, reals;
    int64_t inputs, outputs;                 // channels of one group
    int64_t chunk, chunks, channels, lines;  // filters per product; channels and filters in whole vectors
    int64_t in_step, out_step;               // between positions
    float *filters, *in_block, *out_block;

    DomainProducts(int64_t positions, int64_t reals) : positions(positions), reals(reals) {}

    float* filter_place(int64_t chunk_number, int64_t position, int64_t input) const {
        return filters + ((chunk_number * positions + position) * inputs + input) * chunk;
    }

    template <int R, int VECTORS, class Left, class Right>
    INLINE void positions_of(int64_t position, int64_t count, Left left, Right right, float* to, int64_t step,
                             int64_t line_step, bool add) const {
        V sums[R][VECTORS] = {};
        if (position < reals) {
            multiply(sums, count, left(position), right(position));
            put<R, VECTORS>(sums, to, line_step, add);
            return;
        }
        // the first factor times the conjugate of the second one
        multiply(sums, count, left(position), right(position));
        multiply(sums, count, left(position + 1), right(position + 1));
        put<R, VECTORS>(sums, to, line_step, add);
        V imaginary[R][VECTORS] = {};
        multiply(imaginary, count, left(position + 1), right(position));
        multiply<R, VECTORS, true>(imaginary, count, left(position), right(position + 1));
        put<R, VECTORS>(imaginary, to + step, line_step, add);
    }

    template <int R, int VECTORS>
    __attribute__((noinline)) void forward_product(int64_t position, int64_t number, const float* from, int64_t tile,
                                                   float* to) const {
        auto left = [&](int64_t at) { return Strided<R>(from + at * in_step + tile * channels, channels); };
        auto right = [&](int64_t at) { return Lines{filter_place(number, at, 0), chunk}; };
        positions_of<R, VECTORS>(position, inputs, left, right, to + position * out_step + tile * chunk, out_step, chunk,
                                 false);
    }

    template <int R, int VECTORS>
    __attribute__((noinline)) void gradient_product(int64_t position, int64_t number, int64_t channel, int64_t count,
                                                    bool add) const {
        auto left = [&](int64_t at) { return Packed{in_block + at * in_step + channel, channels}; };
        auto right = [&](int64_t at) { return Lines{out_block + at * out_step + number * chunk, lines}; };
        positions_of<R, VECTORS>(position, count, left, right, filter_place(number, position, channel), inputs * chunk,
                                 chunk, add);
    }

    int64_t products() const { return reals + (positions - reals) / 2; }
    int64_t position_of(int64_t product) const {
        return product < reals ? product : 2 * product - reals;
    }

    template <class F>
    INLINE void with_sizes(int64_t rows, F f) const {
        with_rows(rows, [&]<int R>() {
            if (chunk == LANES) f.template operator()<R, 1>();
            else f.template operator()<R, 2>();
        });
    }

    void multiply_block(int64_t number, int64_t count, const float* from, float* to) const {
        Blocks blocks(count);
        for (int64_t product = 0; product < products(); product++)
            for (int64_t b = 0; b < blocks.blocks; b++)
                with_sizes(blocks.rows(b), [&]<int R, int VECTORS>() {
                    forward_product<R, VECTORS>(position_of(product), number, from, blocks.first(b), to);
                });
    }

    void add_products(int64_t count, bool add) const {
        Blocks blocks(inputs);
        int64_t each = products();
#pragma omp for schedule(static)
        for (int64_t item = 0; item < chunks * each; item++)
            for (int64_t b = 0; b < blocks.blocks; b++)
                with_sizes(blocks.rows(b), [&]<int R, int VECTORS>() {
                    gradient_product<R, VECTORS>(position_of(item % each), item / each, blocks.first(b), count, add);
                });
    }
};
