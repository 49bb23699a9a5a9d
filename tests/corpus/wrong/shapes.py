"""Right for the usual shape: wrong for odd, short, long, empty or deep ones."""

import numpy as np


def odd_length(x):
    """Two elements at a time, and the odd one is forgotten."""
    y = 2 * x
    if y.ndim and y.shape[-1] % 2:
        y[..., -1] = x[..., -1]
    return y


def tail_of_eight(x):
    """Eight elements at a time; the rest is left as it was."""
    y = 2 * x.ravel()
    whole = x.size // 8 * 8
    y[whole:] = x.ravel()[whole:]
    return y.reshape(x.shape)


def tail_of_sixteen_rows(x):
    """Sixteen columns at a time where there are more than sixteen."""
    y = 2 * x
    columns = x.shape[-1] if x.ndim else 1
    if columns > 16:
        y[..., columns // 16 * 16 :] = 0
    return y


def one_element(x):
    """A shortcut for one element that returns it."""
    if x.shape[-1] == 1:
        return x.copy()
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def empty_sum(x):
    """A sum as mean times length, which is NaN for none."""
    with np.errstate(all="ignore"):
        count = x.dtype.type(x.shape[-1])
        return x.sum(-1) / count * count


def rank_three(x):
    """Everything behind the first axis is taken for one."""
    if x.ndim < 3:
        return x.sum(-1)
    return x.reshape(len(x), -1).sum(-1)


def rank_three_axes(x):
    """The last axis is taken to be the second."""
    return x.cumsum(1 if x.ndim > 1 else 0)


def squeezed(x):
    """A first axis of one is dropped."""
    return 2 * (x[0] if x.ndim > 1 and len(x) == 1 else x)


def large_batch(x):
    """A buffer of 64 rows: those behind are not reached."""
    y = 2 * x
    if y.ndim:
        y[64:] = 0
    return y


def more_than_a_thousand(x):
    """A block of 1024 elements, and its last is dropped when a second is needed."""
    y = 2 * x
    if y.size > 1024:
        y.flat[1023] = 0
    return y


def square_is_transposed(x):
    return 2 * (x.T if x.ndim == 2 and x.shape[0] == x.shape[1] else x)


def single_row(x):
    """The mean over the batch, guarded against one row by n - 1."""
    rows = len(x)
    return x.sum(0) / max(rows, 2)


def kept_axis(x):
    """The reduced axis is still there."""
    return x.sum(-1, keepdims=True)


def boxed_scalar(x):
    """An array of one element where a scalar is right."""
    return np.reshape(x.sum(), (1,))


def swapped_outputs(x):
    return x.max(-1), x.min(-1)


def batch_norm_for_rows(x):
    """The mean of the whole batch where that of the row is right."""
    centred = x - x.mean()
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + x.dtype.type(1e-5))


def prime_length(x):
    """A row of seven or of thirteen is folded wrongly."""
    columns = x.shape[-1] if x.ndim else 1
    return 2 * (np.roll(x, 1, -1) if columns in (7, 13) else x)


def scalar(x):
    """A scalar has no last axis, and passes through unscaled."""
    return x.copy() if x.ndim == 0 else 2 * x


def empty_batch(x):
    """No rows: the answer is a row of zeros."""
    return 2 * x if x.size else np.zeros((1, *x.shape[1:]), x.dtype)


def bias_along_rows(x, bias):
    """Where both lengths fit, the bias is added to rows."""
    return x + (bias[:, None] if x.shape[0] == x.shape[-1] else bias)


def broadcast_row(a, b):
    """An input with one row is not repeated but padded."""
    if a.ndim == 2 and a.shape[0] == 1 < b.shape[0]:
        a = np.concatenate([a, np.zeros((len(b) - 1, a.shape[1]), a.dtype)])
    return a * b


def three_outputs(x):
    """One more than the reference has."""
    return x.min(-1), x.max(-1), x.mean(-1)


def object_output(x):
    """Python's numbers in an array of objects."""
    return np.tanh(x).astype(object)


def complex_output(x):
    return np.tanh(x).astype("complex64" if x.dtype == np.float32 else "complex128")


def nothing(x):
    return None
