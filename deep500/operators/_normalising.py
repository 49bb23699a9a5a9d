"""Arrays with their mean and variance over some axes taken out, and the derivative of that."""


def statistics(xp, x, axes, epsilon):
    """The mean and the inverse of the standard deviation, with axes of length 1; of halves in float32."""
    x = xp.astype(x, statistics_dtype(x))
    mean = xp.mean(x, axis=axes, keepdims=True)
    return mean, 1 / xp.sqrt(xp.mean(xp.square(x - mean), axis=axes, keepdims=True) + epsilon)


def statistics_dtype(x):
    return "float32" if "float16" in str(x.dtype) else x.dtype  # bfloat16 too


def normal(xp, x, mean, inv_std):
    """x with mean 0 and variance 1, in its own dtype."""
    return xp.astype((xp.astype(x, mean.dtype) - mean) * inv_std, x.dtype)


def normal_gradient(xp, dn, n, inv_std, axes):
    """The gradient by x, from n = normal(x) and the gradient by it: mean and deviation depend on x too."""
    inv_std = xp.astype(inv_std, n.dtype)
    shift = xp.mean(dn, axis=axes, keepdims=True)
    return inv_std * (dn - shift - n * xp.mean(dn * n, axis=axes, keepdims=True))


def trailing(x, axis):
    """The axes from this one on."""
    rank = len(x.shape)
    return tuple(range(axis % rank, rank))


def per_channel(xp, value, x):
    """A value for every channel in the shape in which it stands beside x."""
    return xp.reshape(value, (1, -1, *[1] * (x.ndim - 2)))
