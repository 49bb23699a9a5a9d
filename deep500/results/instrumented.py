"""A user's own training script, measured in place by `d5.instrument`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..contracts.result import Blocks, Contrast, Plan, Record, ResultKind
from ..reports.blocks import Report
from .instrumenting.blocks import check_blocks, check_plan
from .instrumenting.instrumented_comparison import contrast
from .instrumenting.instrumented_report import script_report
from .instrumenting.numbers import numbers

if TYPE_CHECKING:
    from ..contracts.dossier import Dossier


class Instrumented(ResultKind):
    """Blocks are stretches of steps, evaluations and the end of the run."""

    procedure = 2

    def check_plan(self, plan: object) -> dict[str, Any]:
        return check_plan(plan)

    def check_blocks(
        self, plan: Plan, blocks: Sequence[object]
    ) -> list[dict[str, Any]]:
        return check_blocks(blocks)

    def derive(self, plan: Plan, blocks: Blocks) -> dict[str, Any] | None:
        return numbers(plan, blocks)

    def report(self, record: Record) -> Report:
        return script_report(record)

    def dossier(self, record: Record) -> "Dossier":
        from .instrumenting.instrumented_dossier import script_dossier

        return script_dossier(record)

    def compare(self, a: Record, b: Record, margin: float, level: float) -> Contrast:
        return contrast(a, b, margin, level)
