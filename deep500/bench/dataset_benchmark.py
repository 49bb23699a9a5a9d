"""Benchmarks of reading data: containers, decoders, workers, with a warm or cold page cache."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

from .. import registry
from ..contracts.dataset import Dataset
from ..errors import Deep500Error
from ..home import cache, make_folder
from ..measure.plan import Settings
from .benchmark import Benchmark, Trial, combinations
from .datasets.containers import write_containers
from .datasets.jobs import CONTAINERS, ITS_OWN, MODES, DatasetJob
from .datasets.subject import examples_of
from .notes import Notes

DECODERS = ("simplejpeg", "pillow")
EVICTING = f"{__package__}.datasets.page_cache:evict_before_calls"


class DatasetBenchmark(Benchmark):
    """The examples of a data set, a batch or all of them, read from several containers."""

    kind: ClassVar[str] = "dataset_bench"
    smaller: ClassVar[str] = "containers, decoders or workers"
    fewer_threads: ClassVar[str] = "use fewer workers"

    dataset: str
    attributes: Mapping[str, Any]  # of the data set
    containers: tuple[str, ...] = (ITS_OWN,)
    decoders: tuple[str, ...] = ()
    workers: tuple[int, ...] = (0,)
    batch: int = 64
    examples: int = 512
    cold: bool = False
    folder: str = ""  # of the containers, while it runs

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch < 1 or self.examples < self.batch:
            raise Deep500Error(
                f"the batch has {self.batch} of {self.examples} examples: give 1 or more, and as many "
                "examples"
            )
        for container in self.containers:
            if container not in CONTAINERS:
                names = ", ".join(CONTAINERS)
                raise Deep500Error(
                    f"no container is named {container!r}: there are {names}"
                )
        fewest = min(self.workers)
        if fewest < 0:
            raise Deep500Error(f"{fewest} workers cannot be: give 0 or more")

    def definition(self) -> Dataset:
        """The data set with its attributes. Raises `Deep500Error` if it does not take them."""
        definition = registry.named("datasets", self.dataset)
        try:
            return definition(**self.attributes)
        except TypeError as error:
            raise Deep500Error(
                f"the data set {self.dataset!r} cannot be made: {error}"
            ) from None

    @property
    def busy_threads(self) -> int:
        return max(1, *self.workers)

    @property
    def measuring(self) -> Settings:
        if self.cold:
            return {"cache": "cold", "sync": EVICTING}
        return {}

    @contextmanager
    def prepared(self, notes: Notes) -> Iterator[Self]:
        """With the containers, which hold as many examples as there are."""
        notes.says("reading the data set")
        self._check_decoders()
        make_folder(cache(), "DEEP500_CACHE")
        with TemporaryDirectory(prefix="dataset-", dir=cache()) as folder:
            first, *_ = self.jobs()
            original = examples_of(first)
            write_containers(Path(folder), original, self.containers)
            yield replace(self, examples=len(original), folder=folder)

    def _check_decoders(self) -> None:
        if self.decoders and not hasattr(self.definition(), "decoder"):
            raise Deep500Error(
                f"the data set {self.dataset!r} has no pictures to decode: leave --decoder out"
            )

    def jobs(self) -> list[DatasetJob]:
        """All jobs; only the files of the data set itself are read with several decoders."""
        decodes = hasattr(self.definition(), "decoder")
        jobs = []
        for levels in combinations(
            container=self.containers, workers=self.workers, mode=MODES
        ):
            decoders: Sequence[str] = ("",)
            if decodes and levels["container"] == ITS_OWN:
                decoders = self.decoders or DECODERS
            for decoder in decoders:
                job = DatasetJob(
                    self.dataset,
                    self.attributes,
                    **levels,
                    decoder=decoder,
                    batch=self.batch,
                    examples=self.examples,
                    folder=self.folder,
                    cold=self.cold,
                )
                jobs.append(job)
        return jobs

    def about(self, trials: Sequence[Trial], notes: Notes) -> dict[str, Any]:
        states = {}
        examples = {}
        for trial in trials:
            examples[trial.name] = trial.job.examples_of_a_call
            if trial.state == "ok":
                states[trial.job.container] = trial.result["page_cache"]
        attributes = self.attributes.items()
        return {
            "dataset": self.dataset,
            "settings": {name: str(value) for name, value in attributes},
            "digest": self.definition().load()["train"].digest(),
            "files": self.definition().checksums(),
            "examples": examples,
            "batch": self.batch,
            "page_cache": states,
        }
