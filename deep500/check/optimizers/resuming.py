"""Resumes a run of an optimizer in a new process, from several points, to compare it with a run that never ended.

The new process has a fresh object and fresh modules: what an optimizer keeps outside of its state is not there.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import Deep500Error, with_place
from ...import_path import add_import_folder
from ...supervision.isolation import isolated
from ...supervision.serving import Progress
from ...training.given_gradients import Arrays, batch_of, fed_executor
from ..wire import decoded, encoded
from .origins import from_origin
from .problems import TrainingProblem, problems

STEPS = 8
POINTS = (1, 2, 5)  # the numbers of steps after which the run is resumed
TIMEOUT_S = 300.0

# by the point of resumption: the state of the optimizer and the parameters
Checkpoints = dict[int, tuple[dict[str, np.ndarray], Mapping[str, np.ndarray]]]


def resumption_problem(seed: int) -> TrainingProblem:
    return problems(seed)[2]  # the small network


def whole_run(
    framework: str, optimizer: Any, seed: int, dtype: str
) -> tuple[Checkpoints, Mapping[str, np.ndarray]]:
    """The checkpoints of an uninterrupted run, and its last parameters."""
    problem = resumption_problem(seed)
    executor = fed_executor(framework, problem.start, dtype)
    step = executor.training_step(optimizer)
    checkpoints: Checkpoints = {}
    for number, batch in enumerate(_batches(problem, dtype), 1):
        step(batch)
        if number in POINTS:
            params = {k: np.array(v) for k, v in executor.arrays().items()}
            checkpoints[number] = step.state(), params
    return checkpoints, executor.arrays()


def resumed_run(
    framework: str,
    optimizer: Any,
    seed: int,
    dtype: str,
    point: int,
    checkpoint: tuple[Mapping[str, np.ndarray], Arrays],
) -> Mapping[str, np.ndarray]:
    """The last parameters of a run that continues from a checkpoint."""
    state, params = checkpoint
    problem = resumption_problem(seed)
    executor = fed_executor(framework, params, dtype)
    step = executor.training_step(optimizer)
    step.load_state(state)
    for batch in _batches(problem, dtype)[point:]:
        step(batch)
    return executor.arrays()


def resumed_elsewhere(
    framework: str,
    origin: Mapping[str, Any],
    seed: int,
    checkpoints: Mapping[str, Checkpoints],
) -> dict[str, dict[int, Mapping[str, np.ndarray]]] | None:
    """The last parameters by dtype and point of resumption, from a new process; None if it cannot make the object."""
    runs = []
    for dtype, by_point in checkpoints.items():
        for point, (state, params) in by_point.items():
            saved = encoded({"state": dict(state), "params": dict(params)})
            runs.append([dtype, point, saved])
    request = {
        "framework": framework,
        "origin": dict(origin),
        "seed": seed,
        "runs": runs,
        "folders": [folder for folder in sys.path if folder],
    }
    answers = isolated(f"{__name__}:resume_all", request, TIMEOUT_S)
    if answers is None:
        return None
    ends: dict[str, dict[int, Mapping[str, np.ndarray]]] = {}
    for (dtype, point, _), answer in zip(runs, answers, strict=True):
        ends.setdefault(dtype, {})[point] = decoded(answer)
    return ends


def resume_all(
    framework: str,
    origin: Mapping[str, Any],
    seed: int,
    runs: Sequence[Any],
    folders: Sequence[str],
    progress: Progress,
) -> list[Any] | None:
    """In the new process: resume every run with a new object, and return its last parameters; None without object."""
    for folder in folders:
        add_import_folder(folder)
    try:
        from_origin(origin)
    except (ImportError, AttributeError):  # its module is not found here
        return None
    ends = []
    for dtype, point, saved in runs:
        progress(f"resumption after step {point}, {dtype}")
        checkpoint = decoded(saved)
        try:
            end = resumed_run(
                framework,
                from_origin(origin),
                seed,
                dtype,
                point,
                (checkpoint["state"], checkpoint["params"]),
            )
        except Deep500Error:
            raise
        except Exception as error:  # whatever the optimizer does
            raise Deep500Error(
                f"resumed after step {point} in a new process: {with_place(error)}"
            ) from error
        arrays = {name: np.array(value) for name, value in end.items()}
        ends.append(encoded(arrays))
    return ends


def _batches(problem: TrainingProblem, dtype: str) -> list[Any]:
    """Gradients at random points: where their signs never change, a rule that takes signs needs no momentum."""
    rng = np.random.default_rng(0)
    batches = []
    for number in range(STEPS):
        point = {}
        for name, value in problem.start.items():
            point[name] = value + rng.standard_normal(value.shape)
        gradients = problem.gradient(point, number)
        batches.append(batch_of(gradients, dtype))
    return batches
