"""Checks whether a codec does what it declares: its payloads, its randomness, its error feedback.

inputs.py        buffers that resemble gradients
coding.py        the checks of a single payload
declaration.py   unbiased, contraction, variance, linear: statistics.py tells faults from chance
aggregation.py   the checks of several ranks together
"""

from collections.abc import Iterator, Sequence

from ...codecs import _native
from ...contracts.codec import Codec
from ...definition_text import definition_given
from ...supervision.serving import Progress, silent
from ..operators.formats import checked_dtypes
from ..report import CheckReport, CheckResult, Reports
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


def check_codec(
    codec: Codec | str | type,
    *,
    dtypes: Sequence[str] | str = DTYPES,
    seed: int = 0,
    loops: str | None = None,
    progress: Progress | None = None,
) -> Reports:
    """Check that a codec does what it declares; `loops` is "C++" or "NumPy", the inner loops that it runs with.

    Without `loops`, they are in C++ if it has such.
    """
    subject: Codec = definition_given(codec, "codecs")
    loops = loops or loops_of(subject)[0]
    report = check_loops(subject, dtypes, seed, loops, progress or silent)
    return Reports("codec", report.subject, [report])


def check_loops(
    codec: Codec,
    dtypes: Sequence[str] | str,
    seed: int,
    loops: str,
    progress: Progress,
) -> CheckReport:
    """The report on a codec with one kind of loops."""
    checks: list[CheckResult] = []
    with _native.only_numpy(loops == "NumPy"):
        for dtype in checked_dtypes(dtypes, DTYPES):
            checks += _checks(codec, dtype, seed, progress)
    return CheckReport("codec", str(codec), loops, "codec", checks)


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
            yield from guarded(case, "special values", check_special_values(case))
    whole = CodecCase(codec, "", 0, dtype, seed)
    yield from guarded(whole, "packing", check_packing(codec, dtype, seed))
    progress(f"what it declares, in {dtype}")
    yield from guarded(whole, "declaration", check_declaration(codec, dtype, seed))
    progress(f"ranks together in {dtype}")
    yield from guarded(whole, "aggregation", check_aggregation(codec, dtype, seed))
