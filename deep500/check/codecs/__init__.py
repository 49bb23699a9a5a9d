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
from ...definition_text import definition_given
from ..operators.formats import checked_dtypes
from ..report import CheckResult
from ..report import OperatorReport as CodecReport
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
    codec: Codec | str | type,
    dtypes: Sequence[str] | str = DTYPES,
    seed: int = 0,
    loops: str | None = None,
    progress: Progress | None = None,
) -> CodecReport:
    """Check that a codec does what it declares; `loops` is "C++" or "NumPy", the inner loops that it runs with.

    Without `loops`, they are in C++ if it has such.
    """
    subject: Codec = definition_given(codec, "codecs")
    loops = loops or loops_of(subject)[0]
    checks: list[CheckResult] = []
    with _native.only_numpy(loops == "NumPy"):
        for dtype in checked_dtypes(dtypes, DTYPES):
            checks += _checks(subject, dtype, seed, progress or _silent)
    return CodecReport(str(subject), loops, "codec", checks)


def loops_of(codec: Codec) -> tuple[str, ...]:
    """The languages of a codec's inner loops: only ours have some in C++, where they can be compiled."""
    members = [codec, *codec.settings.values()]
    package = _native.__name__.rpartition(".")[0]
    for member in members:
        for cls in type(member).__mro__:
            if cls.__module__.startswith(package) and _native.library():
                return LOOPS
    return ("NumPy",)


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
