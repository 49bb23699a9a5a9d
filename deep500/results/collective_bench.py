"""A benchmark of collectives: one block per launch, with the moments at which every rank arrived and left."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..contracts.result import Record, ResultKind
from ..contracts.sample_row import SampleRow
from ..errors import Deep500Error
from ..reports.blocks import Report
from .collectives.data import (
    MESSAGE,
    OPERATIONS,
    CollectiveLaunch,
    CollectivePlan,
)
from .collectives.deriving import numbers_of
from .collectives.numbers import CollectiveNumbers
from .collectives.page import page
from .collectives.predicting import GAMMA

if TYPE_CHECKING:
    from ..contracts.dossier import Dossier

KNOWN = (*OPERATIONS, MESSAGE)
CollectiveRecord = Record[CollectivePlan, CollectiveLaunch, CollectiveNumbers]


class CollectiveBench(ResultKind[CollectivePlan, CollectiveLaunch, CollectiveNumbers]):
    """Times of collectives by algorithm, size, number of ranks and transport, and the network that fits them."""

    def check_blocks(
        self, plan: CollectivePlan, blocks: Sequence[object]
    ) -> list[CollectiveLaunch]:
        checked = super().check_blocks(plan, blocks)
        for number, block in enumerate(checked):
            if block.transport not in plan.transport or block.ranks not in plan.ranks:
                raise Deep500Error(f"samples.jsonl: block {number} was not planned")
            for row in block.rows:
                is_known = row.case.operation in KNOWN and row.case.dtype in GAMMA
                if not is_known:
                    raise Deep500Error(
                        f"samples.jsonl: a row of block {number} is of an operation or a dtype that there is not"
                    )
                moments = [*row.arrive, *row.leave]
                is_full = all(len(one) == block.ranks for one in moments)
                if not is_full or len(row.arrive) != len(row.leave):
                    raise Deep500Error(
                        f"samples.jsonl: a row of block {number} lacks ranks or iterations"
                    )
        return checked

    def derive(
        self, plan: CollectivePlan, blocks: Sequence[CollectiveLaunch]
    ) -> CollectiveNumbers | None:
        return numbers_of(plan, blocks) if blocks else None

    def accepted(self, record: CollectiveRecord) -> bool:
        """A launch that failed, or a wrong result, is not accepted; what cannot run on so many ranks is."""
        died = any(block.failure for block in record.blocks)
        wrong = any(row.is_wrong for block in record.blocks for row in block.rows)
        return not (died or wrong)

    def report(self, record: CollectiveRecord) -> Report:
        return page(record)

    def sample_rows(self, record: CollectiveRecord) -> Iterable[SampleRow]:
        from .collectives.launch_rows import launch_rows

        return launch_rows(record.blocks)

    def dossier(self, record: CollectiveRecord) -> "Dossier":
        from .collectives.collective_dossier import collective_dossier

        return collective_dossier(record.plan, record.blocks, record.derived)
