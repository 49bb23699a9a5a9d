"""The p-norm over some axes, which stay with length 1, and its derivative."""


def norm(xp, x, p, axes):
    if p == 1:
        return xp.sum(xp.abs(x), axis=axes, keepdims=True)
    if p == 2:
        return xp.sqrt(xp.sum(xp.square(x), axis=axes, keepdims=True))
    return xp.sum(xp.abs(x) ** p, axis=axes, keepdims=True) ** (1 / p)


def norm_gradient(xp, dy, x, y, p):
    """The gradient by x, from y and its gradient as wide as x or of length 1; where all of x is 0 it is taken as 0."""
    if p == 1:
        return dy * xp.sign(x)
    share = x / xp.where(y == 0, xp.ones_like(y), y)
    return dy * (share if p == 2 else xp.sign(x) * xp.abs(share) ** (p - 1))
