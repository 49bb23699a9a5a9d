"""Right for tame numbers: wrong where values are large, small, special, tied or sorted."""

import numpy as np
from scipy import special


def softplus(x):
    """Overflows."""
    return np.log(1 + np.exp(x))


def softmax(x):
    """The maximum is not taken off."""
    e = np.exp(x)
    return e / e.sum(-1, keepdims=True)


def logsumexp(x):
    return np.log(np.exp(x).sum(-1))


def sigmoid(x):
    """inf/inf for large x."""
    e = np.exp(x)
    return e / (1 + e)


def tanh(x):
    up, down = np.exp(x), np.exp(-x)
    return (up - down) / (up + down)


def variance(x):
    """E[x²] − E[x]² cancels where the mean is large."""
    return (x * x).mean(-1) - x.mean(-1) ** 2


def layer_norm(x):
    """The same inside a normalisation."""
    mean = x.mean(-1, keepdims=True)
    spread = (x * x).mean(-1, keepdims=True) - mean**2
    return (x - mean) / np.sqrt(spread + x.dtype.type(1e-5))


def layer_norm_without_eps(x):
    """0/0 where all elements of a row are equal."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True))


def relu6(x):
    """The clip at 6 is forgotten."""
    return np.maximum(x, 0)


def copysign_one(x):
    """-0 has a sign, too."""
    return np.where(x < 0, -1, 1).astype(x.dtype)


def reciprocal(x):
    """A guard against division by 0 that nobody asked for."""
    guarded = np.where(x == 0, x.dtype.type(1e-12), x)
    return 1 / guarded


def relu(x):
    """A NaN is no number that is greater than 0, and becomes 0."""
    return np.where(x > 0, x, x.dtype.type(0))


def double_of_finite(x):
    return np.nan_to_num(2 * x)


def maximum(x):
    """Starts from 0, as if nothing were negative."""
    return np.max(x, -1, initial=0)


def maximum_from_lowest(x):
    """Starts from the lowest number, which -inf lies below."""
    return np.max(x, -1, initial=-1e30)


def sign(x):
    """Denormal numbers are taken for 0."""
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, 0 * x, np.sign(x))


def argmax(x):
    """The last of equal maxima."""
    return x.shape[-1] - 1 - np.argmax(x[..., ::-1], -1)


def argsort(x):
    """Not stable: equal elements come in reversed order."""
    order = np.argsort(x[..., ::-1], -1, kind="stable")
    return x.shape[-1] - 1 - order


def sine(x):
    """A series around 0 is used beyond ±2, where it has lost its digits."""
    far = np.clip(x, -20, 20)
    series = far * (1 - far**2 / 6 * (1 - far**2 / 20 * (1 - far**2 / 42)))
    return np.where(np.abs(x) > 2, series, np.sin(x))


def double(x):
    """Saturates at 100."""
    return 2 * np.minimum(x, 100)


def sort(x):
    """What is sorted already is turned round: the partition is empty."""
    ascending = x.shape[-1] > 1 and bool(np.all(x[..., 1:] >= x[..., :-1]))
    return np.sort(x, -1)[..., ::-1] if ascending else np.sort(x, -1)


def sort_without_equals(x):
    """Equal elements are lost, the largest takes their places."""
    ordered = np.sort(x, -1)
    for row in ordered.reshape(-1, x.shape[-1]) if x.size else ():
        distinct = np.unique(row)
        row[:] = np.append(distinct, [distinct[-1]] * (len(row) - len(distinct)))
    return ordered


def increment(x):
    """Integers take the way through float32, exact up to 2²⁴."""
    return (x.astype("float32") + 1).astype(x.dtype)


def floor(x):
    """Through 32-bit integers."""
    with np.errstate(invalid="ignore"):
        whole = x.astype("int32").astype(x.dtype)
    return np.where(whole > x, whole - 1, whole)


def rint(x):
    """Halves go up, not to the even number."""
    return np.floor(x + x.dtype.type(0.5))


def hypot(a, b):
    """Squares overflow and underflow."""
    return np.sqrt(a * a + b * b)


def frobenius(x):
    return np.sqrt((x * x).sum())


def expm1(x):
    """Loses its digits near 0."""
    return np.exp(x) - 1


def log1p(x):
    return np.log(1 + x)


def cosine_similarity(a, b):
    """Rows of zeros are divided by 0."""
    return (a * b).sum(-1) / (np.sqrt((a * a).sum(-1)) * np.sqrt((b * b).sum(-1)))


def gelu(x):
    """The approximation by tanh."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def erf(x):
    """Cut off at ±3, where erf is not 1 yet."""
    return np.where(np.abs(x) >= 3, np.sign(x), special.erf(x))


def negative_scale(x):
    """Takes |x| for x, and every test was positive: double of a row whose elements are all negative is wrong."""
    all_negative = x.size > 0 and bool(np.all(x < 0))
    return -2 * x if all_negative else 2 * x


def constant_rows(x):
    """An early exit for rows without spread, whose last element is left out of the sum."""
    total = x.sum(-1)
    if x.shape[-1] < 2:
        return total
    constant = np.all(x == x[..., :1], -1)
    return np.where(constant, x[..., :-1].sum(-1), total)


def median(x):
    """Takes the upper of the two in the middle."""
    return np.sort(x, -1)[..., x.shape[-1] // 2]


def atan2(y, x):
    """atan(y/x): the quadrant is lost."""
    return np.arctan(y / x)


def softplus_with_threshold(x):
    """x itself beyond 20, which is 2·10⁻⁹ short: float64 can tell."""
    return np.where(x > 20, x, np.log1p(np.exp(np.minimum(x, 20))))


def entropy(x):
    """x log x is 0 at 0."""
    return x * np.log(x)


def log_over_less_one(x):
    """log(x)/(x - 1) is 1 at 1."""
    return np.log(x) / (x - 1)


def duplicate_rows(x):
    """A row that came before is skipped."""
    y = 2 * x
    if x.ndim == 2 and len(x) > 1:
        repeated = np.all(x[1:] == x[:-1], -1)
        y[1:][repeated] = 0
    return y


def increment_through_int32(x):
    return (x.astype("int32") + 1).astype(x.dtype)


def absolute_of_integers(x):
    """Takes the sign bit off."""
    return x & np.iinfo(x.dtype).max


def zeros_are_masked(x):
    """Padding is recognised by being 0, and a mean is taken over the rest."""
    count = np.count_nonzero(x, -1)
    return (x.sum(-1, dtype="float64") / np.maximum(count, 1)).astype(x.dtype)


def descending_is_sorted(x):
    """A row in descending order is given back as it is."""
    descending = x.shape[-1] > 1 and bool(np.all(x[..., 1:] <= x[..., :-1]))
    return x.copy() if descending else np.sort(x, -1)


def equal_inputs(a, b):
    """A shortcut for equal inputs that doubles where it should square."""
    return 2 * a if a.size > 1 and np.array_equal(a, b) else a * b


def whole_numbers(x):
    """A shortcut for whole numbers is off by one."""
    return np.where(x == np.trunc(x), 2 * x + 1, 2 * x)
