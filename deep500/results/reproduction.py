"""A reproduction of a recipe's run: trained again, and compared seed by seed with the original."""

from collections.abc import Sequence

from ..contracts.result import ResultKind
from ..errors import UNDECIDED, Deep500Error
from ..reports.blocks import Report
from .reproductions.answers import reproduction_numbers
from .reproductions.blocks import (
    ReproductionBlock,
    ReproductionPlan,
    reproduction_block,
    second_run,
)
from .reproductions.numbers import ReproductionNumbers, ReproductionRecord
from .reproductions.reproduction_report import reproduction_report


class Reproduction(
    ResultKind[ReproductionPlan, ReproductionBlock, ReproductionNumbers]
):
    """One block per seed, and one with what the second run came to."""

    procedure = 3

    def check_blocks(
        self, plan: ReproductionPlan, blocks: Sequence[object]
    ) -> list[ReproductionBlock]:
        checked = []
        for number, block in enumerate(blocks):
            where = f"samples.jsonl: block {number}"
            checked.append(reproduction_block(block, where))
        again = second_run(checked)
        if again and len(again.claims) != len(plan.original.claims):
            raise Deep500Error(
                "samples.jsonl: the second run has not as many claims as the original"
            )
        return checked

    def derive(
        self, plan: ReproductionPlan, blocks: Sequence[ReproductionBlock]
    ) -> ReproductionNumbers | None:
        return reproduction_numbers(plan, blocks) if blocks else None

    def report(self, record: ReproductionRecord) -> Report:
        if record.derived is None:
            raise Deep500Error(
                f"{record.bundle} holds nothing yet: no seed was trained again before it ended"
            )
        return reproduction_report(record, record.derived)

    def accepted(self, record: ReproductionRecord) -> bool:
        return self.exit_code(record) == 0

    def exit_code(self, record: ReproductionRecord) -> int:
        """0 if it is replicated (the same bits are), 1 if it is not, 3 if that is not decided.

        It is not, either, if no seed gave the same bits on the same machine with the same software.
        """
        numbers = record.derived
        if numbers is None or not record.finished:
            return UNDECIDED
        replication = numbers.replicated.verdict
        bits = numbers.reproduced
        again = second_run(record.blocks)
        no_seed = bits.verdict == "no" and bits.same == 0
        if replication == "no" or (no_seed and again and again.same_setup):
            return 1
        if replication == "yes":
            return 0
        undecided_times = any(time.verdict == "not decided" for time in numbers.times)
        if bits.verdict == "yes" and not undecided_times:
            return 0
        return UNDECIDED
