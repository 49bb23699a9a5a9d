"""Further processes run the measuring tests again: times of one process say nothing about the next one."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..errors import Deep500Error, visible
from ..limited_files import limited_json
from ..measure.bench_blocks import TimedBlock
from ..measure.running import EarlierProcess
from ..schema import Between, Count, decoded, encoded
from .options import TASK

if TYPE_CHECKING:
    from .suite_run import SuiteRun

# options of pytest that would write over what the first process wrote
FILES = ("--junitxml", "--junit-xml", "--cov-report", "--report-log", "--html")


@dataclass(frozen=True)
class Begun:
    """A measurement that the first process began: its seed, one of its blocks, and when (monotonic) it began."""

    seed: Count
    block: TimedBlock
    began_s: Annotated[float, Between(0, 1e12)]

    @property
    def earlier(self) -> EarlierProcess:
        return EarlierProcess(self.block, self.began_s)


@dataclass(frozen=True)
class FurtherTask:
    """What a further process measures, and the file that it writes its blocks to."""

    tests: Sequence[str]
    measurements: Mapping[str, Begun]
    out: str


def read_task(path: str) -> FurtherTask:
    text = Path(path).read_text(encoding="utf-8")
    return decoded(FurtherTask, limited_json(text, path), TASK)


def measure_again(
    run: "SuiteRun", arguments: Sequence[str], folder: Path, timeout_s: float
) -> str:
    """Run the measuring tests in a new process and add its times; returns what went wrong, or nothing."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "blocks.jsonl"
        task = FurtherTask(run.measuring_tests, run.begun(), str(out))
        file = Path(place) / "task.json"
        file.write_text(json.dumps(encoded(task)), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", *without_files(arguments)]
        environment = os.environ | {TASK: str(file)}
        try:
            ended = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired:
            return f"took more than {timeout_s:.0f} s"
        blocks = _blocks(out)
    missing = [name for name in task.measurements if name not in blocks]
    if missing:
        lines = [*ended.stdout.splitlines(), *ended.stderr.splitlines()]
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"did not measure {', '.join(missing[:3])}: {visible(last)[:200]}"
    for name in task.measurements:
        for block in blocks[name]:
            run.add_times(name, block)
    return ""


def _blocks(path: Path) -> dict[str, list[TimedBlock]]:
    """The blocks by the measurement that they belong to."""
    blocks: dict[str, list[TimedBlock]] = {}
    if not path.exists():
        return blocks
    for line in path.read_text(encoding="utf-8").splitlines():
        name, document = json.loads(line)
        block = decoded(TimedBlock, document, "a further process")
        blocks.setdefault(name, []).append(block)
    return blocks


def write_block(task: FurtherTask, name: str, block: TimedBlock) -> None:
    """Add a block to the file of a further process."""
    try:
        with open(task.out, "a", encoding="utf-8") as file:
            file.write(json.dumps([name, encoded(block)]) + "\n")
    except OSError as error:
        raise Deep500Error(f"{task.out} cannot be written: {error.strerror}") from None


def without_files(arguments: Sequence[str]) -> list[str]:
    """The arguments of pytest without those that name files to write."""
    left: list[str] = []
    skip = False
    for argument in arguments:
        option, equals, _ = argument.partition("=")
        if skip:
            skip = False
        elif option in FILES:
            skip = not equals
        else:
            left.append(argument)
    return left
