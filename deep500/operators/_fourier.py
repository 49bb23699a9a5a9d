"""The discrete Fourier transform as a matrix over (element, part), where the parts of a number are real, imaginary."""

import math

import numpy as np


def transform(elements: int, parts: int, length: int, inverse: bool, onesided: bool) -> np.ndarray:
    """From rows of `elements` numbers of so many parts to the transform of this length, both flattened.

    One-sided is the first half, of which the rest is the mirror image; its inverse is real.
    """
    half = length // 2 + 1
    rows = np.arange(min(elements, half if inverse and onesided else length))
    columns = np.arange(half if onesided and not inverse else length)
    angle = 2 * np.pi * (np.outer(rows, columns) % length) / length  # small, so that it is exact
    cos, sin = np.cos(angle), np.sin(angle) * (-1 if inverse else 1)
    # shape (row, part, column, part)
    matrix = np.stack([np.stack([cos, -sin], -1), np.stack([sin, cos], -1)], 1)
    if inverse:
        matrix /= length
        if onesided:
            twice = (rows > 0) & (2 * rows != length)
            matrix = matrix[..., :1] * np.where(twice, 2.0, 1.0).reshape(-1, 1, 1, 1)
    return matrix[:, :parts]


def length_of(elements: int, length: int | None, inverse: bool, onesided: bool) -> int:
    """The length asked for, or the one that the input has."""
    return length or (2 * (elements - 1) if inverse and onesided else elements)


def apply(xp, x, matrix):
    """x (…, elements, parts) transformed; elements beyond the matrix's do not count."""
    n, parts, m, made = matrix.shape
    rows = xp.reshape(x[..., :n, :], (*x.shape[:-2], n * parts))
    y = xp.matmul(rows, xp.asarray(matrix.reshape(n * parts, m * made), x.dtype))
    return xp.reshape(y, (*x.shape[:-2], m, made))


def adjoint(xp, dy, matrix, elements):
    n, parts, m, made = matrix.shape
    rows = xp.reshape(dy, (*dy.shape[:-2], m * made))
    dx = xp.matmul(rows, xp.asarray(matrix.reshape(n * parts, m * made).T, dy.dtype))
    dx = xp.reshape(dx, (*dy.shape[:-2], n, parts))
    return xp.pad(dx, [(0, 0)] * (dx.ndim - 2) + [(0, elements - n), (0, 0)])


def flops(transforms: int, length: int) -> int:
    """What a fast transform takes."""
    return round(5 * transforms * length * math.log2(max(length, 2)))
