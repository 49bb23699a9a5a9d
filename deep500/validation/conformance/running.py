"""Cases in a child process, each with a deadline: one that crashes or never ends costs only itself."""

import sys
from collections.abc import Callable, Iterator, Sequence

from ...errors import Deep500Error
from ...frameworks import available_frameworks, framework
from ...supervision.child import Child, Died, Ended, Silent
from ...supervision.starting import Send
from .derivatives import judge_derivative
from .judging import judge
from .suite import Case
from .verdicts import BOUND, DIRECT, ERROR, GRADIENT, Verdict

Judge = Callable[[Case], Verdict]


def columns() -> list[str]:
    """What the suite is run on: every framework that is installed, once with inputs bound; ONNX Runtime by itself; and
    the derivatives."""
    frameworks = available_frameworks()
    bound = [name + BOUND for name in frameworks]
    direct = [DIRECT] if "onnxruntime" in frameworks else []
    return [*frameworks, *bound, *direct, GRADIENT]


def judge_of(column: str) -> Judge:
    return judge_derivative if column == GRADIENT else lambda case: judge(case, column)


def verdicts(
    cases: Sequence[Case], judging: Judge, deadline_s: float
) -> Iterator[Verdict]:
    """What `judging` says of every case, in order.

    Children are forked, so that cases need not be made again; this process must not have loaded a framework before,
    whose threads a child would miss.
    """
    _refuse_loaded_frameworks()
    at = 0
    while at < len(cases):
        for verdict in _until_lost(cases[at:], judging, deadline_s):
            yield verdict
            at += 1


def _until_lost(
    cases: Sequence[Case], judging: Judge, deadline_s: float
) -> Iterator[Verdict]:
    """Verdicts from one child, until it is done or lost; the case that it is lost on has a verdict too."""

    def work(send: Send) -> None:
        for case in cases:
            verdict = judging(case)
            send({"verdict": [verdict.word, verdict.text]})

    with Child.forked(work) as child:
        for _ in cases:
            try:
                yield _verdict(child.answer("verdict", deadline_s))
            except Silent:
                yield Verdict(ERROR, f"it took longer than {deadline_s:g} s")
                return
            except Ended as end:
                yield Verdict(ERROR, f"it ended the process (exit code {end.code})")
                return
            except Died as death:
                yield Verdict(ERROR, str(death))
                return


def _verdict(answer: object) -> Verdict:
    match answer:
        case [str(word), str(text)]:
            return Verdict(word, text)
    return Verdict(ERROR, f"it sent no verdict: {str(answer)[:60]!r}")


def _refuse_loaded_frameworks() -> None:
    names = {framework(name).module_name for name in available_frameworks()} - {"numpy"}
    if loaded := sorted(names & set(sys.modules)):
        raise Deep500Error(
            f"the suite runs in copies of this process, which has already loaded {', '.join(loaded)}: "
            "run it from a fresh one"
        )
