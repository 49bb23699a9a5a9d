// Patches of the input as a matrix, whose product with the filters is the convolution.
#pragma once
#include <omp.h>

#include "planes.h"

// y from x and w. The patches of `images` images are held at once.
class Patches {
    Problem p;
    int64_t images;  // at once
    int64_t entries, pixels;
    float *weights, *patches;

    // panel[entry][pixel] for PAIR pixels from `first` on
    void build(const float* x, int64_t first, int64_t count, float* panel) const {
        Grid grid{p.out_h, p.out_w, p.out_w, 0, 0, 0};
        int64_t image = p.channels * p.height * p.width;
        if (count < PAIR) std::memset(panel, 0, entries * PAIR * sizeof(float));
        grid.runs(first, count, [&](int64_t lane, int64_t length, int64_t) {
            int64_t j = (first + lane) % p.out_w, row = (first + lane) / p.out_w;
            const float* source = x + row / p.out_h * image;
            int64_t y = row % p.out_h * p.stride_h - p.top, column = j * p.stride_w - p.left;
            float* to = panel + lane;
            for (int64_t c = 0; c < p.group_channels(); c++)
                for (int64_t r = 0; r < p.kernel_h; r++)
                    for (int64_t s = 0; s < p.kernel_w; s++, to += PAIR)
                        line(source + c * p.height * p.width, y + r * p.dilation_h, column + s * p.dilation_w, length,
                             to);
        });
    }

    INLINE void line(const float* plane, int64_t y, int64_t x, int64_t length, float* to) const {
        if (y < 0 || y >= p.height) {
            std::memset(to, 0, length * sizeof(float));
            return;
        }
        const float* row = plane + y * p.width;
        if (p.stride_w == 1) {
            for (int64_t j = 0; j < length; j += LANES)
                store_part(to + j, load_inside(row, x + j, p.width), length - j, false);
            return;
        }
        for (int64_t j = 0; j < length; j++, x += p.stride_w) to[j] = x >= 0 && x < p.width ? row[x] : 0;
    }

    void multiply_panel(const float* panel, int64_t first, int64_t count, float* y, bool add) const {
        Blocks blocks(p.group_filters());
        Grid grid{p.out_h, p.out_w, p.out_w, p.filters * pixels, p.out_w, 1};
        for (int64_t block = 0; block < blocks.blocks; block++)
            with_rows(blocks.rows(block), [&]<int R>() { one<R>(panel, blocks.first(block), grid, first, count, y, add); });
    }

    template <int R>
    __attribute__((noinline)) void one(const float* panel, int64_t row, const Grid& grid, int64_t first, int64_t count,
                                       float* y, bool add) const {
        V sums[R][2] = {};
        multiply(sums, entries, Packed{weights + row * entries, R}, Lines{panel, PAIR});
        put_pixels<R, 2>(sums, grid, first, count, y + row * pixels, pixels, add);
    }

    void pack(int64_t block, const float* w) const {
        Blocks blocks(p.group_filters());
        int64_t first = blocks.first(block), rows = blocks.rows(block);
        float* to = weights + first * entries;
        for (int64_t entry = 0; entry < entries; entry++)
            for (int64_t row = 0; row < rows; row++) *to++ = w[(first + row) * entries + entry];
    }

  public:
    Patches(const Problem& problem, int64_t images, Arena& arena) : p(problem), images(images) {
        entries = p.group_channels() * p.taps();
        pixels = p.out_h * p.out_w;
        weights = arena.take<float>(p.group_filters() * entries);
        patches = arena.take<float>(parts(images * pixels, PAIR) * entries * PAIR);
    }

    void run(const Arrays& arrays, int threads) const {
#pragma omp parallel num_threads(threads)
        for (int64_t group = 0; group < p.groups; group++) {
            const float* w = arrays.b + group * p.group_filters() * entries;
#pragma omp for schedule(static)
            for (int64_t block = 0; block < Blocks(p.group_filters()).blocks; block++) pack(block, w);
            for (int64_t n = 0; n < p.batch; n += images) {
                const float* x = arrays.a + (n * p.channels + group * p.group_channels()) * p.height * p.width;
                float* y = arrays.out + (n * p.filters + group * p.group_filters()) * pixels;
                some_images(x, y, std::min(images, p.batch - n), arrays.accumulate);
            }
        }
    }

  private:
    void some_images(const float* x, float* y, int64_t count, bool add) const {
        int64_t total = count * pixels, panel_size = entries * PAIR;
        auto in_panel = [&](int64_t panel) { return std::min<int64_t>(PAIR, total - panel * PAIR); };
#pragma omp for schedule(static)
        for (int64_t i = 0; i < parts(total, PAIR); i++) build(x, i * PAIR, in_panel(i), patches + i * panel_size);
#pragma omp for schedule(static)
        for (int64_t i = 0; i < parts(total, PAIR); i++)
            multiply_panel(patches + i * panel_size, i * PAIR, in_panel(i), y, add);
    }
};

// dx from dy and w: the patches of a gradient are a product, and are added up where they overlap.
class PatchesData {
    Problem p;
    int64_t entries, pixels, pitch;
    float *weights, *patches, *panels;

    // patches[entry][pixel] = sum over filters of w[filter][entry] * dy[filter][pixel]
    template <int R>
    __attribute__((noinline)) void one(const float* panel, int64_t entry, int64_t first) const {
        V sums[R][2] = {};
        multiply(sums, p.group_filters(), Packed{weights + entry * p.group_filters(), R}, Lines{panel, PAIR});
        put<R, 2>(sums, patches + entry * pitch + first, pitch, false);
    }

    void panel(const float* dy, int64_t first, float* to) const {
        for (int64_t filter = 0; filter < p.group_filters(); filter++)
            for (int v = 0; v < 2; v++)
                store(to + filter * PAIR + v * LANES, load_inside(dy + filter * pixels, first + v * LANES, pixels));
        Blocks blocks(entries);
        for (int64_t block = 0; block < blocks.blocks; block++)
            with_rows(blocks.rows(block), [&]<int R>() { one<R>(to, blocks.first(block), first); });
    }

    void pack(int64_t block, const float* w) const {
        Blocks blocks(entries);
        int64_t first = blocks.first(block), rows = blocks.rows(block);
        float* to = weights + first * p.group_filters();
        for (int64_t filter = 0; filter < p.group_filters(); filter++)
            for (int64_t row = 0; row < rows; row++) *to++ = w[filter * entries + first + row];
    }

    void fold(int64_t channel, float* dx, bool add) const {
        if (!add) std::memset(dx, 0, p.height * p.width * sizeof(float));
        for (int64_t r = 0; r < p.kernel_h; r++)
            for (int64_t s = 0; s < p.kernel_w; s++) {
                const float* from = patches + ((channel * p.kernel_h + r) * p.kernel_w + s) * pitch;
                for (int64_t i = 0; i < p.out_h; i++, from += p.out_w) {
                    int64_t y = i * p.stride_h + r * p.dilation_h - p.top;
                    int64_t x = s * p.dilation_w - p.left;
                    if (y < 0 || y >= p.height) continue;
                    int64_t first = x >= 0 ? 0 : parts(-x, p.stride_w);
                    int64_t last = x >= p.width ? 0 : std::min(p.out_w, parts(p.width - x, p.stride_w));
                    float* row = dx + y * p.width + x;
                    for (int64_t j = first; j < last; j++) row[j * p.stride_w] += from[j];
                }
            }
    }

  public:
    PatchesData(const Problem& problem, int threads, Arena& arena) : p(problem) {
        entries = p.group_channels() * p.taps();
        pixels = p.out_h * p.out_w;
        pitch = rounded(pixels, PAIR);
        weights = arena.take<float>(p.group_filters() * entries);
        patches = arena.take<float>(entries * pitch);
        panels = arena.take<float>(threads * p.group_filters() * PAIR);
    }

    void run(const Arrays& arrays, int threads) const {
#pragma omp parallel num_threads(threads)
        for (int64_t group = 0; group < p.groups; group++) {
            const float* w = arrays.b + group * p.group_filters() * entries;
#pragma omp for schedule(static)
            for (int64_t block = 0; block < Blocks(entries).blocks; block++) pack(block, w);
            for (int64_t n = 0; n < p.batch; n++) {
                const float* dy = arrays.a + (n * p.groups + group) * p.group_filters() * pixels;
                float* dx = arrays.out + (n * p.groups + group) * p.group_channels() * p.height * p.width;
#pragma omp for schedule(static)
                for (int64_t first = 0; first < pitch; first += PAIR)
                    panel(dy, first, panels + omp_get_thread_num() * p.group_filters() * PAIR);
#pragma omp for schedule(static)
                for (int64_t c = 0; c < p.group_channels(); c++)
                    fold(c, dx + c * p.height * p.width, arrays.accumulate);
            }
        }
    }
};

// dw from x and dy: a product over the pixels of one image after another.
class PatchesFilter {
    Problem p;
    int64_t entries, pixels;
    int64_t* offsets;
    float *patches, *dy;

    void build(int64_t entry, const float* x) const {
        int64_t s = entry % p.kernel_w, r = entry / p.kernel_w % p.kernel_h, c = entry / p.taps();
        float* to = patches + entry * pixels;
        for (int64_t i = 0; i < p.out_h; i++)
            for (int64_t j = 0; j < p.out_w; j++) {
                int64_t row = i * p.stride_h + r * p.dilation_h - p.top;
                int64_t column = j * p.stride_w + s * p.dilation_w - p.left;
                bool inside = row >= 0 && row < p.height && column >= 0 && column < p.width;
                *to++ = inside ? x[(c * p.height + row) * p.width + column] : 0;
            }
        offsets[entry] = entry * pixels;
    }

  public:
    PatchesFilter(const Problem& problem, Arena& arena) : p(problem) {
        entries = p.group_channels() * p.taps();
        pixels = p.out_h * p.out_w;
        offsets = arena.take<int64_t>(entries);
        patches = arena.take<float>(entries * pixels);
        dy = arena.take<float>(rounded(p.group_filters(), PAIR) * pixels);
    }

    void run(const Arrays& arrays, int threads) const {
#pragma omp parallel num_threads(threads)
        for (int64_t group = 0; group < p.groups; group++)
            for (int64_t n = 0; n < p.batch; n++) {
                const float* x = arrays.a + (n * p.groups + group) * p.group_channels() * p.height * p.width;
                const float* slope = arrays.b + (n * p.groups + group) * p.group_filters() * pixels;
                interleave(slope, p.group_filters(), pixels, dy);
#pragma omp for schedule(static)
                for (int64_t entry = 0; entry < entries; entry++) build(entry, x);
                float* dw = arrays.out + group * p.group_filters() * entries;
                bool add = arrays.accumulate || n;
                FilterProduct{patches, offsets, entries, p.group_filters(), 1, 0, pixels, dy, dw, add}.run();
            }
    }
};
