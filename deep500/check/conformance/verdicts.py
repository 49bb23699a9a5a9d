"""The verdicts on the suite's cases, without an import of ONNX: recorded results are read where it is not installed."""

from dataclasses import dataclass
from typing import Protocol

PASS, WRONG, UNSUPPORTED, ERROR = VERDICTS = (
    "pass",
    "wrong",
    "unsupported",
    "error",
)
# the column of the unchanged model in an ONNX Runtime session: the oracle of this runner
DIRECT = "onnxruntime itself"
# the suffix of a framework's column in which inputs that determine shapes are constants before the network is read
BOUND = " with inputs bound"
GRADIENT = "gradient"  # the column of our derivatives
SKIPPED = "skipped"  # nothing to differentiate, or no derivative declared
UNSTABLE = (
    "unstable"  # a kink, a jump or an infinity at this point: differences tell nothing
)


@dataclass(frozen=True)
class CaseVerdict:
    """The verdict on a case; the text says why it did not pass."""

    word: str
    text: str = ""


UNDECLARED = CaseVerdict(SKIPPED, "no derivative declared")


class Named(Protocol):
    """The properties of a case that a page shows."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def operator(self) -> str: ...


@dataclass(frozen=True)
class CaseName:
    """A case as a bundle records it, without its model and data."""

    name: str
    kind: str
    operator: str
