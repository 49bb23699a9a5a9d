"""A benchmark of compression: times on slow networks, accuracy and traffic of every codec."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..contracts.result import Record, ResultKind
from ..reports.blocks import Report
from .compression.data import NOT_PERMITTED, CompressionBlock, CompressionPlan
from .compression.deriving import numbers_of
from .compression.numbers import CompressionNumbers
from .compression.page import page

if TYPE_CHECKING:
    from ..contracts.dossier import Dossier

CompressionRecord = Record[CompressionPlan, CompressionBlock, CompressionNumbers]


class CompressionBench(
    ResultKind[CompressionPlan, CompressionBlock, CompressionNumbers]
):
    """Steps and times to an accuracy by codec and network, and below which rate a codec pays."""

    def derive(
        self, plan: CompressionPlan, blocks: Sequence[CompressionBlock]
    ) -> CompressionNumbers | None:
        return numbers_of(plan, blocks) if blocks else None

    def accepted(self, record: CompressionRecord) -> bool:
        """The model replaces launches in namespaces that are not permitted, and nothing else that has failed."""
        failures = [block.failure for block in record.blocks if block.failure]
        return all(failure.startswith(NOT_PERMITTED) for failure in failures)

    def report(self, record: CompressionRecord) -> Report:
        return page(record)

    def dossier(self, record: CompressionRecord) -> "Dossier":
        from .compression.compression_dossier import compression_dossier

        return compression_dossier(record.plan, record.blocks, record.derived)
