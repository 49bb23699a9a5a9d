"""A user's own training script, measured in place by `d5.instrument`."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..contracts.result import Contrast, ResultKind
from ..contracts.sample_row import SampleRow
from ..reports.blocks import Report
from .instrumenting.blocks import ScriptBlock, ScriptPlan, check_order
from .instrumenting.instrumented_comparison import contrast
from .instrumenting.instrumented_report import script_report
from .instrumenting.numbers import ScriptNumbers, ScriptRecord, script_numbers

if TYPE_CHECKING:
    from ..contracts.dossier import Dossier


class Instrumented(ResultKind[ScriptPlan, ScriptBlock, ScriptNumbers]):
    """Blocks are stretches of steps, evaluations and the end of the run."""

    procedure = 2

    def check_blocks(
        self, plan: ScriptPlan, blocks: Sequence[object]
    ) -> list[ScriptBlock]:
        checked = super().check_blocks(plan, blocks)
        check_order(checked)
        return checked

    def derive(
        self, plan: ScriptPlan, blocks: Sequence[ScriptBlock]
    ) -> ScriptNumbers | None:
        return script_numbers(plan, blocks)

    def report(self, record: ScriptRecord) -> Report:
        return script_report(record)

    def dossier(self, record: ScriptRecord) -> "Dossier":
        from .instrumenting.instrumented_dossier import script_dossier

        return script_dossier(record)

    def sample_rows(self, record: ScriptRecord) -> Iterable[SampleRow]:
        from .instrumenting.script_rows import script_rows

        return script_rows(record)

    def compare(
        self, a: ScriptRecord, b: ScriptRecord, margin: float, level: float
    ) -> Contrast:
        return contrast(a, b, margin, level)
