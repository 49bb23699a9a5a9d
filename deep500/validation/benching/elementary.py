"""How exact elementary functions are: errors in units in the last place (ULP), against mpmath with 50 digits.

Arguments are drawn from a domain (half of them uniformly, half by their logarithm), and special ones are added. The
largest error of a sample is a lower bound of the largest there is. Zeros, infinities, NaN and arguments below the
smallest normal number are not counted in ULP: where a result at such a point is not the right one, it is listed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import mpmath
import numpy as np

from ... import registry
from ...contracts.operator import Operator
from ...errors import Deep500Error, unknown
from ...frameworks import framework
from ..checking.examples import generator
from ..checking.formats import FORMATS
from ..isolation import isolated

DTYPES = ("float32", "float64")
DIGITS = 50


class Expm1(Operator):
    """e to the power of x, minus 1."""

    def forward(self, xp, x):
        return xp.expm1(x)


class Log1p(Operator):
    """The logarithm of 1 + x."""

    def forward(self, xp, x):
        return xp.log1p(x)


@dataclass(frozen=True)
class Function:
    """An operator, the truth, and where arguments are drawn for float32 and for float64."""

    operator: str
    truth: Callable[..., Any]
    domain: tuple[tuple[float, float], tuple[float, float]]
    exponents: tuple[float, float] | None = None  # of the second argument

    def made(self) -> Operator:
        own = {"Expm1": Expm1, "Log1p": Log1p}
        return (
            own[self.operator]()
            if self.operator in own
            else registry.find("operators", self.operator)()
        )

    def bounds(self, dtype: str) -> tuple[float, float]:
        return self.domain[DTYPES.index(dtype)]


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _gelu(x: Any) -> Any:
    return x * mpmath.ncdf(x)


EVERYWHERE = ((-1e4, 1e4), (-1e4, 1e4))
POSITIVE = ((1e-37, 1e37), (1e-300, 1e300))
FUNCTIONS = {
    "exp": Function("Exp", mpmath.exp, ((-87, 88), (-708, 709))),
    "expm1": Function("Expm1", mpmath.expm1, ((-87, 88), (-708, 709))),
    "log": Function("Log", mpmath.log, POSITIVE),
    "log1p": Function(
        "Log1p", lambda x: mpmath.log(1 + x), ((-0.999, 1e37), (-0.999, 1e300))
    ),
    "sqrt": Function("Sqrt", mpmath.sqrt, POSITIVE),
    "sin": Function("Sin", mpmath.sin, EVERYWHERE),
    "cos": Function("Cos", mpmath.cos, EVERYWHERE),
    "tan": Function("Tan", mpmath.tan, EVERYWHERE),
    "tanh": Function("Tanh", mpmath.tanh, ((-12, 12), (-24, 24))),
    "erf": Function("Erf", mpmath.erf, ((-5, 5), (-8, 8))),
    "sigmoid": Function("Sigmoid", _sigmoid, ((-80, 80), (-700, 700))),
    "gelu": Function("Gelu", _gelu, ((-5, 5), (-8, 8))),
    "pow": Function("Pow", mpmath.power, ((1e-2, 1e2), (1e-2, 1e2)), (-8, 8)),
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
    special: list[str] = field(
        default_factory=list
    )  # what is not right at special points
    unsupported: str = ""


def check_request(
    functions: Sequence[str], frameworks: Sequence[str], dtypes: Sequence[str], n: int
) -> None:
    """Raise a Deep500Error if there is no such function, framework or dtype, or n makes no sense."""
    _check(functions, FUNCTIONS, "function")
    _check(dtypes, DTYPES, "dtype")
    if not 1 <= n <= 10**6:
        raise Deep500Error(f"n = {n} arguments: give 1 to 1000000")
    for name in frameworks:
        framework(name)


def measured_apart(
    functions: Sequence[str],
    name: str,
    dtypes: Sequence[str],
    n: int,
    seed: int,
    timeout_s: float,
) -> list[dict[str, Any]]:
    """Every function on one framework, in a process of its own; a row is an Exactness as JSON."""
    request = {
        "functions": list(functions),
        "name": name,
        "dtypes": list(dtypes),
        "n": n,
        "seed": seed,
    }
    return isolated(f"{__name__}:measured", request, timeout_s)


def measured(
    functions: Sequence[str],
    name: str,
    dtypes: Sequence[str],
    n: int,
    seed: int,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """All functions on one framework; called in a child process."""
    rows = []
    for function in functions:
        for dtype in dtypes:
            progress(f"{function} on {name} in {dtype}")
            rows.append(asdict(_measured(function, name, dtype, n, seed)))
    return rows


def _measured(function: str, name: str, dtype: str, n: int, seed: int) -> Exactness:
    what, fw = FUNCTIONS[function], framework(name)
    operator, arguments = what.made(), draw(what, dtype, n, seed)
    low, high = what.bounds(dtype)
    domain = f"[{low:g}, {high:g}]" + (
        f" to [{what.exponents[0]:g}, {what.exponents[1]:g}]" if what.exponents else ""
    )
    try:
        kernel = fw.kernel(operator)[1]
        [got] = fw.evaluate(operator, arguments)
        special = (
            []
            if what.exponents
            else special_faults(what, lambda x: fw.evaluate(operator, [x])[0], dtype)
        )
    except Deep500Error as error:
        return Exactness(function, name, "", dtype, domain, 0, unsupported=str(error))
    errors = ulp_errors(what.truth, arguments, got, dtype)
    worst = int(np.argmax(np.where(np.isnan(errors), np.inf, errors)))
    at, largest = (
        ", ".join(f"{float(a[worst]):.9g}" for a in arguments),
        float(errors[worst]),
    )
    finite = math.isfinite(largest)
    return Exactness(
        function,
        name,
        kernel,
        dtype,
        domain,
        len(errors),
        largest if finite else None,
        at,
        float(np.mean(errors)) if finite else None,
        special,
    )


def draw(what: Function, dtype: str, n: int, seed: int) -> list[np.ndarray]:
    """Arguments in the domain: half uniform, half with a uniform logarithm; the ends and 1 are among them."""
    low, high = what.bounds(dtype)
    random = generator("elementary", what.operator, dtype, seed)
    uniform = random.uniform(low, high, n - n // 2)
    size = np.exp(
        random.uniform(math.log(max(1e-6, low)), math.log(max(abs(low), high)), n // 2)
    )
    signs = random.choice([-1.0, 1.0], n // 2) if low < 0 else np.ones(n // 2)
    x = np.concatenate([uniform, size * signs, [low, high, 1.0]])
    x = np.clip(x, low, high).astype(dtype)
    return (
        [x]
        if what.exponents is None
        else [x, random.uniform(*what.exponents, len(x)).astype(dtype)]
    )


def ulp_errors(
    truth: Callable[..., Any],
    arguments: Sequence[np.ndarray],
    got: np.ndarray,
    dtype: str,
) -> np.ndarray:
    """|got - truth| / the distance of neighbouring numbers at the truth; infinite where got is no finite number."""
    form, errors = FORMATS[dtype], []
    with mpmath.workdps(DIGITS):
        for value, *xs in zip(
            got.tolist(), *(a.tolist() for a in arguments), strict=True
        ):
            exact = truth(*map(mpmath.mpf, xs))
            step = float(form.spacing(np.array(float(exact))))
            errors.append(
                float(abs(mpmath.mpf(value) - exact) / step)
                if math.isfinite(value)
                else math.inf
            )
    return np.array(errors)


def special_faults(
    what: Function, run: Callable[[np.ndarray], np.ndarray], dtype: str
) -> list[str]:
    """Where the result at a special argument is not the right one: zeros, infinities, NaN, the smallest numbers."""
    form = FORMATS[dtype]
    points = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, form.tiny, form.tiny / 4, -form.tiny / 4],
        dtype,
    )
    with np.errstate(all="ignore"):
        got = run(points)
    faults = []
    for x, y in zip(points.tolist(), got.tolist(), strict=True):
        want = _limit(what.truth, x)
        if want is not None and not _same(y, want, form.tiny * form.eps):
            faults.append(f"{x:.6g} gives {y:.6g}, right is {want:.6g}")
    return faults


def _limit(truth: Callable[..., Any], x: float) -> float | None:
    """The truth at a special argument; None where mpmath does not say."""
    if math.isnan(x):
        return math.nan
    try:
        with mpmath.workdps(DIGITS):
            value = truth(mpmath.mpf(x))
    except (ValueError, ZeroDivisionError):
        return None
    if isinstance(value, mpmath.mpc):
        return math.nan
    return (
        None
        if mpmath.isnan(value) and math.isinf(x) and truth is _gelu
        else float(value)
    )


def _same(got: float, want: float, step: float) -> bool:
    if math.isnan(want) or math.isinf(want):
        return got == want or (math.isnan(got) and math.isnan(want))
    return abs(got - want) <= max(4 * step, 1e-6 * abs(want))


def _check(
    asked: Sequence[str], known: Mapping[str, Any] | Sequence[str], what: str
) -> None:
    for name in asked:
        if name not in known:
            raise unknown(what, name, known)
