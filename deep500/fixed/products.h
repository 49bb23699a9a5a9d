// C += A B. Every element of C is a chain of fused multiply-adds in the order of k: the size of tiles, the number of
// rows, copies and threads make no difference.
#pragma once
#include "vectors.h"

struct Matrix {
    const float* data;
    i64 row, column;  // strides, in elements
    Matrix turned() const { return {data, column, row}; }
    Matrix from(i64 first_row) const { return {data + first_row * row, row, column}; }
};

constexpr i64 TILE_COLUMNS = 2 * WIDTH, DEPTH = 256, BREADTH = 512;

// A tile of C. Rows of A lie next to each other; from one k to the next it is `a_step` in A and `b_step` in B.
template <int ROWS, int COLUMNS>
static void tile(i64 depth, const float* a, i64 a_step, const float* b, i64 b_step, float* c, i64 c_row) {
    Vector sums[ROWS][COLUMNS];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 2
        for (int j = 0; j < COLUMNS; j++) sums[i][j] = loaded<Vector>(c + i * c_row + j * WIDTH);
    for (i64 k = 0; k < depth; k++, a += a_step, b += b_step) {
        Vector row[COLUMNS];
#pragma GCC unroll 2
        for (int j = 0; j < COLUMNS; j++) row[j] = loaded<Vector>(b + j * WIDTH);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++) {
            const Vector x = a[i] - Vector{};
#pragma GCC unroll 2
            for (int j = 0; j < COLUMNS; j++) sums[i][j] = fused(x, row[j], sums[i][j]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 2
        for (int j = 0; j < COLUMNS; j++) store(c + i * c_row + j * WIDTH, sums[i][j]);
}

typedef void (*Tile)(i64, const float*, i64, const float*, i64, float*, i64);
template <int ROWS> static Tile tile_of(i64 rows, i64 columns) {
    if constexpr (ROWS == 0) return nullptr;
    else {
        if (rows != ROWS) return tile_of<ROWS - 1>(rows, columns);
        return columns > WIDTH ? tile<ROWS, 2> : tile<ROWS, 1>;
    }
}

static void copy_rows(Matrix a, i64 rows, i64 depth, float* out) {
    for (i64 i = 0; i < rows; i++)
        for (i64 k = 0; k < depth; k++) out[k * TILE_ROWS + i] = a.data[i * a.row + k * a.column];
}

static void copy_columns(Matrix b, i64 depth, i64 columns, float* out) {
    for (i64 j = 0; j < TILE_COLUMNS; j++)
        for (i64 k = 0; k < depth; k++) out[k * TILE_COLUMNS + j] = j < columns ? b.data[k * b.row + j * b.column] : 0;
}

// The columns from `first` on of B, TILE_COLUMNS of them at a time; where they lie well, they stay where they are.
struct Panels {
    Matrix b;
    i64 depth;
    float* copies;
    i64 first;
    const float* at(i64 j, i64& step) const {
        if (copies) {
            step = TILE_COLUMNS;
            return copies + (j - first) / TILE_COLUMNS * depth * TILE_COLUMNS;
        }
        step = b.row;
        return b.data + j * b.column;
    }
};

static void row_of_tiles(Matrix a, const Panels& panels, i64 rows, i64 end, float* c, i64 c_row) {
    const float* a_data = a.data;
    i64 a_step = a.column;
    if (a.row != 1) {
        float* copy = scratch<0>(TILE_ROWS * DEPTH);
        copy_rows(a, rows, panels.depth, copy);
        a_data = copy, a_step = TILE_ROWS;
    }
    for (i64 j = panels.first; j < end; j += TILE_COLUMNS) {
        i64 b_step;
        const float* b = panels.at(j, b_step);
        const i64 columns = std::min(TILE_COLUMNS, end - j);
        const Tile compute = tile_of<TILE_ROWS>(rows, columns);
        if (columns == TILE_COLUMNS || columns == WIDTH) {
            compute(panels.depth, a_data, a_step, b, b_step, c + j, c_row);
            continue;
        }
        float edge[TILE_ROWS * TILE_COLUMNS];
        for (i64 i = 0; i < rows; i++) {
            std::memset(edge + i * TILE_COLUMNS, 0, 4 * TILE_COLUMNS);
            std::memcpy(edge + i * TILE_COLUMNS, c + i * c_row + j, 4 * columns);
        }
        compute(panels.depth, a_data, a_step, b, b_step, edge, TILE_COLUMNS);
        for (i64 i = 0; i < rows; i++) std::memcpy(c + i * c_row + j, edge + i * TILE_COLUMNS, 4 * columns);
    }
}

static void add_product(i64 m, i64 n, i64 depth, Matrix a, Matrix b, float* c, i64 c_row) {
    for (i64 k = 0; k < depth; k += DEPTH)
        for (i64 first = 0; first < n; first += BREADTH) {
            const i64 end = std::min(n, first + BREADTH), now = std::min(DEPTH, depth - k);
            const Matrix block = {b.data + k * b.row, b.row, b.column};
            float* copies = nullptr;
            if (b.column != 1 || (end - first) % WIDTH) {
                copies = scratch<1>((BREADTH + TILE_COLUMNS) * DEPTH);
                for (i64 j = first; j < end; j += TILE_COLUMNS) {
                    const Matrix part = {block.data + j * b.column, b.row, b.column};
                    copy_columns(part, now, std::min(TILE_COLUMNS, end - j), copies + (j - first) * now);
                }
            }
            const Panels panels = {block, now, copies, first};
#pragma omp parallel for num_threads(threads) if (threads > 1 && m * n * now > 100000)
            for (i64 i = 0; i < m; i += TILE_ROWS) {
                const Matrix rows = {a.data + i * a.row + k * a.column, a.row, a.column};
                row_of_tiles(rows, panels, std::min(TILE_ROWS, m - i), end, c + i * c_row, c_row);
            }
        }
}

static void fill(float* c, i64 rows, i64 columns, i64 c_row, const float* by_column) {
    for (i64 i = 0; i < rows; i++) {
        if (by_column) std::memcpy(c + i * c_row, by_column, 4 * columns);
        else std::memset(c + i * c_row, 0, 4 * columns);
    }
}
