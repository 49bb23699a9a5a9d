// Attention, one head after the other: softmax(q k^T scale) v. Weights are kept for the gradients.
#pragma once
#include "products.h"
#include "rows.h"

struct Heads {
    i64 batch, heads, queries, keys, size, value_size;
    i64 q_row, k_row, v_row, y_row;  // from one position to the next; those of a batch follow each other
    double scale;
    i64 is_causal;

    i64 count() const { return batch * heads; }
    template <typename Number> Number* of(Number* x, i64 head, i64 length, i64 row, i64 width) const {
        return x + head / heads * length * row + head % heads * width;
    }
    i64 used(i64 query) const { return is_causal ? std::min(keys, query + 1) : keys; }
};

static void attend(const Heads& h, i64 head, const float* q, const float* k, const float* v, float* y, float* weights) {
    q = h.of(q, head, h.queries, h.q_row, h.size), k = h.of(k, head, h.keys, h.k_row, h.size);
    v = h.of(v, head, h.keys, h.v_row, h.value_size), y = h.of(y, head, h.queries, h.y_row, h.value_size);
    weights += head * h.queries * h.keys;
    std::memset(weights, 0, 4 * h.queries * h.keys);
    add_product(h.queries, h.keys, h.size, {q, h.q_row, 1}, {k, 1, h.k_row}, weights, h.keys);
    for (i64 t = 0; t < h.queries; t++) {
        float* row = weights + t * h.keys;
        for (i64 i = 0; i < h.keys; i++) row[i] *= (float)h.scale;
        softmax(row, h.keys, h.used(t), row);
    }
    fill(y, h.queries, h.value_size, h.y_row, nullptr);
    add_product(h.queries, h.value_size, h.keys, {weights, h.keys, 1}, {v, h.v_row, 1}, y, h.y_row);
}

// dq, dk and dv lie as q, k and v do; dy lies as y
static void attend_gradient(const Heads& h, i64 head, const float* dy, const float* q, const float* k, const float* v, const float* weights, float* dq, float* dk, float* dv) {
    dy = h.of(dy, head, h.queries, h.y_row, h.value_size);
    q = h.of(q, head, h.queries, h.q_row, h.size), dq = h.of(dq, head, h.queries, h.q_row, h.size);
    k = h.of(k, head, h.keys, h.k_row, h.size), dk = h.of(dk, head, h.keys, h.k_row, h.size);
    v = h.of(v, head, h.keys, h.v_row, h.value_size), dv = h.of(dv, head, h.keys, h.v_row, h.value_size);
    weights += head * h.queries * h.keys;
    float* d = scratch<4>(h.queries * h.keys);
    std::memset(d, 0, 4 * h.queries * h.keys);
    add_product(h.queries, h.keys, h.value_size, {dy, h.y_row, 1}, {v, 1, h.v_row}, d, h.keys);
    for (i64 t = 0; t < h.queries; t++) {
        float* row = d + t * h.keys;
        const float* w = weights + t * h.keys;
        const float mean = dot(row, w, h.keys);
        for (i64 i = 0; i < h.keys; i++) row[i] = w[i] * (row[i] - mean) * (float)h.scale;
    }
    fill(dq, h.queries, h.size, h.q_row, nullptr);
    fill(dk, h.keys, h.size, h.k_row, nullptr);
    fill(dv, h.keys, h.value_size, h.v_row, nullptr);
    add_product(h.queries, h.size, h.keys, {d, h.keys, 1}, {k, h.k_row, 1}, dq, h.q_row);
    add_product(h.keys, h.size, h.queries, {d, 1, h.keys}, {q, h.q_row, 1}, dk, h.k_row);
    add_product(h.keys, h.value_size, h.queries, {weights, 1, h.keys}, {dy, h.y_row, 1}, dv, h.v_row);
}
