"""Checks whether a codec does what it declares: its payloads, its randomness, its error feedback.

inputs.py        buffers that resemble gradients
coding.py        the checks of a single payload
declaration.py   unbiased, contraction, variance, linear: statistics.py tells faults from chance
aggregation.py   the checks of several ranks together
loading.py       creates a codec from a user's text
"""

from collections.abc import Callable, Iterator, Sequence

from ...codecs import _native
from ...contracts.codec import Codec
from ..checking.report import CheckResult
from ..checking.report import OperatorReport as CodecReport
from .aggregation import check_aggregation
from .coding import (
    CodecCase,
    cases,
    check_coding,
    check_packing,
    check_special_values,
    check_zeros,
    guarded,
)
from .declaration import check_declaration

DTYPES = ("float32", "float64")
LOOPS = ("C++", "NumPy")  # the languages of the inner loops
Progress = Callable[[str], None]


def check_codec(
    codec: Codec,
    dtypes: Sequence[str] = DTYPES,
    seed: int = 0,
    loops: str = "C++",
    progress: Progress | None = None,
) -> CodecReport:
    """Check that a codec does what it declares; `loops` is "C++" or "NumPy", the inner loops that it runs with."""
    checks: list[CheckResult] = []
    with _native.only_numpy(loops == "NumPy"):
        for dtype in dtypes:
            checks += _checks(codec, dtype, seed, progress or _silent)
    return CodecReport(str(codec), loops, "codec", checks)


def _checks(
    codec: Codec, dtype: str, seed: int, progress: Progress
) -> Iterator[CheckResult]:
    progress(f"payloads in {dtype}")
    for case in cases(codec, dtype, seed):
        yield from guarded(case, "round trip", check_coding(case))
        yield from guarded(case, "zeros", check_zeros(case))
        if case.size and case.regime == "normal":
            yield from guarded(
                case, "special values", check_special_values(case)
            )
    whole = CodecCase(codec, "", 0, dtype, seed)
    yield from guarded(whole, "packing", check_packing(codec, dtype, seed))
    progress(f"what it declares, in {dtype}")
    yield from guarded(
        whole, "declaration", check_declaration(codec, dtype, seed)
    )
    progress(f"ranks together in {dtype}")
    yield from guarded(
        whole, "aggregation", check_aggregation(codec, dtype, seed)
    )


def _silent(text: str) -> None:
    """The progress function of a caller who wants no progress."""
