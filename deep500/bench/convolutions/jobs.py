"""One convolution by one candidate, and its subject in the process that times it."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ...contracts.convolution_text import problem_of
from ...errors import Wrong
from ..benchmark import Job, Subject
from ..threads import use_threads
from .candidates import NATIVE, REORDER, operations, prepared, workspace
from .truth import sampled_truth

# of the sum of the magnitudes of an element's terms: far above rounding, far below an error
TOLERANCE = 1e-3


class ConvolutionJob(Job):
    """One line of the result."""

    shape: str
    direction: str
    candidate: str
    threads: int

    def name(self, result: Mapping[str, Any]) -> str:
        return f"{self.candidate} {self.direction} {self.shape}"

    @property
    def trial_text(self) -> str:
        return self.name({})

    @property
    def noun(self) -> str:
        return self.candidate

    @property
    def levels(self) -> dict[str, Any]:
        return {"shape": self.shape, "direction": self.direction}

    @property
    def place(self) -> tuple[str, str]:
        return self.shape, self.direction

    def work(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        work = {key: facts[key] for key in facts if key != "state"}
        return work | {
            "candidate": self.candidate,
            "dtype": problem_of(self.shape).dtype,
        }

    def subject(self) -> Subject:
        return ConvolutionSubject(self)


class ConvolutionSubject(Subject):
    """A convolution that is ready to run; rivals share their inputs."""

    arguments = ()

    def __init__(self, job: ConvolutionJob):
        use_threads("pytorch", job.threads)
        self.job = job
        self.problem = problem_of(job.shape)
        self.a, self.b = _inputs(job.shape, job.direction)
        self.run, self.result = prepared(
            job.candidate, self.problem, job.direction, self.a, self.b, job.threads
        )
        self.error: float | None = None

    def check(self) -> None:
        """Compare some elements with their sums in float64. Raises `Wrong` if one is too far off."""
        job = self.job
        if job.candidate == REORDER:
            return
        places, values, sizes = _truth(job.shape, job.direction)
        self.run()
        errors = np.abs(self.result()[places] - values)
        largest = np.max(np.abs(values)) or 1.0
        self.error = float(np.max(errors) / largest)
        if not np.max(errors) <= TOLERANCE * np.max(sizes):
            raise Wrong(
                f"{job.candidate} gives a wrong {job.direction} of {job.shape}: an element is off by "
                f"{self.error:.2g} of the largest"
            )

    def facts(self) -> dict[str, Any]:
        job, problem = self.job, self.problem
        nbytes = self.a.nbytes + self.b.nbytes
        shape = problem.shapes(job.direction)[2]
        return {
            "flops": operations(job.candidate, problem, job.direction),
            "direct": 0 if job.candidate == REORDER else problem.direct_operations,
            "bytes": nbytes + int(np.prod(shape)) * self.a.itemsize,
            "workspace": workspace(job.candidate, problem, job.direction, job.threads),
            "error": self.error,
            "native": job.candidate in NATIVE,
        }


@lru_cache(maxsize=4)
def _inputs(shape: str, direction: str) -> tuple[np.ndarray, np.ndarray]:
    """Random numbers between -1/2 and 1/2."""
    problem = problem_of(shape)
    random = np.random.default_rng(0)
    a_shape, b_shape, _ = problem.shapes(direction)
    a = random.random(a_shape, np.float32) - np.float32(0.5)
    b = random.random(b_shape, np.float32) - np.float32(0.5)
    return a.astype(problem.dtype), b.astype(problem.dtype)


@lru_cache(maxsize=64)
def _truth(
    shape: str, direction: str
) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    a, b = _inputs(shape, direction)
    return sampled_truth(problem_of(shape), direction, a, b, seed=1)
