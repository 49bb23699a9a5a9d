"""What the report of a recipe's run is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...contracts.metric import History
from ...contracts.metric_summary import MetricSummary
from ...contracts.result import Record
from ...reports.text import clean
from ...training.outcome import histories
from ...training.recipe_blocks import Blocks, RecipeBlock, resumptions
from ...training.recipe_numbers import RecipeNumbers
from ...training.recipe_plan import RecipePlan
from ...training.resumption import Resumption

LONGEST_TITLE = 100
NO_NUMBERS = RecipeNumbers(
    seeds=(),
    metrics=(),
    acceptable=False,
    steps=(),
    seconds=(),
    build_seconds=(),
    failed=(),
)
RecipeRecord = Record[RecipePlan, RecipeBlock, RecipeNumbers]


@dataclass(frozen=True)
class OutcomeData:
    """A recipe's run; it has no numbers as long as no seed has been trained to its end."""

    title: str
    plan: RecipePlan
    environment: Mapping[str, object]
    runs: Sequence[History]
    resumptions: Sequence[Resumption]
    numbers: RecipeNumbers
    finished: bool
    bundle: str
    hash: str | None
    blocks: Blocks = ()

    @property
    def metrics(self) -> Sequence[MetricSummary]:
        return self.numbers.metrics


def outcome_data(record: RecipeRecord) -> OutcomeData:
    """The parts of a record that the report shows."""
    name = clean(record.plan.recipe.name)
    return OutcomeData(
        title=name[:LONGEST_TITLE],
        plan=record.plan,
        environment=record.environment,
        runs=histories(record.blocks),
        resumptions=resumptions(record.blocks),
        numbers=numbers_of(record),
        finished=record.finished,
        bundle=str(record.bundle),
        hash=record.hash,
        blocks=record.blocks,
    )


def numbers_of(record: RecipeRecord) -> RecipeNumbers:
    """The numbers of a record; none as long as no seed has been trained to its end."""
    return record.derived or NO_NUMBERS
