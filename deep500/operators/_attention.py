"""What the attention operators share: heads, softmax with empty rows, and products in which queries share keys."""

import math


def heads_first(xp, x, heads):
    """(batch, length, heads * size) as (batch, heads, length, size)."""
    batch, length, width = x.shape
    return xp.permute_dims(xp.reshape(x, (batch, length, heads, width // heads)), (0, 2, 1, 3))


def heads_last(xp, x):
    """(batch, heads, length, size) as (batch, length, heads * size)."""
    batch, heads, length, size = x.shape
    return xp.reshape(xp.permute_dims(x, (0, 2, 1, 3)), (batch, length, heads * size))


def swapped(xp, x):
    """With the last two of four axes exchanged."""
    return xp.permute_dims(x, (0, 1, 3, 2))


def grouped(xp, x, kv):
    """Queries (batch, heads, length, size) by the heads of kv: neighbours that share one stand below each other."""
    return xp.reshape(
        x, (x.shape[0], kv.shape[1], x.shape[1] // kv.shape[1] * x.shape[2], x.shape[3])
    )


def product(xp, x, kv):
    """x @ kv, where every head of kv (batch, heads, n, m) serves as many heads of x as there are more of them."""
    return xp.reshape(xp.matmul(grouped(xp, x, kv), kv), (*x.shape[:3], kv.shape[3]))


def softmax(xp, x, empty=None):
    """Along the last axis; rows that are `empty` become 0."""
    largest = xp.max(x, axis=-1, keepdims=True)
    if empty is None:
        e = xp.exp(x - largest)
        return e / xp.sum(e, axis=-1, keepdims=True)
    e = xp.exp(x - xp.where(empty, 0, largest))
    total = xp.sum(e, axis=-1, keepdims=True)
    return xp.where(empty, xp.zeros_like(e), e / xp.where(empty, xp.ones_like(total), total))


def softmax_gradient(xp, dy, y):
    return y * (dy - xp.sum(dy * y, axis=-1, keepdims=True))


def is_empty(xp, bias):
    """Whether no key is left for a query: all that is added to its scores is minus infinity."""
    return xp.max(bias, axis=-1, keepdims=True) == -math.inf
