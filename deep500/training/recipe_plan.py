"""The plan of a recipe's run, as plan.json holds it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ..contracts.task import Quality
from ..schema import Between, Count, Length, Positive, encoded, optional, others

Level = Annotated[float, Between(1e-6, 1)]
MOST_CLAIMS = 1000


@dataclass(frozen=True)
class MetricForm:
    """A metric by its name and settings; one that the recipe defined itself has `recorded` values."""

    definition: str
    settings: Mapping[str, Any]
    recorded: Mapping[str, Any] | None = optional()
    more: Mapping[str, object] = others()


@dataclass(frozen=True)
class ClaimForm:
    """A claim by its name, its metrics and its other fields."""

    claim: str
    metrics: Mapping[str, MetricForm]
    numbers: Mapping[str, Any]
    more: Mapping[str, object] = others()


@dataclass(frozen=True)
class OwnFiles:
    """The SHA-256 of the user's files by name: all, and those behind FIXED."""

    files: Mapping[str, str]
    fixed: Mapping[str, str]


NO_FILES = OwnFiles({}, {})


@dataclass(frozen=True)
class RecipeForm:
    """A recipe in its canonical form, which is what its hash covers."""

    name: str
    file: str | None  # the SHA-256 of its file; None: a script ran it
    fixed: Mapping[str, Any]
    mutable: Mapping[str, Any]
    metrics: Sequence[tuple[MetricForm, float | None]]  # each with its target
    claims: Annotated[Sequence[ClaimForm], Length(MOST_CLAIMS)] = optional(())
    tiers: Mapping[str, Mapping[str, Any]] = optional({})
    code: OwnFiles = optional(NO_FILES)
    more: Mapping[str, object] = others()

    @property
    def document(self) -> dict[str, Any]:
        """The form as JSON, which can be hashed."""
        return encoded(self)


@dataclass(frozen=True)
class TaskForm:
    """The task, and the qualities that an evaluation reports; the first is the main one."""

    name: str
    qualities: Annotated[Sequence[Quality], Length(1000, least=1)]


@dataclass(frozen=True)
class DefinitionSource:
    """A class or function, and the hash of its source."""

    name: str
    source: str | None
    more: Mapping[str, object] = others()


@dataclass(frozen=True)
class DistributionForm:
    """The ranks that trained together, with the batch of all and of each that trains."""

    ranks: int
    transport: str
    scheme: str
    global_batch: int
    local_batch: Sequence[int]


@dataclass(frozen=True)
class JudgeForm:
    """How a contest's judge has run it: by which contest, what was submitted, and the layers of the sandbox."""

    contest: str  # the SHA-256 of what the organiser decided
    submission: str  # the SHA-256 of what was handed in
    attempt: Positive
    rules: Count
    layers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class RecipePlan:
    """Everything that determines the outcome of a run; version 0.1.0 did not write what is optional."""

    recipe: RecipeForm
    hash: str
    fixed_hash: str | None = optional()
    division: str | None = optional()
    tier: str
    seeds: Sequence[int]
    epochs: int
    evaluate_every: Positive | None = optional()
    task: TaskForm | None = optional()
    level: Level
    threads: int | str | None = optional()
    sources: Mapping[str, DefinitionSource] = optional({})
    differences: Sequence[tuple[str, object, object]] = optional(())
    scale: Mapping[str, Any] | None = optional()
    distribution: DistributionForm | None = optional()
    in_turn: str | None = optional()  # what the runs of one pair have in common
    # what the run found out before it began
    unavailable: Mapping[str, str] = optional({})
    framework: str | None = optional()
    kernels: Mapping[str, str] | None = optional()
    update: str | None = optional()
    data: Mapping[str, str] = optional({})  # the SHA-256 of every split
    examples: Mapping[str, Count] | None = optional()
    # the values of an example, in the data set and as trained
    values: Mapping[str, Count] | None = optional()
    ledger: Mapping[str, object] | None = optional()
    judge: JudgeForm | None = optional()
    more: Mapping[str, object] = others()
