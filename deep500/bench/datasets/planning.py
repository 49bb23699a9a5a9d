"""Plans the benchmark of a data set: every job is tried first; those that cannot be read are listed with a reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Unpack

from ... import registry
from ...contracts.dataset import Dataset, Split
from ...errors import Deep500Error, Unsupported
from ...measure.candidates import Statement
from ...measure.plan import Plan, PlanEntry, Settings, make_plan
from .containers import files_of, maps_of, write_containers
from .jobs import CONTAINERS, ITS_OWN, MODES, DatasetJob
from .page_cache import MOST_RESIDENT, evict, resident_share
from .subject import DatasetSubject, examples_of

Progress = Callable[[str], None]
IMPORTS = f"from {__package__}.subject import DatasetSubject\n"
EVICTING = f"{__package__}.page_cache:evict_before_calls"


@dataclass(frozen=True)
class DatasetBenchRequest:
    """The factors of a benchmark; every combination of them is a job."""

    dataset: str
    settings: Mapping[str, Any]
    containers: Sequence[str] = (ITS_OWN,)
    decoders: Sequence[str] = ()
    workers: Sequence[int] = (0,)
    batch: int = 64
    examples: int = 512
    cold: bool = False

    def __post_init__(self) -> None:
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
        """The data set with its settings. Raises `Deep500Error` if it does not take them."""
        definition = registry.named("datasets", self.dataset)
        try:
            return definition(**self.settings)
        except TypeError as error:
            raise Deep500Error(
                f"the data set {self.dataset!r} cannot be made: {error}"
            ) from None

    def jobs(self, folder: Path) -> list[DatasetJob]:
        """All jobs; only the files of the data set itself are read with several decoders."""
        decodes = hasattr(self.definition(), "decoder")
        if self.decoders and not decodes:
            raise Deep500Error(
                f"the data set {self.dataset!r} has no pictures to decode: leave --decoder out"
            )
        jobs = []
        combinations = product(self.containers, self.workers, MODES)
        for container, workers, mode in combinations:
            decoders: Sequence[str] = ("",)
            if decodes and container == ITS_OWN:
                decoders = self.decoders or ("simplejpeg", "pillow")
            for decoder in decoders:
                jobs.append(
                    self._job(container, decoder, workers, mode, folder)
                )
        return jobs

    def _job(
        self,
        container: str,
        decoder: str,
        workers: int,
        mode: str,
        folder: Path,
    ) -> DatasetJob:
        return DatasetJob(
            self.dataset,
            dict(self.settings),
            container,
            decoder,
            workers,
            mode,
            self.batch,
            self.examples,
            str(folder),
            self.cold,
        )


def dataset_plan(
    request: DatasetBenchRequest,
    folder: Path,
    progress: Progress = lambda text: None,
    **settings: Unpack[Settings],
) -> Plan:
    """Write the containers into `folder`, read every combination once, and plan those that are right.

    Raises `Deep500Error` with the first reason if none is.
    """
    if request.cold:
        settings["cache"] = "cold"
        settings["sync"] = EVICTING
    # checks the settings
    base = make_plan({"a data set": Statement("pass")}, **settings)
    progress("reading the data set")
    train = request.definition().load()["train"]
    jobs = request.jobs(folder)
    original = examples_of(jobs[0])
    request = replace(request, examples=len(original))
    jobs = [replace(job, examples=len(original)) for job in jobs]
    write_containers(folder, original, request.containers)
    entries: list[PlanEntry] = []
    left_out: dict[str, str] = {}
    states: dict[str, Any] = {}
    for job in jobs:
        progress(job.name)
        try:
            subject = _tried(job)
            states[job.container] = _page_cache_state(job, original, subject)
            entries.append(_entry(job))
        except Unsupported as reason:
            left_out[job.name] = str(reason)
    if not entries:
        raise Deep500Error(next(iter(left_out.values())))
    about = {
        "dataset": request.dataset,
        "settings": {
            name: str(value) for name, value in request.settings.items()
        },
        "digest": train.digest(),
        "files": request.definition().checksums(),
        "examples": {job.name: job.examples_of_a_call for job in jobs},
        "batch": request.batch,
        "page_cache": states,
        "wrong": {},
        "left_out": left_out,
    }
    factors = {"read": list(MODES)}
    return replace(
        base,
        entries=tuple(entries),
        factors=factors,
        user_imports=False,
        about=about,
    )


def _tried(job: DatasetJob) -> DatasetSubject:
    """The subject of the job, after it was run and checked. Raises `Unsupported` if it cannot be timed."""
    if job.cold and job.workers:
        raise Unsupported(
            "workers read ahead, so that a cold page cache is measured without them"
        )
    subject = DatasetSubject(job.to_json())
    subject.run()
    subject.check()
    return subject


def _page_cache_state(
    job: DatasetJob, original: Split, subject: DatasetSubject
) -> dict[str, Any]:
    """The share of the files' pages that are in the page cache when a call begins; None if it is not known."""
    paths = files_of(job, original)
    if not paths:
        if job.cold:
            raise Unsupported(
                "what is in memory has no files: only the caches of the CPU are cold"
            )
        return {"state": "no files", "resident": None}
    if not job.cold:
        subject.split.batch(slice(None))
        return {"state": "warm", "resident": resident_share(paths)}
    evict(paths, maps_of(subject.split))
    share = resident_share(paths)
    if share is not None and share > MOST_RESIDENT:
        percent = f"{share:.0%}"
        raise Unsupported(
            f"the page cache cannot be emptied here: {percent} of the pages of {paths[0]} stay"
        )
    return {"state": "cold", "resident": share}


def _entry(job: DatasetJob) -> PlanEntry:
    """The statement that is timed, with its setup and its check."""
    setup = f"{IMPORTS}subject = DatasetSubject({job.to_json()!r})\nrun = subject.run"
    statement = Statement("run()", setup, "subject.check()")
    return PlanEntry(job.name, statement, {"read": job.mode})
