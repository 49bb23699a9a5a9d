"""Right: integers in, integers out, orders and places."""

import numpy as np

import deep500 as d5


class Gather(d5.CustomPythonOp):
    """Rows by their numbers, which may come twice; numbers have no gradient."""

    def __init__(self):
        super().__init__(
            [d5.tensordesc(), d5.tensordesc(None, np.int64)], [d5.tensordesc()]
        )

    def forward(self, inputs):
        return inputs[0][inputs[1]]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        gradient = np.zeros_like(fwd_inputs[0])
        np.add.at(gradient, fwd_inputs[1], grads[0])
        return gradient, None


class Sort(d5.CustomPythonOp):
    def forward(self, inputs):
        return np.sort(inputs[0], -1)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        order = np.argsort(fwd_inputs[0], -1, kind="stable")
        gradient = np.empty_like(fwd_inputs[0])
        np.put_along_axis(gradient, order, grads[0], -1)
        return gradient


def sort_by_random_pivots(x):
    """Random, but the same each time, and the result does not depend on it."""
    draw = np.random.default_rng(7)

    def ordered(row):
        if len(row) < 2:
            return row
        pivot = row[draw.integers(len(row))]
        parts = ordered(row[row < pivot]), row[row == pivot], ordered(row[row > pivot])
        return np.concatenate(parts)

    y = np.empty_like(x)
    for place in np.ndindex(x.shape[:-1]):
        numbers = x[place][~np.isnan(x[place])]
        y[place] = np.nan
        y[place][: len(numbers)] = ordered(numbers)
    return y


def argsort(x):
    return np.argsort(x, -1, kind="mergesort")


def top_two(x):
    """The two largest of each row, the largest first."""
    if x.shape[-1] < 2:
        return x.copy()
    return np.partition(x, [-2, -1], -1)[..., :-3:-1]


def one_hot(index):
    """Integers in, floats out."""
    return (index[..., None] == np.arange(5)).astype("float32")


def gather(x, index):
    return np.take(x, index, 0)


def nonzero(x):
    return np.array(np.nonzero(x))


def where(condition, a, b):
    return np.choose(condition.astype(int), [b, a])


def sign(x):
    return np.sign(x)
