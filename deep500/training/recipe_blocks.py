"""The blocks of a recipe's run: epochs, and the ends of seeds.

A number that is not finite (a run that diverged) is null. Version 0.1.0 wrote "losses", "step_seconds" and "samples"
into the block of an epoch, and the accuracy alone as "validation" and "test": these are read as what is written today.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ..contracts.task import Quality
from ..measure.load import Load
from ..schema import Count, Length, decoded, optional
from .resumption import Resumption, ResumptionNote

ACCURACY = Quality("accuracy", "%", "higher")  # what version 0.1.0 evaluated
Numbers = Sequence[float | None]
Qualities = Mapping[str, float | None]


@dataclass(frozen=True)
class Look:
    """An evaluation on the validation data: after which step and how many seconds of training."""

    epoch: Count
    step: Count
    seconds: float
    validation: Qualities

    def __post_init__(self) -> None:
        _check_not_empty(self.validation)


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """The steps of an epoch by the name of a series, the counters so far, and the evaluation at its end."""

    seed: Count
    series: Mapping[str, Numbers]
    counters: Mapping[str, float]
    evaluation: Look
    within: Sequence[Look] = optional(())  # evaluations between its steps
    checkpoint: str | None = optional()  # its SHA-256
    # what others used of the CPUs, if the epoch was long enough to measure it
    load: Load | None = optional()
    resumed: ResumptionNote | None = optional()

    def __post_init__(self) -> None:
        losses = self.series.get("loss", ())
        seconds = self.series.get("seconds", ())
        if not seconds or len(losses) != len(seconds) or None in seconds:
            raise ValueError("one loss and one time for each step")

    @property
    def step_seconds(self) -> list[float]:
        return [seconds for seconds in self.series["seconds"] if seconds is not None]


@dataclass(frozen=True, kw_only=True)
class SeedEnd:
    """The end of a seed: its qualities on the test data, and the SHA-256 of its weights."""

    seed: Count
    test: Qualities
    build_seconds: float
    weights: str
    ended: str = optional("")  # why it stopped before its last epoch
    recorded: Qualities = optional({})  # the metrics that the recipe defines itself
    resumed: ResumptionNote | None = optional()

    def __post_init__(self) -> None:
        _check_not_empty(self.test)


@dataclass(frozen=True, kw_only=True)
class SeedCrash:
    """The end of a seed that crashed, and what of."""

    seed: Count
    crashed: Annotated[str, Length(1 << 20, least=1)]
    build_seconds: float
    resumed: ResumptionNote | None = optional()


RecipeBlock = Epoch | SeedEnd | SeedCrash
Blocks = Sequence[RecipeBlock]


def recipe_block(document: object, where: str) -> RecipeBlock:
    """The block of that form; a Deep500Error if it has none."""
    keys = document.keys() if isinstance(document, dict) else ()
    if "evaluation" in keys:
        return decoded(Epoch, _of_today(document), where)
    if "crashed" in keys and "test" not in keys:
        return decoded(SeedCrash, document, where)
    return decoded(SeedEnd, _of_today(document), where)


def epochs_of(blocks: Blocks) -> list[Epoch]:
    """The epochs among the blocks."""
    return [block for block in blocks if isinstance(block, Epoch)]


def ends_of(blocks: Blocks) -> list[SeedEnd | SeedCrash]:
    """The ends of seeds among the blocks."""
    return [block for block in blocks if not isinstance(block, Epoch)]


def weights_of(blocks: Blocks) -> dict[int, str]:
    """The SHA-256 of the trained weights, by seed."""
    ends = [block for block in blocks if isinstance(block, SeedEnd)]
    return {block.seed: block.weights for block in ends}


def blocks_by_seed(blocks: Blocks) -> dict[int, list[RecipeBlock]]:
    """The blocks of every seed, in the order in which the seeds were trained."""
    by_seed: dict[int, list[RecipeBlock]] = {}
    for block in blocks:
        by_seed.setdefault(block.seed, []).append(block)
    return by_seed


def resumptions(blocks: Blocks) -> list[Resumption]:
    """All resumptions of a run, in order."""
    resumed = []
    epochs_by_seed: dict[int, int] = {}
    for block in blocks:
        epochs = epochs_by_seed.setdefault(block.seed, 0)
        if note := block.resumed:
            resumed.append(Resumption(block.seed, epochs, note.at, note.changes))
        if isinstance(block, Epoch):
            epochs_by_seed[block.seed] += 1
    return resumed


def _check_not_empty(qualities: Qualities) -> None:
    if not qualities:
        raise ValueError("at least one quality")


def _of_today(document: Any) -> Any:
    """The document, or what would be written today in place of one of version 0.1.0."""
    if not isinstance(document, dict):
        return document
    block = dict(document)
    if "series" not in block and "losses" in block:
        block["series"] = {
            "loss": block.pop("losses"),
            "seconds": block.pop("step_seconds", None),
        }
        block["counters"] = {"samples": block.pop("samples", None)}
    look = block.get("evaluation")
    if isinstance(look, dict):
        block["evaluation"] = _with_named_quality(look, "validation")
    return _with_named_quality(block, "test")


def _with_named_quality(document: dict[str, Any], key: str) -> dict[str, Any]:
    """The document with the accuracy under its name, if it was written alone."""
    if type(document.get(key)) not in (int, float):
        return document
    return document | {key: {ACCURACY.name: document[key]}}
