"""The judge's side of a kernel: fresh inputs for every visit, its own clock, every output of a timed call checked."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import Deep500Error
from ..measure.clock import now
from ..results.kernel_contest import KernelVisit
from ..supervision.sandbox import python_folders
from .definition import ContestFolder
from .evaluation import Refusal
from .kernel_problem import KernelProblem, check_problem, load_problem
from .kernel_trainee import KERNEL, KernelOrder
from .referee import PACKAGE, sandbox_place
from .sandboxed_child import NotDecided, SandboxedChild, SeedFailure, sandboxed
from .shared_arrays import ArrayForm, forms_of, mapped, new_memory
from .submissions import MAIN, Submission

TRAINEE = "deep500.contest.kernel_trainee"
PROBLEM = "problem.py"
REFERENCE = "reference"
COPIES = 5
FASTER_THAN_COPY = 4  # times: caches, and threads on every CPU


@dataclass
class KernelSide:
    """A sandboxed process with a kernel, and the memory that the judge shares with it."""

    child: SandboxedChild
    inputs: list[np.ndarray]
    outputs: list[np.ndarray]

    def visit(self, inputs: list[np.ndarray], timeout_s: float) -> int:
        """The nanoseconds from letting it go on until it has answered and all of it stands still again."""
        for place, array in zip(self.inputs, inputs, strict=True):
            place[...] = array
        for output in self.outputs:
            output[...] = _poison(output.dtype)
        begin = now()
        self.child.go_on()
        self.child.ask({"do": "visit"}, "done", timeout_s)
        self.child.stop()
        return now() - begin


class KernelReferee:
    """Runs a submitted kernel and the organiser's reference in turn, each in its own sandbox."""

    def __init__(self, folder: ContestFolder, submission: Submission):
        self.folder = folder
        self.submission = submission
        self.problem: KernelProblem = load_problem(folder.recipe_file)
        self.layers: Mapping[str, str] = {}

    def floor_ns(self, calls: int) -> float:
        """What a call cannot be shorter than: a share of the time to copy its inputs and outputs here."""
        arrays = self.problem.drawn(np.random.default_rng(0), calls)
        arrays += self.problem.expected(arrays)
        places = [np.empty_like(array) for array in arrays]
        best = float("inf")
        for _ in range(COPIES):
            begin = time.perf_counter_ns()
            for place, array in zip(places, arrays, strict=True):
                np.copyto(place, array)
            best = min(best, time.perf_counter_ns() - begin)
        return best / calls / FASTER_THAN_COPY / (os.cpu_count() or 1)

    def run(self, seed: int, visits: int, calls: int) -> Iterator[KernelVisit]:
        """The visits of one pair of processes; a Refusal if an answer is wrong or does not come."""
        random = np.random.default_rng(seed)
        sample = self.problem.drawn(random, calls)
        forms = forms_of(sample), forms_of(self.problem.expected(sample))
        with ExitStack() as stack:
            reference = stack.enter_context(self._side(forms, REFERENCE))
            submission = stack.enter_context(self._side(forms, KERNEL))
            for visit in range(visits):
                inputs = self.problem.drawn(random, calls)
                expected = self.problem.expected(inputs)
                sides = [(REFERENCE, reference), (KERNEL, submission)]
                if visit % 2:
                    sides.reverse()
                ns = {name: self._visited(name, side, inputs) for name, side in sides}
                self._check_reference(self.problem.worst(reference.outputs, expected))
                worst = self.problem.worst(submission.outputs, expected)
                if worst > 1:
                    raise Refusal(
                        "answers",
                        f"visit {visit}: an element is wrong by {worst:.3g} times what is allowed",
                    )
                yield KernelVisit(seed, visit, ns[REFERENCE], ns[KERNEL], worst)

    def _visited(self, name: str, side: KernelSide, inputs: list[np.ndarray]) -> int:
        with _blame(name):
            return side.visit(inputs, self.folder.contest.seconds)

    def _check_reference(self, worst: float) -> None:
        if worst > 1:
            raise Deep500Error(
                f"the organiser's reference does not agree with itself: {worst:.3g} times what is allowed"
            )

    @contextmanager
    def _side(
        self, forms: tuple[list[ArrayForm], list[ArrayForm]], function: str
    ) -> Iterator[KernelSide]:
        """A process with `kernel` of the submission, or `reference` of the organiser; loaded, and standing still."""
        files = dict(self.submission.files)
        main = f"submission/{MAIN}"
        if function == REFERENCE:
            files = {MAIN: self.folder.recipe_file.read_bytes()}
        limits = self.folder.contest.limits
        with ExitStack() as stack:
            place = stack.enter_context(sandbox_place(self.folder.recipe_file, files))
            given = stack.enter_context(_memory(forms[0]))
            taken = stack.enter_context(_memory(forms[1]))
            order = KernelOrder(
                root=str(place / "root"),
                readable=[*python_folders(), str(PACKAGE), str(place / "given")],
                limits=limits,
                file=str(place / "given" / main),
                function=function,
                inputs=forms[0],
                outputs=forms[1],
            )
            readable = os.open(f"/proc/self/fd/{given}", os.O_RDONLY)
            stack.callback(os.close, readable)
            child = stack.enter_context(
                sandboxed(TRAINEE, order, limits, [readable, taken])
            )
            side = KernelSide(
                child,
                mapped(given, forms[0], writable=True),
                mapped(taken, forms[1], writable=True),
            )
            with _blame(function):
                self._load(side)
            yield side

    def _load(self, side: KernelSide) -> None:
        seconds = self.folder.contest.load_seconds
        self.layers = side.child.begin(seconds)
        side.child.ask({"do": "load"}, "loaded", seconds)
        side.child.stop()


@contextmanager
def _blame(function: str) -> Iterator[None]:
    """What stops the organiser's reference says nothing about a submission."""
    try:
        yield
    except SeedFailure as failure:
        if function != REFERENCE:
            raise
        raise NotDecided(
            f"the organiser's reference failed: {failure.layer}: {failure}"
        ) from None


@contextmanager
def _memory(forms: list[ArrayForm]) -> Iterator[int]:
    descriptor = new_memory(forms)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _poison(dtype: np.dtype) -> object:
    """What no right answer is, so that an output that is not written is wrong."""
    if dtype.kind in "fc":
        return np.nan
    return np.iinfo(dtype).min if dtype.kind in "iu" else 0


def problem_file(path: Path) -> Path:
    """The organiser's problem, once it is seen to be one."""
    if not path.is_file():
        raise Deep500Error(f"there is no problem {path}")
    check_problem(path)
    return path
