"""The truth for every operator of the corpus: NumPy functions, simple and slow, meant for float64."""

import numpy as np
from scipy import special


def absolute(x):
    return np.abs(x)


def arccosh(x):
    return np.arccosh(x)


def argmax(x):
    return np.argmax(x, -1)


def argsort(x):
    return np.argsort(x, -1, kind="stable")


def affine(x, scale, shift):
    return x * scale + shift


def atan2(y, x):
    return np.arctan2(y, x)


def add_bias(x, bias):
    return x + bias


def batch_norm(x):
    centred = x - x.mean(0)
    return centred / np.sqrt((centred**2).mean(0) + 1e-5)


def batched_solve(a, b):
    n = a.shape[-1]
    regular = a @ np.swapaxes(a, -1, -2) / n + np.eye(n)
    return np.linalg.solve(regular, b[..., None])[..., 0]


def clip(x):
    return np.clip(x, -1.0, 1.0)


def column_means(x):
    return x.mean(0)


def complement(x):
    return 1 - x


def concatenate(a, b):
    return np.concatenate([a, b], -1)


def conv1d(x, kernel):
    return np.stack([np.convolve(row, kernel[::-1], "valid") for row in x])


def copysign_one(x):
    return np.copysign(1.0, x)


def cosine_similarity(a, b):
    dots = (a * b).sum(-1)
    lengths = np.sqrt((a * a).sum(-1)) * np.sqrt((b * b).sum(-1))
    return dots / np.maximum(lengths, 1e-8)


def count_positive(x):
    return np.count_nonzero(x > 0, axis=-1)


def cube(x):
    return x * x * x


def cumulative_sum(x):
    return np.cumsum(x, -1)


def diagonal(x):
    return np.diagonal(x)


def distances(a, b):
    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(-1))


def dot(a, b):
    return (a * b).sum()


def double(x):
    return 2 * x


def dropout(x):
    keep = (np.arange(x.shape[-1]) * 2654435761 % 7) < 5
    return np.where(keep, x * 1.4, 0 * x)


def erf(x):
    return special.erf(x)


def even_rows(x):
    return x[0::2] + x[1::2]


def exp(x):
    return np.exp(x)


def expm1(x):
    return np.expm1(x)


def first_two(x):
    return x[:2]


def flip(x):
    return x[..., ::-1]


def floor(x):
    return np.floor(x)


def frobenius(x):
    largest = np.max(np.abs(x), initial=0)
    if not np.isfinite(largest) or largest == 0:
        return np.asarray(largest)
    return largest * np.sqrt(((x / largest) ** 2).sum())


def gather(x, index):
    return x[index]


def gelu(x):
    return 0.5 * x * special.erfc(-x / np.sqrt(2))


def half_of_neighbours(x):
    """The mean of each element and the next, the last one standing for its own neighbour."""
    flat = x.ravel()
    return (0.5 * (flat + np.append(flat[1:], flat[-1:]))).reshape(x.shape)


def histogram(x):
    edges = [-1.0, 0.0, 1.0]
    bins = np.searchsorted(edges, x.ravel(), side="right")
    return np.bincount(bins, minlength=4)


def histogram_counts(x):
    """How many elements lie in the same of 8 bins of width 1/2, taken modulo 8; what is not finite is in the first."""
    with np.errstate(invalid="ignore", over="ignore"):
        bins = np.nan_to_num(np.floor(2 * x) % 8).astype(int)
    return np.bincount(bins.ravel(), minlength=8)[bins].astype(x.dtype)


def hypot(a, b):
    return np.hypot(a, b)


def identity(x):
    return x


def increment(x):
    return x + 1


def inner_matrix(x):
    return x @ x.T


def is_finite(x):
    return np.isfinite(x)


def layer_norm(x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def linear(x, weight, bias):
    return x @ weight.T + bias


def log(x):
    return np.log(x)


def log1p(x):
    return np.log1p(x)


def log_softmax(x):
    return x - special.logsumexp(x, -1, keepdims=True)


def logsumexp(x):
    return special.logsumexp(x, -1)


def matmul(a, b):
    return a @ b


def maximum(x):
    return x.max(-1)


def mean(x):
    return x.mean()


def median(x):
    return np.median(x, -1)


def min_and_max(x):
    return x.min(-1), x.max(-1)


def multiply(a, b):
    return a * b


def nonzero(x):
    return np.stack(np.nonzero(x))


def normalise_by_sum(x):
    return x / (1 + np.abs(x).sum())


def one_hot(index):
    return np.equal.outer(index, np.arange(5)).astype("float32")


def outer(a, b):
    return np.multiply.outer(a, b)


def pad(x):
    return np.pad(x, [(1, 2)] * x.ndim)


def polynomial(x):
    return 1 + x * (2 + x * 3)


def positive_only(x):
    return x[x > 0]


def prefix_product(x):
    return np.cumprod(x, -1)


def reciprocal(x):
    return 1 / x


def relu(x):
    return np.maximum(x, 0)


def relu6(x):
    return np.clip(x, 0, 6)


def rint(x):
    return np.rint(x)


def roll(x):
    return np.roll(x, 1, -1)


def row_maximum(x):
    return x / np.maximum(1, np.abs(x).max())


def row_norm(x):
    return np.sqrt((x * x).sum(-1))


def row_sum(x):
    return x.sum(-1)


def scalar_sum(x):
    return x.sum()


def scale_by_pi(x):
    return np.pi * x


def shape_of(x):
    return np.array(x.shape)


def sigmoid(x):
    return special.expit(x)


def sign(x):
    return np.sign(x)


def sine(x):
    return np.sin(x)


def sine_and_cosine(x):
    return np.sin(x), np.cos(x)


def sinc(x):
    return np.sinc(x / np.pi)


def softmax(x):
    return special.softmax(x, -1)


def softplus(x):
    return np.logaddexp(0, x)


def sort(x):
    return np.sort(x, -1)


def split(x):
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def sqrt(x):
    return np.sqrt(x)


def square(x):
    return x * x


def strided(x):
    return x[..., ::2]


def sum_5d(x):
    return x.sum((1, 3))


def symmetric_difference(x):
    return x - x.T


def tanh(x):
    return np.tanh(x)


def top_two(x):
    return np.sort(x, -1)[..., :-3:-1]


def total_share(x):
    """Each element with the mean of all beside it."""
    return x + x.mean()


def transpose(x):
    return x.T


def variance(x):
    return x.var(-1)


def weighted_square(x, weight):
    return weight * x * x


def where(condition, a, b):
    return np.where(condition, a, b)


def leaky(x):
    return np.where(x > 0, x, 0.25 * x)


def sum_and_product(a, b):
    return a + b, a * b


def entropy(x):
    return special.xlogy(x, x)


def log_over_less_one(x):
    return np.where(x == 1, 1.0, np.log(x) / np.where(x == 1, 1.0, x - 1))


def row_mean(x):
    return x.mean(-1)


def difference(x):
    return np.diff(x)


def fast_sine(x):
    return np.sin(50 * x)


def tiny(x):
    return 1e-30 * x


def offset(x):
    return 1e6 + x


def logical_not(x):
    return ~x
