// Fourier transforms of real tiles, LANES channels together; their sizes are products of twos and at most one three.
#pragma once
#include <array>
#include <cmath>

#include "transformed.h"

struct Complex {
    V re, im;
};

INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }

struct Twiddle {
    float re, im;
};

// exp(-2 pi i k / N)
template <int N>
inline const std::array<Twiddle, N> TWIDDLES = [] {
    std::array<Twiddle, N> all;
    for (int k = 0; k < N; k++) {
        double angle = -2 * M_PI * k / N;
        all[k] = {(float)std::cos(angle), (float)std::sin(angle)};
    }
    return all;
}();

template <bool INVERSE>
INLINE Complex turned(Complex a, Twiddle w) {
    float im = INVERSE ? -w.im : w.im;
    return {a.re * w.re - a.im * im, a.re * im + a.im * w.re};
}

// a * -i, or a * i for the inverse
template <bool INVERSE>
INLINE Complex quarter(Complex a) {
    if constexpr (INVERSE) return {-a.im, a.re};
    else return {a.im, -a.re};
}

// out = the transform of in[0], in[step] …; without a factor for the inverse
template <int N, bool INVERSE>
inline void fft(const Complex* in, int64_t step, Complex* out) {
    if constexpr (N == 1) {
        out[0] = in[0];
    } else if constexpr (N % 3 == 0) {
        constexpr int PART = N / 3;
        for (int q = 0; q < 3; q++) fft<PART, INVERSE>(in + q * step, 3 * step, out + q * PART);
        for (int k = 0; k < PART; k++) {
            Complex a = out[k];
            Complex b = turned<INVERSE>(out[k + PART], TWIDDLES<N>[k]);
            Complex c = turned<INVERSE>(out[k + 2 * PART], TWIDDLES<N>[2 * k]);
            Complex sum = b + c, apart = quarter<INVERSE>(b - c);
            const float half = 0.5f, root = 0.866025403784438647f;
            Complex middle = {a.re - half * sum.re, a.im - half * sum.im};
            Complex side = {root * apart.re, root * apart.im};
            out[k] = a + sum, out[k + PART] = middle + side, out[k + 2 * PART] = middle - side;
        }
    } else if constexpr (N % 4 == 0) {
        constexpr int PART = N / 4;
        for (int q = 0; q < 4; q++) fft<PART, INVERSE>(in + q * step, 4 * step, out + q * PART);
        for (int k = 0; k < PART; k++) {
            Complex a = out[k], b = out[k + PART], c = out[k + 2 * PART], d = out[k + 3 * PART];
            if (PART > 1) {
                b = turned<INVERSE>(b, TWIDDLES<N>[k]);
                c = turned<INVERSE>(c, TWIDDLES<N>[2 * k]);
                d = turned<INVERSE>(d, TWIDDLES<N>[3 * k]);
            }
            Complex even = a + c, odd = a - c, sum = b + d, apart = quarter<INVERSE>(b - d);
            out[k] = even + sum, out[k + PART] = odd + apart;
            out[k + 2 * PART] = even - sum, out[k + 3 * PART] = odd - apart;
        }
    } else {
        constexpr int PART = N / 2;
        for (int q = 0; q < 2; q++) fft<PART, INVERSE>(in + q * step, 2 * step, out + q * PART);
        for (int k = 0; k < PART; k++) {
            Complex a = out[k], b = turned<INVERSE>(out[k + PART], TWIDDLES<N>[k]);
            out[k] = a + b, out[k + PART] = a - b;
        }
    }
}

using Fft = void (*)(const Complex*, int64_t, Complex*);

template <bool INVERSE, int... N>
Fft fft_of(int64_t size, std::integer_sequence<int, N...>) {
    Fft found = nullptr;
    ((size == N ? (void)(found = fft<N, INVERSE>) : (void)0), ...);
    return found;
}

using FftSizes = std::integer_sequence<int, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512>;

// The spectrum of a real tile is symmetric. Kept are, in this order: the four positions that are real (rows 0 and
// tile_h / 2 of columns 0 and tile_w / 2), the other upper halves of these columns, and all of the columns between.
struct Fourier {
    int64_t tile_h, tile_w, out_h, out_w, positions;
    int64_t kernel_h, kernel_w, dilation_h, dilation_w, width;
    Fft down, across, up, back;
    static constexpr int64_t reals = 4;

    Fourier(const Problem& p, int64_t tile_h, int64_t tile_w)
        : tile_h(tile_h), tile_w(tile_w), out_h(tile_h - p.extent_h() + 1), out_w(tile_w - p.extent_w() + 1),
          positions(tile_h * tile_w), kernel_h(p.kernel_h), kernel_w(p.kernel_w), dilation_h(p.dilation_h),
          dilation_w(p.dilation_w), width(tile_w / 2 + 1), down(fft_of<false>(tile_h, FftSizes{})),
          across(fft_of<false>(tile_w, FftSizes{})), up(fft_of<true>(tile_h, FftSizes{})),
          back(fft_of<true>(tile_w, FftSizes{})) {}

    // spectra of all rows, one line before and one after a transform, a tile of filters
    int64_t scratch() const {
        int64_t line = std::max(tile_h, tile_w);
        return 2 * tile_h * width + 4 * line + tile_h * tile_w;
    }

    struct Work {
        Complex *rows, *before, *after;
        V* tile;
    };

    Work work(V* scratch) const {
        Complex* rows = reinterpret_cast<Complex*>(scratch);
        Complex* before = rows + tile_h * width;
        Complex* after = before + std::max(tile_h, tile_w);
        return {rows, before, after, reinterpret_cast<V*>(after + std::max(tile_h, tile_w))};
    }

    int64_t pair(int64_t number) const { return reals + 2 * number; }
    // the place of row k of column 0 (side 0) or tile_w / 2 (side 1), and of any row of a column between
    int64_t at_side(int64_t side, int64_t k) const { return pair(side * (tile_h / 2 - 1) + k - 1); }
    int64_t between(int64_t column, int64_t k) const { return pair(tile_h - 2 + (column - 1) * tile_h + k); }

    static INLINE void keep(Complex a, float scale, float* to, int64_t step) {
        store(to, scale * a.re);
        store(to + step, scale * a.im);
    }
    static INLINE Complex kept(const float* from, int64_t step) { return {load(from), load(from + step)}; }

    // The spectrum of a tile whose first height x some_width elements are not 0. Two rows are one complex transform.
    void transform(const V* tile, int64_t pitch, int64_t height, int64_t some_width, float scale, float* to, int64_t step,
                   const Work& w) const {
        for (int64_t y = 0; y < tile_h; y += 2) {
            Complex *first = w.rows + y * width, *second = first + width;
            if (y >= height) {
                std::memset(first, 0, 2 * width * sizeof(Complex));
                continue;
            }
            for (int64_t x = 0; x < tile_w; x++) {
                bool inside = x < some_width;
                w.before[x] = {inside ? tile[y * pitch + x] : V{},
                               inside && y + 1 < height ? tile[(y + 1) * pitch + x] : V{}};
            }
            across(w.before, 1, w.after);
            for (int64_t k = 0; k < width; k++) {
                Complex a = w.after[k], b = w.after[k ? tile_w - k : 0];
                first[k] = {0.5f * (a.re + b.re), 0.5f * (a.im - b.im)};
                second[k] = {0.5f * (a.im + b.im), 0.5f * (b.re - a.re)};
            }
        }
        columns(scale, to, step, w);
    }

    void columns(float scale, float* to, int64_t step, const Work& w) const {
        for (int64_t x = 1; x < tile_w / 2; x++) {
            down(w.rows + x, width, w.after);
            for (int64_t k = 0; k < tile_h; k++) keep(w.after[k], scale, to + between(x, k) * step, step);
        }
        // the two columns at the sides are real before: one complex transform for both
        for (int64_t y = 0; y < tile_h; y++)
            w.before[y] = {w.rows[y * width].re, w.rows[y * width + tile_w / 2].re};
        down(w.before, 1, w.after);
        int64_t middle = tile_h / 2;
        store(to, scale * w.after[0].re);
        store(to + step, scale * w.after[middle].re);
        store(to + 2 * step, scale * w.after[0].im);
        store(to + 3 * step, scale * w.after[middle].im);
        for (int64_t k = 1; k < middle; k++) {
            Complex a = w.after[k], b = w.after[tile_h - k];
            keep({a.re + b.re, a.im - b.im}, 0.5f * scale, to + at_side(0, k) * step, step);
            keep({a.im + b.im, b.re - a.re}, 0.5f * scale, to + at_side(1, k) * step, step);
        }
    }

    // The first height x some_width elements of the tile with this spectrum.
    void inverse(const float* from, int64_t step, int64_t height, int64_t some_width, V* tile, int64_t pitch,
                 const Work& w) const {
        for (int64_t x = 1; x < tile_w / 2; x++) {
            for (int64_t k = 0; k < tile_h; k++) w.before[k] = kept(from + between(x, k) * step, step);
            up(w.before, 1, w.after);
            for (int64_t y = 0; y < height; y++) w.rows[y * width + x] = w.after[y];
        }
        sides(from, step, height, w);
        for (int64_t y = 0; y < height; y += 2) {
            bool both = y + 1 < height;
            for (int64_t k = 0; k < width; k++) {
                Complex a = w.rows[y * width + k], b = both ? w.rows[(y + 1) * width + k] : Complex{};
                w.before[k] = {a.re - b.im, a.im + b.re};
                if (k && k < tile_w / 2) w.before[tile_w - k] = {a.re + b.im, b.re - a.im};
            }
            back(w.before, 1, w.after);
            for (int64_t x = 0; x < some_width; x++) {
                tile[y * pitch + x] = w.after[x].re;
                if (both) tile[(y + 1) * pitch + x] = w.after[x].im;
            }
        }
    }

    void sides(const float* from, int64_t step, int64_t height, const Work& w) const {
        int64_t middle = tile_h / 2;
        w.before[0] = {load(from), load(from + 2 * step)};
        w.before[middle] = {load(from + step), load(from + 3 * step)};
        for (int64_t k = 1; k < middle; k++) {
            Complex a = kept(from + at_side(0, k) * step, step), b = kept(from + at_side(1, k) * step, step);
            w.before[k] = {a.re - b.im, a.im + b.re};
            w.before[tile_h - k] = {a.re + b.im, b.re - a.im};
        }
        up(w.before, 1, w.after);
        for (int64_t y = 0; y < height; y++) {
            w.rows[y * width] = {w.after[y].re, V{}};
            w.rows[y * width + tile_w / 2] = {w.after[y].im, V{}};
        }
    }

    void input(const V* tile, int64_t pitch, float* to, int64_t step, V* scratch) const {
        transform(tile, pitch, tile_h, tile_w, 1, to, step, work(scratch));
    }
    void gradient(const V* tile, int64_t pitch, float* to, int64_t step, V* scratch) const {
        transform(tile, pitch, out_h, out_w, 1.0f / positions, to, step, work(scratch));
    }
    void filter(const V* taps, float* to, int64_t step, V* scratch) const {
        Work w = work(scratch);
        std::memset(w.tile, 0, positions * sizeof(V));
        for (int64_t r = 0; r < kernel_h; r++)
            for (int64_t s = 0; s < kernel_w; s++)
                w.tile[r * dilation_h * tile_w + s * dilation_w] = taps[r * kernel_w + s];
        int64_t height = tile_h - out_h + 1, some_width = tile_w - out_w + 1;
        transform(w.tile, tile_w, height, some_width, 1.0f / positions, to, step, w);
    }
    void output(const float* from, int64_t step, V* tile, int64_t pitch, V* scratch) const {
        inverse(from, step, out_h, out_w, tile, pitch, work(scratch));
    }
    void taps(const float* from, int64_t step, V* to, V* scratch) const {
        Work w = work(scratch);
        inverse(from, step, tile_h - out_h + 1, tile_w - out_w + 1, w.tile, tile_w, w);
        for (int64_t r = 0; r < kernel_h; r++)
            for (int64_t s = 0; s < kernel_w; s++)
                to[r * kernel_w + s] = w.tile[r * dilation_h * tile_w + s * dilation_w];
    }
};
