// Convolution by tiles in a transformed domain, where it is a product per position: the frame of Winograd and FFT.
#pragma once
#include <omp.h>

#include "domain_products.h"

// A transform T maps tiles of tile_h x tile_w inputs to `positions` numbers per channel; the first `reals` of them are
// real, the others pairs that are complex. LANES channels are transformed together.
//   input(tile, pitch, to, step)       the positions of a tile of inputs
//   gradient(tile, pitch, to, step)    those of a tile of out_h x out_w gradients
//   filter(taps, to, step)             those of a filter
//   output(from, step, tile, pitch)    a tile of out_h x out_w outputs
//   taps(from, step, taps)             the gradient of a filter
template <class T>
class Transformed : DomainProducts {
    static constexpr int CHUNK_VECTORS = 2;
    T transform;
    Problem p;
    Direction direction;
    int64_t in_h, in_w, top, left;   // the planes that are read
    int64_t result_h, result_w;      // the planes that are written; for a filter gradient those of dy
    int64_t across, down, tiles, block;
    int64_t strip_pitch;  // between rows of tiles
    int64_t per_thread;
    char* scratch;
    int threads;

    struct Scratch {  // of one thread
        V *strip, *tile_strip, *taps, *work;
    };

    Scratch scratch_of(int thread) const {
        V* start = reinterpret_cast<V*>(scratch + thread * per_thread);
        V* second = start + transform.tile_h * strip_pitch;
        V* third = second + transform.out_h * across * transform.out_w;
        return {start, second, third, third + p.taps()};
    }

    void set_sizes() {
        bool data = direction == DATA;
        inputs = data ? p.group_filters() : p.group_channels();
        outputs = data ? p.group_channels() : p.group_filters();
        in_h = data ? p.out_h : p.height, in_w = data ? p.out_w : p.width;
        result_h = data ? p.height : p.out_h, result_w = data ? p.width : p.out_w;
        top = data ? p.extent_h() - 1 - p.top : p.top;
        left = data ? p.extent_w() - 1 - p.left : p.left;
        down = parts(result_h, transform.out_h), across = parts(result_w, transform.out_w);
        tiles = p.batch * down * across;
        chunk = outputs <= LANES ? LANES : CHUNK_VECTORS * LANES;
        chunks = parts(outputs, chunk);
        channels = rounded(inputs, LANES), lines = chunks * chunk;
    }

    // As many tiles at once as stay in the cache beside the filters, and as give every thread the same work.
    void set_block(bool whole) {
        int64_t filter_bytes = 4 * positions * inputs * lines;
        int64_t budget = std::clamp<int64_t>(filter_bytes / 2, 512 << 10, 4 << 20);
        int64_t numbers = direction == FILTER ? channels + lines : channels;
        block = std::max<int64_t>(1, budget / (4 * positions * numbers));
        if (block > ROWS) block = block / ROWS * ROWS;
        if (whole) block = tiles;
        int64_t teams = direction == FILTER ? 1 : threads;
        int64_t turns = std::max<int64_t>(1, parts(tiles, block * teams)) * teams;
        block = std::max<int64_t>(1, parts(tiles, turns));
    }

  public:
    Transformed(const T& t, const Problem& problem, Direction direction, bool whole, int threads, Arena& arena)
        : DomainProducts(t.positions, t.reals), transform(t), p(problem), direction(direction), threads(threads) {
        set_sizes();
        set_block(whole);
        bool backward = direction == FILTER;
        strip_pitch = across * transform.out_w + transform.tile_w - transform.out_w;
        in_step = block * channels + LANES;
        out_step = block * (backward ? lines : chunk) + LANES;
        filters = arena.take<float>(chunks * positions * inputs * chunk);
        int64_t blocks = backward ? 1 : threads;
        in_block = arena.take<float>(blocks * positions * in_step);
        out_block = arena.take<float>(blocks * positions * out_step);
        int64_t vectors = transform.tile_h * strip_pitch + transform.out_h * across * transform.out_w;
        per_thread = (vectors + p.taps() + transform.scratch()) * sizeof(V);
        scratch = arena.take<char>(threads * per_thread);
    }

    void run(const Arrays& arrays) const {
#pragma omp parallel num_threads(threads)
        for (int64_t group = 0; group < p.groups; group++) {
            if (direction == FILTER) filter_gradient(arrays, group);
            else forward(arrays, group);
        }
    }

  private:
    // -- filters
    int64_t tap_place(int64_t output, int64_t input) const {
        int64_t filter = direction == DATA ? input : output, channel = direction == DATA ? output : input;
        return (filter * p.group_channels() + channel) * p.taps();
    }

    void transform_filters(const float* w, const Scratch& own) const {
        int64_t vectors = lines / LANES, taps = p.taps();
#pragma omp for schedule(static)
        for (int64_t item = 0; item < vectors * inputs; item++) {
            int64_t first = item / inputs * LANES, input = item % inputs;
            for (int64_t lane = 0; lane < LANES; lane++) {
                bool inside = first + lane < outputs;
                const float* from = w + (inside ? tap_place(first + lane, input) : 0);
                float* to = reinterpret_cast<float*>(own.taps) + lane;
                for (int64_t t = 0; t < taps; t++)
                    to[t * LANES] = inside ? from[direction == DATA ? taps - 1 - t : t] : 0;
            }
            float* to = filter_place(first / chunk, 0, input) + first % chunk;
            transform.filter(own.taps, to, inputs * chunk, own.work);
        }
    }

    void write_filters(float* dw, bool add, const Scratch& own) const {
        int64_t vectors = lines / LANES, taps = p.taps();
#pragma omp for schedule(static)
        for (int64_t item = 0; item < vectors * inputs; item++) {
            int64_t first = item / inputs * LANES, input = item % inputs;
            const float* from = filter_place(first / chunk, 0, input) + first % chunk;
            transform.taps(from, inputs * chunk, own.taps, own.work);
            int64_t some = std::min<int64_t>(LANES, outputs - first);
            for (int64_t lane = 0; lane < some; lane++) {
                float* to = dw + tap_place(first + lane, input);
                for (int64_t t = 0; t < taps; t++) to[t] = add ? to[t] + own.taps[t][lane] : own.taps[t][lane];
            }
        }
    }

    // -- tiles: each(image, row of tiles, first column of tiles, their number, place in the block)
    template <class Each>
    void rows_of_tiles(int64_t first, int64_t count, Each each) const {
        for (int64_t t = 0; t < count;) {
            int64_t column = (first + t) % across, row = (first + t) / across;
            int64_t some = std::min(count - t, across - column);
            each(row / down, row % down, column, some, t);
            t += some;
        }
    }

    // A strip of `height` rows from row y, as vectors of the channels from `channel` on.
    void read_strip(const float* planes, int64_t plane_h, int64_t plane_w, int64_t count, int64_t channel, int64_t y,
                    int64_t x, int64_t height, int64_t width, V* strip) const {
        int64_t plane = plane_h * plane_w;
        int64_t some = std::min<int64_t>(LANES, count - channel);
        for (int64_t i = 0; i < height; i++) {
            V* row = strip + i * strip_pitch;
            if (y + i < 0 || y + i >= plane_h) {
                for (int64_t j = 0; j < width; j++) row[j] = V{};
                continue;
            }
            const float* from = planes + channel * plane + (y + i) * plane_w;
            gather_columns(from, plane, some, x, plane_w, width, reinterpret_cast<float*>(row), LANES);
        }
    }

    // to[position][tile][channel] for some tiles and LANES channels
    void transform_inputs(const float* x, int64_t channel, int64_t row, int64_t column, int64_t some, int64_t place,
                          float* to, const Scratch& own) const {
        int64_t width = some * transform.out_w + transform.tile_w - transform.out_w;
        read_strip(x, in_h, in_w, inputs, channel, row * transform.out_h - top, column * transform.out_w - left,
                   transform.tile_h, width, own.strip);
        for (int64_t t = 0; t < some; t++)
            transform.input(own.strip + t * transform.out_w, strip_pitch, to + (place + t) * channels + channel, in_step,
                            own.work);
    }

    void transform_gradients(const float* dy, int64_t line, int64_t row, int64_t column, int64_t some, int64_t place,
                             const Scratch& own) const {
        read_strip(dy, result_h, result_w, outputs, line, row * transform.out_h, column * transform.out_w,
                   transform.out_h, some * transform.out_w, own.strip);
        for (int64_t t = 0; t < some; t++)
            transform.gradient(own.strip + t * transform.out_w, strip_pitch, out_block + (place + t) * lines + line,
                               out_step, own.work);
    }

    // -- y from x and w, and dx from dy and turned filters
    void forward(const Arrays& arrays, int64_t group) const {
        int thread = omp_get_thread_num();
        Scratch own = scratch_of(thread);
        transform_filters(arrays.b + group * p.group_filters() * p.group_channels() * p.taps(), own);
        float* from = in_block + thread * positions * in_step;
        float* to = out_block + thread * positions * out_step;
#pragma omp for schedule(dynamic)
        for (int64_t first = 0; first < tiles; first += block) {
            int64_t count = std::min(block, tiles - first);
            read_block(arrays.a, group, first, count, from, own);
            for (int64_t number = 0; number < chunks; number++) {
                multiply_block(number, count, from, to);
                write_block(arrays, group, number, first, count, to, own);
            }
        }
    }

    void read_block(const float* x, int64_t group, int64_t first, int64_t count, float* to, const Scratch& own) const {
        rows_of_tiles(first, count, [&](int64_t n, int64_t row, int64_t column, int64_t some, int64_t place) {
            const float* planes = x + (n * p.groups + group) * inputs * in_h * in_w;
            for (int64_t channel = 0; channel < inputs; channel += LANES)
                transform_inputs(planes, channel, row, column, some, place, to, own);
        });
    }

    void write_block(const Arrays& arrays, int64_t group, int64_t number, int64_t first, int64_t count,
                     const float* from, const Scratch& own) const {
        int64_t plane = result_h * result_w, pitch = across * transform.out_w;
        rows_of_tiles(first, count, [&](int64_t n, int64_t row, int64_t column, int64_t some, int64_t place) {
            for (int64_t line = 0; line < chunk; line += LANES) {
                int64_t channel = number * chunk + line;
                if (channel >= outputs) continue;
                for (int64_t t = 0; t < some; t++)
                    transform.output(from + (place + t) * chunk + line, out_step, own.tile_strip + t * transform.out_w,
                                     pitch, own.work);
                int64_t y = row * transform.out_h, x = column * transform.out_w;
                float* out = arrays.out + ((n * p.groups + group) * outputs + channel) * plane + y * result_w + x;
                int64_t height = std::min<int64_t>(transform.out_h, result_h - y);
                int64_t width = std::min<int64_t>(some * transform.out_w, result_w - x);
                for (int64_t i = 0; i < height; i++)
                    scatter_columns(own.tile_strip + i * pitch, width, out + i * result_w, plane,
                                    std::min<int64_t>(LANES, outputs - channel), arrays.accumulate);
            }
        });
    }

    // -- dw from x and dy
    void filter_gradient(const Arrays& arrays, int64_t group) const {
        Scratch own = scratch_of(omp_get_thread_num());
        for (int64_t first = 0; first < tiles; first += block) {
            int64_t count = std::min(block, tiles - first);
            read_both(arrays, group, first, count, own);
            add_products(count, first > 0);
        }
        float* dw = arrays.out + group * p.group_filters() * p.group_channels() * p.taps();
        write_filters(dw, arrays.accumulate, own);
    }

    void read_both(const Arrays& arrays, int64_t group, int64_t first, int64_t count, const Scratch& own) const {
        int64_t input_parts = channels / LANES, both = input_parts + lines / LANES;
        int64_t first_row = first / across, rows = (first + count - 1) / across - first_row + 1;
#pragma omp for schedule(dynamic)
        for (int64_t item = 0; item < rows * both; item++) {
            int64_t tile_row = first_row + item / both, part = item % both;
            int64_t from = std::max(first, tile_row * across), to = std::min(first + count, (tile_row + 1) * across);
            int64_t n = tile_row / down, row = tile_row % down, column = from % across;
            const float* x = arrays.a + (n * p.groups + group) * inputs * in_h * in_w;
            const float* dy = arrays.b + (n * p.groups + group) * outputs * result_h * result_w;
            if (part < input_parts)
                transform_inputs(x, part * LANES, row, column, to - from, from - first, in_block, own);
            else
                transform_gradients(dy, (part - input_parts) * LANES, row, column, to - from, from - first, own);
        }
    }
};
