"""The benchmark of convolutions: our algorithms against PyTorch's convolution, by shape and direction."""

from collections.abc import Sequence
from typing import Any, ClassVar

from ..contracts.convolution import DIRECTIONS
from ..contracts.convolution_text import problem_text
from ..errors import Deep500Error, unknown
from ..measure.bounds.roofline import peaks
from ..micro_batches.running import algorithm, algorithm_names
from .benchmark import Benchmark, Trial, check_distinct, combinations, factor
from .convolutions.candidates import CHANNELS_LAST, REORDER, TORCH
from .convolutions.jobs import ConvolutionJob
from .convolutions.shapes import problems_of
from .notes import Notes
from .threads import checked_threads

ALL = "all"
LAYOUTS = {"nchw": TORCH, "channels-last": CHANNELS_LAST, "reorder": REORDER}


class ConvolutionBenchmark(Benchmark):
    """ways to compute a convolution against PyTorch's best layout: time, rates, workspace, error, who wins where"""

    kind: ClassVar[str] = "convolution_bench"
    budget_s: ClassVar[float] = 30.0
    least_timeout_s: ClassVar[float] = 300.0
    smaller: ClassVar[str] = "shapes, directions or algorithms"
    fewer_threads: ClassVar[str] = "use --threads 1"

    shape: tuple[str, ...] = factor(
        ("resnet18",),
        "the inputs: alexnet, vgg16, resnet18, resnet50, googlenet, deepbench:tiny, deepbench:small, deepbench:full, "
        "or a convolution, as 8x64x56x56,64x3x3,pad=1,stride=2",
        "SHAPE",
    )
    convolution: tuple[str, ...] = factor(
        (ALL,),
        "the algorithms of convolutions, as `d5 list convolutions` names them, or all",
    )
    direction: tuple[str, ...] = factor(
        DIRECTIONS,
        "the direction: forward, the gradient by the data, by the filter",
        "DIRECTION",
    )
    layout: tuple[str, ...] = factor(
        tuple(LAYOUTS),
        "PyTorch's layouts, and what it costs to reorder between them; ours take nchw",
    )
    batch: int = factor(
        0,
        "the size of the batch; 0: 8 for networks, else that of the shape",
    )
    threads: int = factor(0, "the threads that compute (one per CPU)")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("shape", "convolution", "direction", "layout"):
            check_distinct(f"--{name}", getattr(self, name))
        for direction in self.direction:
            if direction not in DIRECTIONS:
                raise unknown("direction", direction, DIRECTIONS)
        for layout in self.layout:
            if layout not in LAYOUTS:
                raise unknown("layout", layout, tuple(LAYOUTS))
        for name in self.convolution:
            if name != ALL:
                algorithm(name)  # raises for an unknown name
        if not 0 <= self.batch <= 1 << 16:
            raise Deep500Error(
                f"--batch {self.batch}: give 1 to 65536, or 0 for that of the shape"
            )
        self._threads()

    def jobs(self) -> list[ConvolutionJob]:
        every = combinations(
            shape=self._shapes(), direction=self.direction, candidate=self._candidates()
        )
        return [ConvolutionJob(**levels, threads=self._threads()) for levels in every]

    def about(self, trials: Sequence[Trial], notes: Notes) -> dict[str, Any]:
        notes.says("the peaks of this machine")
        return {
            "peaks": peaks().to_json(),
            "threads": self._threads(),
            "inputs": "the same for all rivals, uniform between -1/2 and 1/2",
        }

    @property
    def busy_threads(self) -> int:
        return self._threads()

    def _shapes(self) -> list[str]:
        shapes: list[str] = []
        for name in self.shape:
            shapes += map(problem_text, problems_of(name, self.batch))
        return list(dict.fromkeys(shapes))

    def _candidates(self) -> list[str]:
        """PyTorch first: the first candidate is what the others are compared with."""
        names = [LAYOUTS[layout] for layout in LAYOUTS if layout in self.layout]
        for name in self.convolution:
            names += algorithm_names() if name == ALL else [name.lower()]
        return list(dict.fromkeys(names))

    def _threads(self) -> int:
        return checked_threads(self.threads or None)
