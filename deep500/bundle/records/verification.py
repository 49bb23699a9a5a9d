"""Verifies a bundle offline: checks every hash, computes every derived number again, and looks for contradictions."""

from dataclasses import asdict, dataclass
from pathlib import Path

from ...errors import Deep500Error
from ...reports.text import clean
from .. import read
from .ledger_answer import LedgerAnswer, checked_ledger_answer
from .loading import record_of


@dataclass(frozen=True)
class Verification:
    """The result of the checks and the problems found."""

    ok: bool
    finished: bool
    blocks: int
    hash: str | None
    lost_bytes: int
    problems: tuple[str, ...]
    ledger: LedgerAnswer
    remarks: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        if not self.ok:
            count = len(self.problems)
            return f"NOT VERIFIED: {count} {'problem' if count == 1 else 'problems'}"
        if not self.finished:
            sentence = f"unfinished, a clean prefix of {self.blocks} blocks"
            if self.lost_bytes:
                sentence += f", {self.lost_bytes} bytes of a block in flight dropped"
            return sentence
        return f"verified: {self.blocks} blocks, all hashes and all derived numbers hold; manifest {self.hash}"

    @property
    def lines(self) -> list[str]:
        """The text for people: the verdict, every problem, and the comparison with the ledger."""
        lines = [self.sentence]
        lines += [f"  {clean(problem)}" for problem in self.problems]
        lines += [f"  mark: {clean(remark)}" for remark in self.remarks]
        if not self.ledger.problems:
            lines.append(f"  {clean(self.ledger.sentence)}")
        return lines

    def to_json(self) -> dict:
        return asdict(self) | {
            "problems": list(self.problems),
            "remarks": list(self.remarks),
        }


def verify(path: str | Path) -> Verification:
    """Check everything that a bundle claims; no code from it is run."""
    bundle = read(path)
    ledger = checked_ledger_answer(bundle)
    problems = [*bundle.problems]
    remarks: list[str] = []
    if not problems:
        try:
            record = record_of(bundle)
            problems += record.problems
            remarks += record.remarks
        except Deep500Error as error:
            problems.append(str(error))
    problems += ledger.problems
    return Verification(
        not problems,
        bundle.finished,
        len(bundle.blocks),
        bundle.hash,
        bundle.lost_bytes,
        tuple(problems),
        ledger,
        tuple(remarks),
    )
