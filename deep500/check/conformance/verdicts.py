"""The verdicts on the suite's cases, without an import of ONNX: recorded results are read where it is not installed."""

from dataclasses import dataclass

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
# a kink, a jump or an infinity at this point: differences tell nothing
UNSTABLE = "unstable"


@dataclass(frozen=True)
class CaseVerdict:
    """The verdict on a case; the text says why it did not pass."""

    word: str
    text: str = ""


UNDECLARED = CaseVerdict(SKIPPED, "no derivative declared")


@dataclass(frozen=True)
class CaseName:
    """A case as a bundle records it, without its model and data."""

    name: str
    kind: str  # "expanded" for a node that is replaced by its function body, or one of KINDS
    operator: str  # of a model with one node; empty for others
