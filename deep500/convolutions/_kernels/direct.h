// Direct convolution: pixels in the lanes, channels in the rows of a block, taps and input channels in its sum.
#pragma once
#include <vector>

#include "planes.h"

struct Tap {
    int64_t r, s, offset;
};

// Outputs that share their taps: all of a forward, one phase of the strides of a data gradient.
struct Pass {
    std::vector<Tap> taps;
    Grid grid;
    int64_t place;  // of the first pixel in the result
    float* weights = nullptr;
    int64_t* offsets = nullptr;
};

class Direct {
    Problem p;
    bool data;
    int64_t inputs, outputs;  // channels of one group
    Planes planes;
    std::vector<Pass> passes;
    float* padded = nullptr;

    void plan_forward() {
        planes = forward_planes(p);
        Pass pass{{}, {p.out_h, planes.pitch, p.out_w, 0, p.out_w, 1}, 0};
        for (int64_t r = 0; r < p.kernel_h; r++)
            for (int64_t s = 0; s < p.kernel_w; s++)
                pass.taps.push_back({r, s, planes.offset(r * p.dilation_h, s * p.dilation_w)});
        passes.push_back(pass);
    }

    // dx[phase + step * i] takes dy[i + shift] of the taps whose shift is whole.
    static bool shift(int64_t phase, int64_t pad, int64_t tap, int64_t dilation, int64_t step, int64_t& whole) {
        int64_t distance = phase + pad - tap * dilation;
        if (distance % step) return false;
        whole = distance / step;
        return true;
    }

    static void range(int64_t taps, int64_t pad, int64_t dilation, int64_t step, int64_t& least, int64_t& most) {
        least = INT64_MAX, most = INT64_MIN;
        for (int64_t phase = 0; phase < step; phase++)
            for (int64_t tap = 0; tap < taps; tap++) {
                int64_t whole;
                if (!shift(phase, pad, tap, dilation, step, whole)) continue;
                least = std::min(least, whole), most = std::max(most, whole);
            }
    }

    void plan_data() {
        int64_t top, bottom, left, right;
        range(p.kernel_h, p.top, p.dilation_h, p.stride_h, top, bottom);
        range(p.kernel_w, p.left, p.dilation_w, p.stride_w, left, right);
        int64_t rows = parts(p.height, p.stride_h) + bottom - top;
        int64_t pitch = parts(p.width, p.stride_w) + right - left;
        planes = {p.out_h, p.out_w, 1, 1, top, left, rows, pitch};
        for (int64_t y = 0; y < std::min(p.stride_h, p.height); y++)
            for (int64_t x = 0; x < std::min(p.stride_w, p.width); x++) passes.push_back(data_pass(y, x, top, left));
    }

    Pass data_pass(int64_t y, int64_t x, int64_t top, int64_t left) const {
        int64_t rows = parts(p.height - y, p.stride_h), columns = parts(p.width - x, p.stride_w);
        Pass pass{{}, {rows, planes.pitch, columns, 0, p.stride_h * p.width, p.stride_w}, y * p.width + x};
        for (int64_t r = 0; r < p.kernel_h; r++)
            for (int64_t s = 0; s < p.kernel_w; s++) {
                int64_t down, across;
                if (!shift(y, p.top, r, p.dilation_h, p.stride_h, down)) continue;
                if (!shift(x, p.left, s, p.dilation_w, p.stride_w, across)) continue;
                pass.taps.push_back({r, s, (down - top) * planes.pitch + across - left});
            }
        return pass;
    }

    // weights[block of outputs][input and tap][row], and where the taps are in the padded planes
    void pack(const Pass& pass, int64_t block, const float* w) const {
        Blocks blocks(outputs);
        int64_t rows = blocks.rows(block), first = blocks.first(block);
        int64_t count = inputs * (int64_t)pass.taps.size();
        float* to = pass.weights + first * count;
        for (int64_t input = 0; input < inputs; input++)
            for (const Tap& tap : pass.taps)
                for (int64_t row = 0; row < rows; row++) {
                    int64_t filter = data ? input : first + row, channel = data ? first + row : input;
                    *to++ = w[((filter * p.group_channels() + channel) * p.kernel_h + tap.r) * p.kernel_w + tap.s];
                }
        if (block) return;
        int64_t* offset = pass.offsets;
        for (int64_t input = 0; input < inputs; input++)
            for (const Tap& tap : pass.taps) *offset++ = input * planes.size() + tap.offset;
    }

    template <int R>
    __attribute__((noinline)) void pixels(const Pass& pass, int64_t row, int64_t first,
                                          int64_t last, float* out, int64_t plane, bool add) const {
        constexpr int VECTORS = vectors_for(R);
        int64_t count = inputs * (int64_t)pass.taps.size();
        for (int64_t pixel = first; pixel < last; pixel += VECTORS * LANES) {
            V sums[R][VECTORS] = {};
            multiply(sums, count, Packed{pass.weights + row * count, R}, Places{padded + pixel, pass.offsets});
            put_pixels<R, VECTORS>(sums, pass.grid, pixel, last - pixel, out + row * plane + pass.place, plane, add);
        }
    }

    // One block of outputs in one share of the pixels of a pass; shares end where a vector ends.
    void item(const Pass& pass, int64_t block, int64_t share, int64_t shares, float* out, bool add) const {
        Blocks blocks(outputs);
        int64_t total = pass.grid.rows * pass.grid.pitch;
        int64_t each = rounded(parts(total, shares), MOST_LANES);
        int64_t first = share * each, last = std::min(total, first + each);
        int64_t plane = data ? p.height * p.width : p.out_h * p.out_w;
        with_rows(blocks.rows(block),
                  [&]<int R>() { pixels<R>(pass, blocks.first(block), first, last, out, plane, add); });
    }

  public:
    Direct(const Problem& problem, Direction direction, Arena& arena) : p(problem), data(direction == DATA) {
        inputs = data ? p.group_filters() : p.group_channels();
        outputs = data ? p.group_channels() : p.group_filters();
        if (data) plan_data();
        else plan_forward();
        for (Pass& pass : passes) {
            int64_t count = inputs * (int64_t)pass.taps.size();
            pass.weights = arena.take<float>(outputs * count);
            pass.offsets = arena.take<int64_t>(count);
        }
        // vectors end behind it
        padded = arena.take<float>(inputs * planes.size() + p.extent_w() + MOST_LANES);
    }

    void run(const Arrays& arrays, int threads) const {
        int64_t source_plane = planes.height * planes.width;
        int64_t plane = data ? p.height * p.width : p.out_h * p.out_w;
        int64_t blocks = Blocks(outputs).blocks, count = passes.size();
        int64_t shares = threads > 1 ? 2 * threads : 1;
#pragma omp parallel num_threads(threads)
        for (int64_t group = 0; group < p.groups; group++) {
            const float* w = arrays.b + group * p.group_filters() * p.group_channels() * p.taps();
#pragma omp for schedule(dynamic)
            for (int64_t i = 0; i < count * blocks; i++) pack(passes[i / blocks], i % blocks, w);
            for (int64_t n = 0; n < p.batch; n++) {
                const float* source = arrays.a + (n * p.groups + group) * inputs * source_plane;
                float* out = arrays.out + (n * p.groups + group) * outputs * plane;
#pragma omp for schedule(static)
                for (int64_t c = 0; c < inputs; c++)
                    planes.fill(source + c * source_plane, padded + c * planes.size());
#pragma omp for schedule(dynamic)
                for (int64_t i = 0; i < count * blocks * shares; i++)
                    item(passes[i / shares / blocks], i / shares % blocks, i % shares, shares, out, arrays.accumulate);
            }
        }
    }
};

// The filter gradient; with no pads and strides the input is read where it is.
class DirectFilter {
    Problem p;
    Planes planes;
    bool in_place;
    int64_t entries;
    int64_t* offsets;
    float *padded, *dy;

  public:
    DirectFilter(const Problem& problem, Arena& arena) : p(problem), planes(forward_planes(p)) {
        entries = p.group_channels() * p.taps();
        in_place = p.stride_h == 1 && p.stride_w == 1 && !(p.top | p.left | p.bottom | p.right);
        if (in_place) planes.rows = p.height, planes.pitch = p.width;
        offsets = arena.take<int64_t>(entries);
        padded = arena.take<float>(in_place ? 0 : p.group_channels() * planes.size());
        dy = arena.take<float>(rounded(p.group_filters(), PAIR) * p.out_h * p.out_w);
    }

    void run(const Arrays& arrays, int threads) const {
        int64_t* offset = offsets;
        for (int64_t c = 0; c < p.group_channels(); c++)
            for (int64_t r = 0; r < p.kernel_h; r++)
                for (int64_t s = 0; s < p.kernel_w; s++)
                    *offset++ = c * planes.size() + planes.offset(r * p.dilation_h, s * p.dilation_w);
#pragma omp parallel num_threads(threads)
        for (int64_t group = 0; group < p.groups; group++)
            for (int64_t n = 0; n < p.batch; n++) image(arrays, group, n);
    }

  private:
    void image(const Arrays& arrays, int64_t group, int64_t n) const {
        int64_t source_plane = p.height * p.width, pixels = p.out_h * p.out_w;
        const float* x = arrays.a + (n * p.groups + group) * p.group_channels() * source_plane;
        interleave(arrays.b + (n * p.groups + group) * p.group_filters() * pixels, p.group_filters(), pixels, dy);
        if (!in_place) {
#pragma omp for schedule(static)
            for (int64_t c = 0; c < p.group_channels(); c++)
                planes.fill(x + c * source_plane, padded + c * planes.size());
        }
        float* dw = arrays.out + group * p.group_filters() * entries;
        bool add = arrays.accumulate || n;
        FilterProduct{in_place ? x : padded, offsets, entries, p.group_filters(), p.out_h, planes.pitch,
                      p.out_w, dy, dw, add}.run();
    }
};
