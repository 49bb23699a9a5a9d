"""What the command line asks of a suite, checked before the first test."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from ..bundle.encoding import MANIFEST
from ..bundle.records.recording import find_bundle
from ..errors import Deep500Error
from .further_processes import FurtherTask, read_task
from .options import TASK

FOLDER = ".d5"  # below pytest's root folder
NAME = re.compile(r"\w[\w.-]{0,99}")
SEVERAL = 6  # as few as an interval over processes can reach by ranks


@dataclass(frozen=True)
class SuiteSettings:
    """What is to be done; `series` is the folder to save into, `base` the bundle to compare with."""

    root: Path
    budget_s: float
    margin: float
    processes: int
    inconclusive: Literal["say", "fail"]
    once: bool
    series: Path | None
    base: Path | None
    task: FurtherTask | None  # of a further process


def read_settings(config: pytest.Config) -> SuiteSettings:
    """The settings; raises a Deep500Error for what cannot work."""
    option = config.option
    task_file = os.environ.get(TASK)
    task = read_task(task_file) if task_file else None
    is_main = task is None and not hasattr(config, "workerinput")
    saves = is_main and option.d5_save is not None
    compares = is_main and option.d5_against is not None
    if (saves or compares) and getattr(option, "numprocesses", None):
        raise Deep500Error(
            "tests that run beside each other disturb each other's times: leave -n out with --d5-save and --d5-against"
        )
    if (saves or compares) and option.d5_once:
        raise Deep500Error(
            "--d5-once times nothing: leave it out with --d5-save and --d5-against"
        )
    processes = option.d5_processes
    if processes is None:
        processes = SEVERAL if saves or compares else 1
    return SuiteSettings(
        root=config.rootpath,
        budget_s=option.d5_budget,
        margin=option.d5_margin,
        processes=processes if is_main else 1,
        inconclusive=option.d5_inconclusive,
        once=option.d5_once or hasattr(config, "workerinput"),
        series=_series(config, option.d5_save) if saves else None,
        base=_base(config.rootpath, option.d5_against) if compares else None,
        task=task,
    )


def _series(config: pytest.Config, name: str) -> Path:
    """The folder of the bundles of this name, which can be written to."""
    if not NAME.fullmatch(name):
        raise Deep500Error(f"--d5-save {name}: a name has letters, digits and ._- only")
    if (config.invocation_params.dir / name).exists():
        raise Deep500Error(
            f"--d5-save took the path {name!r} for a name: write --d5-save=NAME, or --d5-save after the paths"
        )
    folder = config.rootpath / FOLDER / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Deep500Error(
            f"--d5-save: {folder} cannot be written: {error.strerror}"
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Deep500Error(f"--d5-save: {folder} cannot be written: no permission")
    return folder


def _base(root: Path, name: str) -> Path:
    """The newest bundle of that name, or the bundle at that path or of that run."""
    if NAME.fullmatch(name):
        finished = (root / FOLDER / name).glob(f"*/{MANIFEST}")
        folders = [path.parent for path in finished]
        if folders:
            return max(folders, key=lambda path: path.name)
    try:
        return find_bundle(name)
    except Deep500Error:
        raise Deep500Error(
            f"--d5-against {name}: {root / FOLDER} holds no bundle of that name, and there is no such folder or run; "
            "save one with `pytest --d5-save=NAME`"
        ) from None
