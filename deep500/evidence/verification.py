"""Check a bundle offline: every hash, and every derived number computed again from the raw samples."""

from dataclasses import asdict, dataclass
from pathlib import Path

from ..bundle import Bundle, read
from ..errors import Deep500Error
from ..reports.text import clean
from .loading import record_of
from .testimony import Testimony, checked_testimony


@dataclass(frozen=True)
class Verification:
    """What was checked and what does not hold."""

    ok: bool
    finished: bool
    blocks: int
    hash: str | None
    lost_bytes: int
    problems: tuple[str, ...]
    ledger: Testimony

    @property
    def sentence(self) -> str:
        if not self.ok:
            return f"NOT VERIFIED: {len(self.problems)} problem{'s' if len(self.problems) > 1 else ''}"
        if not self.finished:
            lost = (
                f", {self.lost_bytes} bytes of a block in flight dropped"
                if self.lost_bytes
                else ""
            )
            return f"unfinished, a clean prefix of {self.blocks} blocks{lost}"
        return f"verified: {self.blocks} blocks, all hashes and all derived numbers hold; manifest {self.hash}"

    @property
    def lines(self) -> list[str]:
        """What is printed: the verdict, every problem, and what the ledger says."""
        said = [] if self.ledger.problems else [f"  {clean(self.ledger.sentence)}"]
        return [
            self.sentence,
            *(f"  {clean(problem)}" for problem in self.problems),
            *said,
        ]

    def to_json(self) -> dict:
        return asdict(self) | {"problems": list(self.problems)}


def verify(path: str | Path) -> Verification:
    """Check everything that a bundle claims; nothing in it is executed."""
    found = read(path)
    said = checked_testimony(found)
    problems = (tuple(found.problems) or _unfounded(found)) + tuple(said.problems)
    return Verification(
        not problems,
        found.finished,
        len(found.blocks),
        found.hash,
        found.lost_bytes,
        problems,
        said,
    )


def _unfounded(found: Bundle) -> tuple[str, ...]:
    """What does not follow from the blocks."""
    try:
        return tuple(record_of(found).problems)
    except Deep500Error as error:
        return (str(error),)
