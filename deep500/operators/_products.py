"""Derivatives of products in which factors may be zero."""


def others(xp, x, zeros, product):
    """The product without the factor x, from the number of zero factors and the product of all that are not zero."""
    nonzero = xp.where(x == 0, xp.ones_like(x), x)
    none = xp.zeros_like(x)
    return xp.where(
        x == 0,
        xp.where(zeros == 1, product + none, none),
        xp.where(zeros == 0, product / nonzero, none),
    )
