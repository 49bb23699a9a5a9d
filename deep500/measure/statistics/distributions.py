"""Normal, Student t, binomial and chi-square probabilities without SciPy, whose import costs a second."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Polynomials = tuple[tuple[float, ...], tuple[float, ...]]

# Wichura's AS 241 (PPND16): numerators and denominators, highest power first
_CENTRE = (
    (
        2509.0809287301226727,
        33430.575583588128105,
        67265.770927008700853,
        45921.953931549871457,
        13731.693765509461125,
        1971.5909503065514427,
        133.14166789178437745,
        3.3871328727963666080,
    ),
    (
        5226.4952788528545610,
        28729.085735721942674,
        39307.895800092710610,
        21213.794301586595867,
        5394.1960214247511077,
        687.18700749205790830,
        42.313330701600911252,
        1.0,
    ),
)
_SHOULDER = (
    (
        7.7454501427834140764e-4,
        2.27238449892691845833e-2,
        0.241780725177450611770,
        1.27045825245236838258,
        3.64784832476320460504,
        5.76949722146069140550,
        4.63033784615654529590,
        1.42343711074968357734,
    ),
    (
        1.05075007164441684324e-9,
        5.475938084995344946e-4,
        1.51986665636164571966e-2,
        0.148103976427480074590,
        0.689767334985100004550,
        1.67638483018380384940,
        2.05319162663775882187,
        1.0,
    ),
)
_FAR_TAIL = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.2426609473880784386e-3,
        2.6532189526576123093e-2,
        0.296560571828504891230,
        1.78482653991729133580,
        5.46378491116411436990,
        6.65790464350110377720,
    ),
    (
        2.04426310338993978564e-15,
        1.4215117583164458887e-7,
        1.8463183175100546818e-5,
        7.868691311456132591e-4,
        1.48753612908506148525e-2,
        0.136929880922735805310,
        0.599832206555887937690,
        1.0,
    ),
)
_TINY = 1e-300


def normal_cdf(x: float) -> float:
    """P(Z <= x) for a standard normal Z."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def normal_quantile(p: ArrayLike) -> Array:
    """The x with P(Z <= x) = p, element by element; p of 0 and 1 give the infinities."""
    p = np.asarray(p, float)
    offset = p - 0.5
    r = 0.180625 - offset * offset
    result = offset * _ratio(_CENTRE, r)
    outside = r < 0
    if outside.any():
        tail = np.minimum(p, 1 - p)[outside]
        # p = 0 or 1: inf / inf, replaced below
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(-np.log(tail))
            shoulder = _ratio(_SHOULDER, root - 1.6)
            far_tail = _ratio(_FAR_TAIL, root - 5)
            x = np.where(root <= 5, shoulder, far_tail)
        x = np.where(tail == 0, np.inf, x)
        result = np.array(result)
        result[outside] = np.copysign(x, offset[outside])
    return result


def _ratio(polynomials: Polynomials, x: Array) -> Array:
    numerator, denominator = polynomials
    top = np.full_like(x, numerator[0])
    bottom = np.full_like(x, denominator[0])
    for above, below in zip(numerator[1:], denominator[1:], strict=True):
        top *= x
        top += above
        bottom *= x
        bottom += below
    return top / bottom


def student_t_cdf(t: float, df: float) -> float:
    """P(T <= t) for Student's t with df > 0 degrees of freedom, not necessarily whole."""
    tail = _t_tail(abs(t), df)
    if t < 0:
        return tail
    return 1 - tail


def _t_tail(t: float, df: float) -> float:
    square = t * t
    # the fraction loses digits there; this is off by less than 1e-12
    if df > 1e6:
        scale = math.sqrt(1 + square / (2 * df))
        return normal_cdf(-t * (1 - 0.25 / df) / scale)
    total = df + square
    share = square / total
    return 0.5 * _incomplete_beta(df / 2, 0.5, df / total, share)


@lru_cache(maxsize=4096)
def student_t_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p."""
    if not 0 < p < 1:
        return math.copysign(math.inf, p - 0.5)
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -_t_of_tail(p, df)
    return _t_of_tail(1 - p, df)


def _t_of_tail(tail: float, df: float) -> float:
    """The t exceeded with probability tail < 1/2, by Newton on log(tail) over log(t), a concave function."""
    log_t = math.log(_first_t(tail, df))
    log_gammas = math.lgamma((df + 1) / 2) - math.lgamma(df / 2)
    log_norm = log_gammas - 0.5 * math.log(df * math.pi)
    for _ in range(60):
        t = math.exp(log_t)
        reached = _t_tail(t, df)
        log_power = (df + 1) / 2 * math.log1p(t * t / df)
        density = math.exp(log_norm - log_power)
        log_error = math.log(reached) - math.log(tail)
        step = log_error * reached / (density * t)
        log_t += max(-3.0, min(step, 3.0))
        if abs(step) < 1e-8:
            break
    return math.exp(log_t)


def _first_t(tail: float, df: float) -> float:
    """A first guess: Hastings' normal quantile, and two terms of the expansion of t in 1 / df."""
    u = math.sqrt(-2 * math.log(tail))
    numerator = 2.515517 + u * (0.802853 + u * 0.010328)
    denominator = 1 + u * (1.432788 + u * (0.189269 + u * 0.001308))
    z = u - numerator / denominator
    z = max(z, 1e-3)  # it can fall below zero
    if df <= 2:
        return z
    first_term = (z**3 + z) / 4
    polynomial = 5 * z**5 + 16 * z**3 + 3 * z
    second_term = polynomial / (96 * df)
    return z + (first_term + second_term) / df


def binomial_cdf(k: float, n: float, p: float) -> float:
    """P(B <= k) for a binomial of n trials; through the beta integral, so that n may be fractional."""
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    return _incomplete_beta(n - k, k + 1, 1 - p, p)


def chi_square_survival(x: float, df: float) -> float:
    """P(X > x) for a chi-square variable with df degrees of freedom."""
    a, x = df / 2, x / 2
    if x <= 0:
        return 1.0
    if math.isinf(x):
        return 0.0
    excess = (x - a) / a
    power = a * (math.log1p(excess) - excess) - _stirling_error(a)
    scale = math.exp(power) * math.sqrt(a / (2 * math.pi))
    if x < a + 1:
        return 1 - scale * _gamma_series(a, x)
    return scale * _gamma_fraction(a, x)


def f_survival(f: float, df_between: float, df_within: float) -> float:
    """P(X > f) for an F variable with these degrees of freedom."""
    if f <= 0:
        return 1.0
    within = df_within / (df_within + df_between * f)
    return _incomplete_beta(df_within / 2, df_between / 2, within, 1 - within)


def _gamma_series(a: float, x: float) -> float:
    term = total = 1 / a
    k = a
    while term > total * 1e-17:
        k += 1
        term *= x / k
        total += term
    return total


def _gamma_fraction(a: float, x: float) -> float:
    b = x + 1 - a
    c = 1 / _TINY
    d = 1 / b
    value = d
    for i in range(1, 100_000):
        b += 2
        d = 1 / (b - i * (i - a) * d)
        c = b - i * (i - a) / c
        value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """The regularised incomplete beta function I_x(a, b); y = 1 - x is passed too, to lose no digits."""
    if x <= 0:
        return 0.0
    if y <= 0:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, y, x)
    # x^a y^b / B(a, b) in Loader's form: no huge logarithms that cancel, so it is good for any n
    n = a + b
    away = x * b - y * a  # = n x - a
    if abs(away) < a / 2:
        log_x = math.log1p(away / a)
    else:
        log_x = math.log(x * n / a)
    if abs(away) < b / 2:
        log_y = math.log1p(-away / b)
    else:
        log_y = math.log(y * n / b)
    powers = a * log_x + b * log_y
    exponent = powers + _stirling_error(n) - _stirling_error(a) - _stirling_error(b)
    scale = math.sqrt(a * b / (2 * math.pi * n))
    return scale * math.exp(exponent) / a * _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Lentz's continued fraction; converges in about the root of max(a, b) steps."""
    c = 1.0
    d = 1 / _nonzero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 1_000_000):
        even = a + 2 * m
        up = m * (b - m) / ((even - 1) * even)
        down = -(a + m) * (a + b + m) / (even * (even + 1))
        for numerator in (up * x, down * x):
            d = 1 / _nonzero(1 + numerator * d)
            c = _nonzero(1 + numerator / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _nonzero(x: float) -> float:
    return x if abs(x) > _TINY else _TINY


def _stirling_error(z: float) -> float:
    """log Gamma(z) minus Stirling's main terms."""
    if z < 16:
        half_log_2_pi = 0.5 * math.log(2 * math.pi)
        stirling = (z - 0.5) * math.log(z) - z + half_log_2_pi
        return math.lgamma(z) - stirling
    s = 1 / (z * z)
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - s / 1188) * s) * s) * s) / z
