"""Runs cases in a child process, each with a deadline: one that crashes or never ends does not affect the others."""

import sys
from collections.abc import Callable, Iterator, Sequence

from ...errors import Deep500Error
from ...frameworks import available_frameworks, framework
from ...supervision.child import Child, Died, Ended, Silent
from ...supervision.starting import Send
from .derivatives import judge_derivative
from .judging import judge
from .suite import SuiteCase
from .verdicts import BOUND, DIRECT, ERROR, GRADIENT, CaseVerdict

Judge = Callable[[SuiteCase], CaseVerdict]


def columns() -> list[str]:
    """The columns of the result: every installed framework, each again with inputs bound, ONNX Runtime by itself, and
    the derivatives."""
    frameworks = available_frameworks()
    bound = [name + BOUND for name in frameworks]
    direct = [DIRECT] if "onnxruntime" in frameworks else []
    return [*frameworks, *bound, *direct, GRADIENT]


def judge_of(column: str) -> Judge:
    """The function that judges a case for this column."""
    if column == GRADIENT:
        return judge_derivative
    return lambda case: judge(case, column)


def verdicts(
    cases: Sequence[SuiteCase], judging: Judge, deadline_s: float
) -> Iterator[CaseVerdict]:
    """The verdicts of `judging` on all cases, in order.

    Children are forked, so that cases need not be created again. Raises `Deep500Error` if this process has loaded a
    framework, because its threads do not survive a fork.
    """
    _refuse_loaded_frameworks()
    judged = 0
    while judged < len(cases):
        for verdict in _until_lost(cases[judged:], judging, deadline_s):
            yield verdict
            judged += 1


def _until_lost(
    cases: Sequence[SuiteCase], judging: Judge, deadline_s: float
) -> Iterator[CaseVerdict]:
    """Verdicts from one child, until it has finished or is lost; the case on which it is lost gets a verdict, too."""

    def work(send: Send) -> None:
        for case in cases:
            verdict = judging(case)
            send({"verdict": [verdict.word, verdict.text]})

    with Child.forked(work) as child:
        for _ in cases:
            try:
                answer = child.answer("verdict", deadline_s)
                yield _verdict(answer)
            except Silent:
                yield CaseVerdict(ERROR, f"it took longer than {deadline_s:g} s")
                return
            except Ended as end:
                yield CaseVerdict(ERROR, f"it ended the process (exit code {end.code})")
                return
            except Died as death:
                yield CaseVerdict(ERROR, str(death))
                return


def _verdict(answer: object) -> CaseVerdict:
    match answer:
        case [str(word), str(text)]:
            return CaseVerdict(word, text)
    start = str(answer)[:60]
    return CaseVerdict(ERROR, f"it sent no verdict: {start!r}")


def _refuse_loaded_frameworks() -> None:
    modules = {framework(name).module_name for name in available_frameworks()}
    loaded = (modules - {"numpy"}) & sys.modules.keys()
    if loaded:
        names = ", ".join(sorted(loaded))
        raise Deep500Error(
            f"the suite runs in copies of this process, which has already loaded {names}: "
            "run it from a fresh one"
        )
