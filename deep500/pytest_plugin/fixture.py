"""The fixture `d5`: benchmarks and checks inside of a test, which fails by verdict."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, Literal

import pytest

from ..errors import Deep500Error, TooFewSamples
from ..measure.results import Result
from ..measure.statistics.comparison import Comparison
from ..reports.tables import ratio
from .suite_run import SuiteRun

if TYPE_CHECKING:
    from ..check.report import Reports


class D5:
    """What a test can ask for."""

    def __init__(self, run: SuiteRun, test: str):
        self.run = run
        self.test = test

    def bench(
        self,
        function: Callable,
        *args: Any,
        name: str = "",
        budget: float | None = None,
        **kwargs: Any,
    ) -> Result:
        """Time `function(*args, **kwargs)`: the samples, with `.interval(…)` and every number in `.derived`."""
        __tracebackhide__ = True  # of an error in the function
        label = function_name(function, "function")
        bound = bound_call(function, args, kwargs)
        bound()  # raises its own error, if it has one
        self._skip_if_once()
        with failing_in_one_line():
            return self.run.measure(
                self.test, name, {label: bound}, budget_s=self._budget(budget)
            )

    def compare(
        self,
        base: Callable,
        other: Callable,
        *args: Any,
        margin: float | None = None,
        name: str = "",
        budget: float | None = None,
        inconclusive: Literal["say", "fail"] | None = None,
        **kwargs: Any,
    ) -> Comparison | TooFewSamples:
        """Time two functions in turn, with the same arguments; the test fails if `other` is slower than `base`."""
        __tracebackhide__ = True
        first = function_name(base, "base")
        second = function_name(other, "other")
        if first == second:
            first, second = f"{first} (base)", f"{second} (other)"
        bound = {
            first: bound_call(base, args, kwargs),
            second: bound_call(other, args, kwargs),
        }
        for call in bound.values():
            call()
        self._skip_if_once()
        if margin is None:
            margin = self.run.settings.margin
        with failing_in_one_line():
            result = self.run.measure(
                self.test, name, bound, margin=margin, budget_s=self._budget(budget)
            )
            [(_, _, found)] = result.comparisons
        if self.run.settings.task is None:
            action = inconclusive or self.run.settings.inconclusive
            self._judge(found, first, second, action)
        return found

    def check(self, operator: Any, *args: Any, **settings: Any) -> "Reports | None":
        """Check an operator (a class, an instance or a name) as `deep500.check_operator`; fails unless it is right."""
        from .. import registry
        from ..check.operators import check_operator

        if self.run.settings.task is not None:
            return None  # a further process only measures
        with failing_in_one_line():
            if isinstance(operator, str):
                operator = registry.find("operators", operator)
            reports = check_operator(operator, *args, **settings)
        if not reports.ok:
            pytest.fail(f"{reports.subject}: {reports.text}", pytrace=False)
        return reports

    def _judge(
        self,
        found: Comparison | TooFewSamples,
        base: str,
        other: str,
        inconclusive: str,
    ) -> None:
        sentence = comparison_sentence(found, base, other)
        if not isinstance(found, TooFewSamples) and found.verdict == "slower":
            pytest.fail(sentence, pytrace=False)
        if isinstance(found, TooFewSamples) or found.verdict == "inconclusive":
            if inconclusive == "fail":
                pytest.fail(sentence, pytrace=False)
            self.run.remarks.append(f"{self.test}: {sentence}")

    def _budget(self, seconds: float | None) -> float:
        return self.run.settings.budget_s if seconds is None else seconds

    def _skip_if_once(self) -> None:
        if self.run.settings.once:
            pytest.skip("called once and not timed (--d5-once, or tests side by side)")


def comparison_sentence(
    found: Comparison | TooFewSamples, base: str, other: str
) -> str:
    """What a comparison says, in one line."""
    if isinstance(found, TooFewSamples):
        return f"inconclusive whether {other} is slower than {base}: {found}"
    figure = ratio(found.ratio, found.low, found.high, found.n, found.level)
    beyond = f"margin {found.margin:g}"
    takes = f"it takes {figure} of the time, {beyond}"
    if found.verdict == "inconclusive":
        reasons = "".join(f"; {note}" for note in found.notes[:2])
        return f"inconclusive whether {other} is slower than {base}: {takes}{reasons}"
    return f"{other} is {found.verdict} than {base}: {takes}"


def function_name(function: Callable, otherwise: str) -> str:
    """How a function calls itself; a lambda has no name."""
    name = getattr(function, "__name__", type(function).__name__)
    return otherwise if name == "<lambda>" else name


def bound_call(function: Callable, args: tuple, kwargs: dict[str, Any]) -> Callable:
    """A callable without arguments, named as the function."""
    if not args and not kwargs:
        return function
    return update_wrapper(partial(function, *args, **kwargs), function)


@contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Let the test fail with the line of a Deep500Error, without a traceback through the engine."""
    try:
        yield
    except Deep500Error as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
