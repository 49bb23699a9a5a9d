"""The accuracy of elementary functions: errors in units in the last place (ULP), against mpmath with 50 digits.

Arguments are drawn from a domain (half of them uniformly, half by their logarithm), and special ones are added. The
largest error of a sample is a lower bound of the largest there is. Zeros, infinities, NaN and arguments below the
smallest normal number are not counted in ULP: where a result at such a point is not the right one, it is listed.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mpmath
import numpy as np

from ... import registry
from ...check.operators.examples import generator
from ...check.operators.formats import FORMATS, argmax
from ...contracts.framework import Framework
from ...contracts.operator import Operator
from ...custom.operators import as_operator
from ...elementary.compiled import compile_elementary
from ...errors import Deep500Error
from ...frameworks import framework as adapter

DTYPES = ("float32", "float64")
# whose code computes: the framework's, or that of deep500/elementary as a formula or in C++
KERNELS = ("own", "fixed", "fixed C++")
DIGITS = 50
# arrays of one length: ONNX Runtime records a graph for every length
CHUNK = 50_000
Interval = tuple[float, float]


class Expm1(Operator):
    """e to the power of x, minus 1."""

    def forward(self, xp, x):
        return xp.expm1(x)


class Log1p(Operator):
    """The logarithm of 1 + x."""

    def forward(self, xp, x):
        return xp.log1p(x)


class ReciprocalSqrt(Operator):
    """1 / sqrt(x)."""

    def forward(self, xp, x):
        return 1 / xp.sqrt(x)

    def pytorch(self, torch, x):
        return torch.rsqrt(x)

    def jax(self, jax, x):
        return jax.lax.rsqrt(x)

    def tensorflow(self, tf, x):
        return tf.math.rsqrt(x)


@dataclass(frozen=True)
class ElementaryFunction:
    """An operator, the truth, and where arguments are drawn for float32 and for float64."""

    operator: str
    truth: Callable[..., Any]
    domain: tuple[Interval, Interval]
    exponents: Interval | None = None  # of the second argument

    def instance(self) -> Operator:
        """The operator; some are defined in this module alone."""
        match self.operator:
            case "Expm1":
                return Expm1()
            case "Log1p":
                return Log1p()
            case "Rsqrt":
                return ReciprocalSqrt()
        return registry.find("operators", self.operator)()

    def has_kernel(self, kernel: str, dtype: str) -> bool:
        """Whether there is an implementation of this kind: those with fixed bits are in float32."""
        is_fixed = dtype == "float32" and registry.has("elementary", self.operator)
        return kernel == "own" or is_fixed

    def kernel_of(self, kernel: str, framework: Framework) -> tuple[Operator, str]:
        """The operator of one of KERNELS, and the word for it in the table."""
        if kernel == "fixed":
            return registry.find("elementary", self.operator)(), kernel
        if kernel == "fixed C++":
            return as_operator(compile_elementary(self.operator)), kernel
        operator = self.instance()
        return operator, framework.kernel(operator)[1]

    def bounds(self, dtype: str) -> Interval:
        return self.domain[DTYPES.index(dtype)]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _gelu(x: Any) -> Any:
    return x * mpmath.ncdf(x)


EVERYWHERE = ((-1e4, 1e4), (-1e4, 1e4))
POSITIVE = ((1e-37, 1e37), (1e-300, 1e300))
FUNCTIONS = {
    "exp": ElementaryFunction("Exp", mpmath.exp, ((-87, 88), (-708, 709))),
    "expm1": ElementaryFunction("Expm1", mpmath.expm1, ((-87, 88), (-708, 709))),
    "log": ElementaryFunction("Log", mpmath.log, POSITIVE),
    "log1p": ElementaryFunction(
        "Log1p", lambda x: mpmath.log(1 + x), ((-0.999, 1e37), (-0.999, 1e300))
    ),
    "sqrt": ElementaryFunction("Sqrt", mpmath.sqrt, POSITIVE),
    "rsqrt": ElementaryFunction("Rsqrt", lambda x: 1 / mpmath.sqrt(x), POSITIVE),
    "sin": ElementaryFunction("Sin", mpmath.sin, EVERYWHERE),
    "cos": ElementaryFunction("Cos", mpmath.cos, EVERYWHERE),
    "tan": ElementaryFunction("Tan", mpmath.tan, EVERYWHERE),
    "tanh": ElementaryFunction("Tanh", mpmath.tanh, ((-12, 12), (-24, 24))),
    "erf": ElementaryFunction("Erf", mpmath.erf, ((-5, 5), (-8, 8))),
    "sigmoid": ElementaryFunction("Sigmoid", _sigmoid, ((-80, 80), (-700, 700))),
    "gelu": ElementaryFunction("Gelu", _gelu, ((-5, 5), (-8, 8))),
    "pow": ElementaryFunction("Pow", mpmath.power, ((1e-2, 1e2), (1e-2, 1e2)), (-8, 8)),
}


@dataclass(frozen=True)
class Exactness:
    """One function on one framework."""

    function: str
    framework: str
    kernel: str
    dtype: str
    domain: str
    n: int
    largest: float | None = None  # ULP; None where it is infinite
    at: str = ""
    mean: float | None = None
    # what is not right at special points
    special: list[str] = field(default_factory=list)
    unsupported: str = ""
    # of the results for `hashed` numbers of all kinds
    sha256: str = ""
    hashed: int = 0


def exactness(
    function: str,
    framework: str,
    dtype: str,
    n: int,
    seed: int,
    kernel: str = "own",
    hashed: int = 0,
) -> Exactness:
    """The errors of one function on one framework in one dtype, and the SHA-256 of its results for `hashed` numbers."""
    what = FUNCTIONS[function]
    fw = adapter(framework)
    arguments = draw(what, dtype, n, seed)
    try:
        operator, kernel = what.kernel_of(kernel, fw)
        [values] = fw.evaluate(operator, arguments)
        sha256 = ""
        if hashed:
            points = every_kind(what, dtype, hashed, seed)
            sha256 = bits_hash(fw, operator, points)
        special = []
        if not what.exponents:
            special = special_faults(
                what, lambda x: fw.evaluate(operator, [x])[0], dtype
            )
    except Deep500Error as error:
        return not_measured(function, framework, dtype, str(error))
    errors = ulp_errors(what.truth, arguments, values, dtype)
    worst = argmax(errors)
    worst_arguments = [float(argument[worst]) for argument in arguments]
    largest = float(errors[worst])
    mean = None
    if math.isfinite(largest):
        mean = float(np.mean(errors))
    return Exactness(
        function,
        framework,
        kernel,
        dtype,
        _domain_text(what, dtype),
        len(errors),
        largest if math.isfinite(largest) else None,
        ", ".join(f"{argument:.9g}" for argument in worst_arguments),
        mean,
        special,
        sha256=sha256,
        hashed=hashed,
    )


def every_kind(
    what: ElementaryFunction, dtype: str, n: int, seed: int
) -> list[np.ndarray]:
    """n arguments: zeros, infinities, NaN, random bits (denormal numbers among them), and those of the domain."""
    form = FORMATS[dtype]
    tiny = form.tiny
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 0.5, 3.0, -3.0]
    special += [tiny, -tiny, tiny / 4, -tiny / 4, tiny * form.eps, -tiny * form.eps]
    firsts, seconds = np.meshgrid(np.array(special, dtype), np.array(special, dtype))
    random = generator("elementary bits", what.operator, dtype, seed)
    columns = []
    drawn = draw(what, dtype, n // 2, seed)
    for column, grid in zip(drawn, (firsts, seconds), strict=False):
        any_bits = random.integers(0, 256, n * np.dtype(dtype).itemsize, np.uint8).view(
            dtype
        )
        joined = np.concatenate([grid.ravel(), column, any_bits])
        columns.append(joined[:n])
    return columns


def bits_hash(
    framework: Framework, operator: Operator, points: Sequence[np.ndarray]
) -> str:
    """The SHA-256 of the results' bits; of every NaN, the sign and the payload count, too."""
    digest = hashlib.sha256()
    for start in range(0, len(points[0]), CHUNK):
        chunk = [column[start : start + CHUNK] for column in points]
        with np.errstate(all="ignore"):
            [values] = framework.evaluate(operator, chunk)
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def not_measured(
    function: str, framework: str, dtype: str, reason: str, kernel: str = ""
) -> Exactness:
    """The line of a function that a framework cannot compute."""
    domain = _domain_text(FUNCTIONS[function], dtype)
    return Exactness(function, framework, kernel, dtype, domain, 0, unsupported=reason)


def _domain_text(function: ElementaryFunction, dtype: str) -> str:
    low, high = function.bounds(dtype)
    text = f"[{low:g}, {high:g}]"
    if function.exponents:
        lowest, highest = function.exponents
        text += f" to [{lowest:g}, {highest:g}]"
    return text


def draw(what: ElementaryFunction, dtype: str, n: int, seed: int) -> list[np.ndarray]:
    """Arguments in the domain: half uniform, half with a uniform logarithm; the ends and 1 are among them."""
    low, high = what.bounds(dtype)
    random = generator("elementary", what.operator, dtype, seed)
    half = n // 2
    uniform = random.uniform(low, high, n - half)
    smallest = max(1e-6, low)
    largest = max(abs(low), high)
    logarithms = random.uniform(math.log(smallest), math.log(largest), half)
    size = np.exp(logarithms)
    signs = np.ones(half)
    if low < 0:
        signs = random.choice([-1.0, 1.0], half)
    special = [low, high, 1.0]
    x = np.concatenate([uniform, size * signs, special])
    x = np.clip(x, low, high).astype(dtype)
    if what.exponents is None:
        return [x]
    exponents = random.uniform(*what.exponents, len(x))
    return [x, exponents.astype(dtype)]


def ulp_errors(
    truth: Callable[..., Any],
    arguments: Sequence[np.ndarray],
    values: np.ndarray,
    dtype: str,
) -> np.ndarray:
    """|value - truth| / the distance of neighbouring numbers at the truth; infinite for a value that is not finite."""
    form = FORMATS[dtype]
    columns = [argument.tolist() for argument in arguments]
    errors = []
    with mpmath.workdps(DIGITS):
        for value, *xs in zip(values.tolist(), *columns, strict=True):
            exact = truth(*map(mpmath.mpf, xs))
            nearest = np.array(float(exact))
            step = float(form.spacing(nearest))
            error = math.inf
            if math.isfinite(value):
                distance = abs(mpmath.mpf(value) - exact)
                error = float(distance / step)
            errors.append(error)
    return np.array(errors)


def special_faults(
    what: ElementaryFunction,
    run: Callable[[np.ndarray], np.ndarray],
    dtype: str,
) -> list[str]:
    """Where the result at a special argument is not the right one: zeros, infinities, NaN, the smallest numbers."""
    form = FORMATS[dtype]
    tiny = form.tiny
    denormal = form.tiny / 4
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, tiny, denormal, -denormal]
    points = np.array(special, dtype)
    with np.errstate(all="ignore"):
        values = run(points)
    faults = []
    smallest = form.tiny * form.eps
    for x, y in zip(points.tolist(), values.tolist(), strict=True):
        want = _limit(what.truth, x)
        if want is not None and not _same(y, want, smallest):
            faults.append(f"{x:.6g} gives {y:.6g}, right is {want:.6g}")
    return faults


def _limit(truth: Callable[..., Any], x: float) -> float | None:
    """The truth at a special argument; None if mpmath does not know it."""
    if math.isnan(x):
        return math.nan
    try:
        with mpmath.workdps(DIGITS):
            value = truth(mpmath.mpf(x))
    except (ValueError, ZeroDivisionError):
        return None
    if isinstance(value, mpmath.mpc):
        return math.nan
    if mpmath.isnan(value) and math.isinf(x) and truth is _gelu:
        return None
    return float(value)


def _same(value: float, want: float, step: float) -> bool:
    if math.isnan(want):
        return math.isnan(value)
    if math.isinf(want):
        return value == want
    tolerance = max(4 * step, 1e-6 * abs(want))
    return abs(value - want) <= tolerance
