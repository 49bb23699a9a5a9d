"""The words that the suite's cases end in; a result that was recorded elsewhere is read without ONNX."""

from dataclasses import dataclass
from typing import Protocol

PASS, WRONG, UNSUPPORTED, ERROR = VERDICTS = ("pass", "wrong", "unsupported", "error")
DIRECT = "onnxruntime itself"  # the model as it stands in a session, without our reading: the oracle of this runner
BOUND = " with inputs bound"  # behind a framework: inputs that decide are constants before the network is read
GRADIENT = "gradient"  # the column of our derivatives
SKIPPED = "skipped"  # nothing to differentiate, or no derivative declared
UNSTABLE = "unstable"  # a kink, a jump or an infinity at this very point: differences say nothing


@dataclass(frozen=True)
class Verdict:
    """What became of a case; the text says why it did not pass."""

    word: str
    text: str = ""


UNDECLARED = Verdict(SKIPPED, "no derivative declared")


class Named(Protocol):
    """What a page needs of a case."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def operator(self) -> str: ...


@dataclass(frozen=True)
class CaseName:
    """A case as a bundle names it, without its model and data."""

    name: str
    kind: str
    operator: str
