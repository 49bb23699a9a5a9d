"""The benchmark of compression: every codec on slow networks, against sending everything and against 16 bits."""

from collections.abc import Sequence
from typing import Any, ClassVar

from .. import registry
from ..definition import with_defaults
from ..errors import Deep500Error
from ..results.compression.data import BASELINES, UNLIMITED
from ..schema import encoded
from .benchmark import Benchmark, Trial, check_distinct, factor
from .compression.jobs import AccuracyJob, CompressionJob, TimesJob, TrafficJob

ALL = "all"
# what the talks' figure is for: 16 of every 512 numbers, with 4 bits each
SPARSE_4_BITS = "TopK(0.03125, bucket=512) | QSGD(bits=4)"
SPARSE, SPARSE_CODEC = "sparse_all_reduce", "TopK(0.01)"
MOST_RANKS = 64


class CompressionBenchmark(Benchmark):
    """when compression pays: steps and time to an accuracy by codec, on networks of 10 Mbit/s and more"""

    kind: ClassVar[str] = "compression_bench"
    timed: ClassVar[bool] = False
    least_timeout_s: ClassVar[float] = 1800.0

    bandwidth: tuple[float, ...] = factor(
        (10.0, 100.0, 1000.0), "Mbit/s of every rank", "RATE"
    )
    ranks: int = factor(4, "how many ranks", "P")
    codec: tuple[str, ...] = factor(
        (ALL,), "how gradients are coded, as text, or all", "CODEC"
    )
    scheme: tuple[str, ...] = factor((), "how ranks train together besides, as text")
    hidden: tuple[int, ...] = factor((512, 384), "hidden layers of the perceptron")
    batch: int = factor(64, "the size of the batch, on all ranks together")
    steps: int = factor(2, "the steps of which a sample consists")
    seconds: float = factor(20.0, "seconds of measuring in each launch", "SECONDS")
    launches: int = factor(3, "how often the ranks are started on each network")
    seeds: int = factor(3, "how many seeds the accuracy is over")
    epochs: int = factor(10, "how many epochs each of them trains")
    target: float = factor(
        90.0, "validation accuracy in %, to which times are compared"
    )
    seed: int = factor(0, "the seed of the random order")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distinct("--bandwidth", self.bandwidth)
        for rate in self.bandwidth:
            if not 0.01 <= rate <= 1e6:
                raise Deep500Error(f"--bandwidth {rate:g}: give 0.01 to 1000000 Mbit/s")
        if not 2 <= self.ranks <= MOST_RANKS:
            raise Deep500Error(f"--ranks {self.ranks}: give 2 to {MOST_RANKS}")
        for name in ("batch", "steps", "launches", "seeds", "epochs"):
            _check_count(name, getattr(self, name))
        for width in self.hidden:
            _check_count("hidden", width)
        if not 0 < self.target <= 100:
            raise Deep500Error(f"--target {self.target:g}: give a share in %")
        if self.batch < self.ranks:
            raise Deep500Error(
                f"--batch {self.batch} for {self.ranks} ranks: give each rank an example"
            )
        if not 0 < self.seconds < 1e6:
            raise Deep500Error(f"--seconds {self.seconds:g}: give more than 0")
        self.methods()

    def methods(self) -> list[str]:
        """The schemes by their text: both baselines, every codec, and what else is asked for."""
        from ..definition_text import definition_of, scheme_of

        texts: list[str] = []
        for codec in self.codec:
            texts += _every_codec() if codec == ALL else [codec]
        methods = [*BASELINES]
        for text in texts:
            definition_of(text, "codecs")
            name = text if text.endswith(")") else f"{text}()"
            methods.append(f"AllReduce(codec={name})")
        if ALL in self.codec:
            methods += sparse_schemes()
        for text in self.scheme:
            scheme_of(text)
            methods.append(text)
        return list(dict.fromkeys(methods))

    def jobs(self) -> list[CompressionJob]:
        """Networks in turn in every launch; then accuracy and traffic of every scheme."""
        methods = tuple(self.methods())
        common = (self.hidden, self.batch, self.ranks)
        jobs: list[CompressionJob] = []
        for launch in range(self.launches):
            own = (self.steps, self.seconds)
            for rate in (UNLIMITED, *self.bandwidth):
                seed = self.seed + launch
                jobs.append(TimesJob(methods, *common, seed, rate, launch, *own, True))
            jobs.append(
                TimesJob(methods, *common, self.seed, UNLIMITED, launch, *own, False)
            )
        for method in methods:
            for seed in range(self.seeds):
                jobs.append(AccuracyJob((method,), *common, seed, self.epochs))
            jobs.append(TrafficJob((method,), *common, self.seed))
        return jobs

    def block(self, group: str, trials: Sequence[Trial]) -> dict[str, Any]:
        [trial] = trials
        if trial.state == "ok":
            return trial.result["block"]
        return encoded(trial.job.block(failure=trial.text))


def _check_count(name: str, count: int) -> None:
    if not 1 <= count <= 10**6:
        raise Deep500Error(f"--{name} {count}: give 1 to 1000000")


def sparse_schemes() -> list[str]:
    """The largest hundredth of the numbers, by every collective that reduces sparse streams."""
    schemes = []
    for name in registry.known("collectives"):
        collective: Any = registry.find("collectives", name)
        if SPARSE in with_defaults(collective).operations:
            schemes.append(f"AllReduce(codec={SPARSE_CODEC}, collective={name}())")
    return schemes


def _every_codec() -> list[str]:
    """All codecs whose settings have defaults, and the talks' combination."""
    codecs = []
    for name in registry.known("codecs"):
        try:
            with_defaults(registry.find("codecs", name))
        except Deep500Error:
            continue
        codecs.append(f"{name}()")
    return [*codecs, SPARSE_4_BITS]
