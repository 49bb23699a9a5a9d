"""What kinds of checks share: a report in every place, from which the numbers and the page follow."""

from collections.abc import Sequence
from typing import ClassVar, Generic

from ...check.report import CheckReport, report_of
from ...contracts.result import PlanT, Record, ResultKind
from ...errors import UNDECIDED, Deep500Error
from ...reports.blocks import Block, Bullets, Problems, Report, Sentence
from ...reports.surroundings import raw_data
from ...reports.text import clean
from .check_numbers import CheckNumbers, check_numbers
from .check_page import check_banner, place_line, place_section

UNFINISHED = "unfinished: the run was ended before all frameworks were checked"


class CheckKind(ResultKind[PlanT, CheckReport, CheckNumbers], Generic[PlanT]):
    """One block per place: all its checks. Whether all is well, and the worst of every promise, follow."""

    # whether the page and --verbose list every case, beside the worst of every promise
    lists_cases: ClassVar[bool] = False
    # whether the terminal shows every promise, if there are no cases
    shows_all: ClassVar[bool] = False

    def check_blocks(self, plan: PlanT, blocks: Sequence[object]) -> list[CheckReport]:
        reports = []
        for number, block in enumerate(blocks):
            where = f"samples.jsonl: block {number}"
            if isinstance(block, dict) and "noun" in block:
                reports.append(report_of(block, where))
            else:
                reports.append(self.former_report(plan, block, where))
        return reports

    def former_report(self, plan: PlanT, block: object, where: str) -> CheckReport:
        """What a block says that names no noun: some nouns had blocks of another form."""
        return report_of(block, where)

    def derive(self, plan: PlanT, blocks: Sequence[CheckReport]) -> CheckNumbers | None:
        return check_numbers(blocks) if blocks else None

    def report(self, record: Record[PlanT, CheckReport, CheckNumbers]) -> Report:
        reports = record.blocks
        if not reports:
            raise Deep500Error(
                f"{record.bundle} holds no checks yet: nothing was checked before it ended"
            )
        subject = clean(self.subject(record.plan))
        short = len(reports) > 1
        sections = []
        for report in reports:
            section = place_section(report, short, self.lists_cases, self.shows_all)
            sections.append(section)
        blocks: list[Block] = [
            check_banner(subject, reports, self.remark(reports)),
            Problems([] if record.finished else [UNFINISHED]),
            Bullets(list(map(place_line, reports))),
            *sections,
            Sentence(self.again(record.plan)),
            raw_data(record.bundle, record.hash),
        ]
        return Report("Deep500 check", subject, blocks)

    def subject(self, plan: PlanT) -> str:
        """What was checked."""
        raise NotImplementedError

    def remark(self, reports: Sequence[CheckReport]) -> str:
        """What the headline says behind the verdicts."""
        return ""

    def again(self, plan: PlanT) -> str:
        """How to draw the same inputs again."""
        raise NotImplementedError

    def numbers(
        self, record: Record[PlanT, CheckReport, CheckNumbers]
    ) -> dict[str, object]:
        """Every check, beside the verdict."""
        reports = [report.to_json() for report in record.blocks]
        return {"ok": self.accepted(record), "reports": reports}

    def accepted(self, record: Record[PlanT, CheckReport, CheckNumbers]) -> bool:
        return record.derived is not None and record.derived.ok

    def exit_code(self, record: Record[PlanT, CheckReport, CheckNumbers]) -> int:
        """1 where something is wrong, 3 where nothing is but no verdict was reached."""
        if self.accepted(record):
            return 0
        if any(report.wrong for report in record.blocks):
            return 1
        return UNDECIDED
