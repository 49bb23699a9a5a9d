"""The judge's side of one seed: it owns the data, the clock, the limits and the evaluation."""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..bundle import canonical
from ..errors import Deep500Error, one_line
from ..measure.clock import now
from ..schema import decoded, encoded
from ..supervision.sandbox import python_folders
from .definition import RECIPE, ContestFolder
from .evaluation import Refusal, WeightsEvaluation
from .messages import CONTRACT, Declared, EpochWeights, Order, check_declared
from .sandboxed_child import NotDecided, SandboxedChild, SeedFailure, sandboxed
from .submissions import Submission

TRAINEE = "deep500.contest.trainee"
GIVEN, ROOT, DATA, CLASSES = "given", "root", "data.npz", "classes"
LARGEST_DATA = 1 << 30  # bytes of training data
PACKAGE = Path(__file__).parents[1]


@dataclass
class SeedRun:
    """What the judge has seen of one seed: the blocks of a bundle, the last weights, and why it ended early."""

    seed: int
    blocks: list[dict[str, Any]]
    weights: bytes = b""
    failure: str = ""
    layer: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether its last weights were evaluated on the test data."""
        return bool(self.blocks) and "test" in self.blocks[-1]


class Referee:
    """Runs a submission, each seed in a process of its own."""

    def __init__(
        self,
        folder: ContestFolder,
        submission: Submission,
        evaluation: WeightsEvaluation,
    ):
        self.folder = folder
        self.submission = submission
        self.evaluation = evaluation
        # of the sandbox that are in force, by what they are about
        self.layers: Mapping[str, str] = {}

    def declared(self) -> Declared:
        """What the submission says of itself when it is loaded; a Refusal if it cannot be."""
        with self._place() as place, self._child(place) as child:
            try:
                return self._loaded(child)
            except (Refusal, NotDecided):
                raise
            except Deep500Error as error:
                raise Refusal(CONTRACT, one_line(error, 300)) from None

    def run(self, seed: int, epochs: int, declared: Declared) -> SeedRun:
        """Train one seed; a submission that crashes, hangs or uses too much has a seed that reached nothing."""
        found = SeedRun(seed, [])
        with self._place() as place, self._child(place) as child:
            try:
                began = now()
                if self._loaded(child).mutable != declared.mutable:
                    raise Refusal(CONTRACT, "it declares another MUTABLE now")
                prepared_s = (now() - began) / 1e9
                self._epochs(found, child, place, epochs)
                if found.blocks:
                    self._end(found, prepared_s)
            except SeedFailure as failure:
                found.layer, found.failure = failure.layer, str(failure)
            except (Refusal, NotDecided):
                raise
            except Deep500Error as error:
                found.layer, found.failure = CONTRACT, one_line(error, 300)
        return found

    def _loaded(self, child: SandboxedChild) -> Declared:
        seconds = self.folder.contest.load_seconds
        self.layers = child.begin(seconds)
        answer = child.ask({"do": "load"}, "declared", seconds)
        check_declared(answer)
        return decoded(Declared, answer, "the submission")

    def _epochs(
        self, found: SeedRun, child: SandboxedChild, place: Path, epochs: int
    ) -> None:
        """Time every epoch: from the moment the data are there until all of the submission stands still."""
        left_s = self.folder.contest.seconds
        began_run = now()
        begin = now()
        self._hand_out(place)
        request = {"do": "train", "seed": found.seed, "epochs": epochs}
        spent: list[int] = []
        evaluated_ns = 0
        for number in range(1, epochs + 1):
            answer = child.ask(request, "epoch", left_s)
            # the clock is read when it stands still: what it does until then is counted
            child.stop()
            spent.append(now() - begin)
            left_s -= spent[-1] / 1e9
            epoch = decoded(EpochWeights, answer, "the weights of the submission")
            if not epoch.weights:
                found.failure, found.layer = epoch.ended or "no reason", "events"
                return
            begin_evaluation = now()
            data, arrays = self.evaluation.weights(epoch.weights)
            qualities = self.evaluation.qualities(arrays, "validation")
            loss = self.evaluation.loss()
            evaluated_ns += now() - begin_evaluation
            found.weights = data
            counters = {
                "evaluation seconds": evaluated_ns / 1e9,
                "run seconds": (now() - began_run) / 1e9,
                "unix time": time.time(),
            }
            found.blocks.append(
                self._block(found.seed, number, spent, loss, qualities, counters)
            )
            request = {"do": "go on"}
            if left_s <= 0:
                raise SeedFailure("limits", "no answer within its time")
            begin = now()
            child.go_on()

    def _block(
        self,
        seed: int,
        number: int,
        spent: list[int],
        loss: float | None,
        qualities: dict[str, float | None],
        counters: dict[str, float],
    ) -> dict[str, Any]:
        """An epoch as the block of a recipe's run: it is one step, by the judge's clock."""
        examples = len(self.evaluation.splits["train"])
        seconds = [ns / 1e9 for ns in spent]
        return {
            "seed": seed,
            "series": {
                "loss": [loss],
                "seconds": [seconds[-1]],
                "data": [0.0],
                "batch": [examples],
            },
            "counters": {"samples": examples * number, **counters},
            "evaluation": {
                "epoch": number,
                "step": number,
                "seconds": float(np.sum(seconds)),
                "validation": qualities,
            },
        }

    def _end(self, found: SeedRun, prepared_s: float) -> None:
        """Evaluate the test data once, with the last weights."""
        arrays = self.evaluation.executor.arrays()  # those of the last epoch
        block: dict[str, Any] = {
            "seed": found.seed,
            "test": self.evaluation.qualities(arrays, "test"),
            "build_seconds": prepared_s,
            "weights": hashlib.sha256(found.weights).hexdigest(),
        }
        if found.failure:
            block["ended"] = found.failure
        found.blocks.append(block)

    def _hand_out(self, place: Path) -> None:
        """Write the training data where the submission can read them; no other split leaves this process."""
        split = self.evaluation.splits["train"]
        batch = split.batch(slice(None))
        if sum(array.nbytes for array in batch.values()) > LARGEST_DATA:
            raise Deep500Error(f"training data of more than {LARGEST_DATA} bytes")
        file = place / GIVEN / DATA
        partial = place / DATA
        arrays: dict[str, Any] = {CLASSES: np.array([split.classes]), **batch}
        np.savez(partial, **arrays)
        os.chmod(partial, 0o644)
        partial.replace(file)

    def _place(self) -> AbstractContextManager[Path]:
        return sandbox_place(self.folder.recipe_file, self.submission.files)

    def _child(self, place: Path) -> AbstractContextManager[SandboxedChild]:
        hidden = [str(path) for path in _hidden(self.evaluation)]
        limits = self.folder.contest.limits
        order = Order(
            root=str(place / ROOT),
            readable=[*python_folders(), str(PACKAGE), *_recipes(), str(place / GIVEN)],
            hidden=hidden,
            limits=limits,
            contest=str(place / GIVEN),
            division=self.submission.division,
            fixed=self.submission.fixed if self.submission.division == "open" else {},
            tier=self.folder.contest.tier,
            threads=self.folder.contest.threads,
        )
        return sandboxed(TRAINEE, order, limits)


@contextmanager
def sandbox_place(recipe: Path, files: Mapping[str, bytes]) -> Iterator[Path]:
    """A folder with what a process of a submission may read, and an empty one for its root."""
    place = Path(tempfile.mkdtemp(prefix="d5-contest-"))
    try:
        os.chmod(place, 0o755)
        given = place / GIVEN
        (given / "submission").mkdir(parents=True)
        (place / ROOT).mkdir()
        shutil.copyfile(recipe, given / RECIPE)
        for name, data in files.items():
            file = given / "submission" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        for path in (given, *given.rglob("*")):
            os.chmod(path, 0o755 if path.is_dir() else 0o644)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _hidden(evaluation: WeightsEvaluation) -> list[Path]:
    """Files of data inside of what the process may read: with them, it could look the labels up."""
    dataset = evaluation.recipe.make("dataset")
    paths = [*dataset.files().values()]
    package = find_spec("sklearn")
    if package is not None and package.origin is not None:
        paths.append(Path(package.origin).with_name("datasets") / "data")
    return paths


def _recipes() -> list[str]:
    """The folder of our own recipes, from which an organiser's may import."""
    spec = find_spec("recipes")
    locations = spec.submodule_search_locations if spec is not None else None
    return [*(locations or [])]


def contest_hash(folder: ContestFolder) -> str:
    """The SHA-256 of what the organiser decided."""
    return hashlib.sha256(canonical(encoded(folder.contest))).hexdigest()
