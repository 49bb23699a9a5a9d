"""A recipe's run: every epoch of every seed, and the metrics over the seeds that follow from them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..bundle.dates import Dates
from ..contracts.result import Contrast, ResultKind
from ..contracts.sample_row import SampleRow
from ..contracts.standing import Contestant
from ..reports.blocks import Report
from ..training import outcome as training
from ..training.recipe_blocks import RecipeBlock, ends_of, recipe_block, weights_of
from ..training.recipe_numbers import RecipeNumbers
from ..training.recipe_plan import RecipePlan
from .outcomes.contradictions import recipe_contradictions
from .outcomes.data import RecipeRecord, outcome_data
from .outcomes.equivalent import equivalence_contrast
from .outcomes.recipe_comparison import contrast
from .outcomes.recipe_report import outcome_report
from .outcomes.recipe_standing import RecipeContestant
from .outcomes.remarks import recipe_remarks

if TYPE_CHECKING:
    from ..contracts.dossier import Dossier


class Recipe(ResultKind[RecipePlan, RecipeBlock, RecipeNumbers]):
    """Blocks are epochs and the ends of seeds; the weights of every seed lie beside them."""

    procedure = training.PROCEDURE

    def check_plan(self, plan: object) -> RecipePlan:
        return training.recipe_plan(plan)

    def check_blocks(
        self, plan: RecipePlan, blocks: Sequence[object]
    ) -> list[RecipeBlock]:
        checked = []
        for number, block in enumerate(blocks):
            checked.append(recipe_block(block, f"samples.jsonl: block {number}"))
        return checked

    def derive(
        self, plan: RecipePlan, blocks: Sequence[RecipeBlock]
    ) -> RecipeNumbers | None:
        if not ends_of(blocks):
            return None  # no seed is trained to its end
        return training.outcome(plan, blocks)

    def report(self, record: RecipeRecord) -> Report:
        return outcome_report(outcome_data(record))

    def accepted(self, record: RecipeRecord) -> bool:
        return record.derived is not None and record.derived.acceptable

    def check_files(
        self, blocks: Sequence[RecipeBlock], files: Mapping[str, str]
    ) -> list[str]:
        """Whether the weights are those that the blocks name."""
        problems = []
        for seed, digest in weights_of(blocks).items():
            name = f"weights-{seed}.safetensors"
            if files.get(name) != digest:
                problems.append(f"{name}: not the weights that samples.jsonl names")
        return problems

    def contradictions(self, record: RecipeRecord, dates: Dates) -> Iterable[str]:
        return recipe_contradictions(record.plan, record.blocks, dates)

    def remarks(self, record: RecipeRecord, dates: Dates) -> Iterable[str]:
        return recipe_remarks(record.plan, record.blocks)

    def dossier(self, record: RecipeRecord) -> "Dossier":
        from .outcomes.recipe_dossier import recipe_dossier

        return recipe_dossier(record)

    def sample_rows(self, record: RecipeRecord) -> Iterable[SampleRow]:
        from .outcomes.training_rows import training_rows

        return training_rows(record)

    def compare(
        self, a: RecipeRecord, b: RecipeRecord, margin: float, level: float
    ) -> Contrast:
        return contrast(a, b, margin, level)

    def contestants(self, record: RecipeRecord) -> Sequence[Contestant]:
        return [RecipeContestant(record)]

    def equivalence(
        self, a: RecipeRecord, b: RecipeRecord, margin: float, level: float
    ) -> Contrast:
        return equivalence_contrast(a, b, margin, level)
