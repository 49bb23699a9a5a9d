"""A recipe's run: every epoch of every seed, and the metrics over the seeds that follow from them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..bundle.dates import Dates
from ..contracts.result import Blocks, Contrast, Plan, Record, ResultKind
from ..reports.blocks import Report
from ..training import outcome as training
from .outcomes.contradictions import recipe_contradictions
from .outcomes.data import check_shown, outcome_data
from .outcomes.equivalent import equivalence_contrast
from .outcomes.recipe_comparison import contrast
from .outcomes.recipe_report import outcome_report
from .outcomes.remarks import recipe_remarks

if TYPE_CHECKING:
    from ..contracts.dossier import Dossier


class Recipe(ResultKind):
    """Blocks are epochs and the ends of seeds; the weights of every seed lie beside them."""

    procedure = training.PROCEDURE

    def check_plan(self, plan: object) -> dict[str, Any]:
        return check_shown(training.check_plan(plan))

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        return training.check_blocks(blocks)

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        if not any(training.is_end(block) for block in blocks):
            return None  # no seed is trained to its end
        return training.outcome(plan, blocks)

    def report(self, record: Record) -> Report:
        return outcome_report(outcome_data(record))

    def accepted(self, record: Record) -> bool:
        return bool(record.derived and record.derived["acceptable"])

    def check_files(self, blocks: Blocks, files: Mapping[str, str]) -> list[str]:
        """Whether the weights are those that the blocks name."""
        problems = []
        for block in blocks:
            name = f"weights-{block['seed']}.safetensors"
            if "test" in block and files.get(name) != block["weights"]:
                problems.append(f"{name}: not the weights that samples.jsonl names")
        return problems

    def contradictions(self, record: Record, dates: Dates) -> Iterable[str]:
        return recipe_contradictions(record.plan, record.blocks, dates)

    def remarks(self, record: Record, dates: Dates) -> Iterable[str]:
        return recipe_remarks(record.plan, record.blocks)

    def dossier(self, record: Record) -> "Dossier":
        from .outcomes.recipe_dossier import recipe_dossier

        return recipe_dossier(record)

    def compare(self, a: Record, b: Record, margin: float, level: float) -> Contrast:
        return contrast(a, b, margin, level)

    def equivalence(
        self, a: Record, b: Record, margin: float, level: float
    ) -> Contrast:
        return equivalence_contrast(a, b, margin, level)
