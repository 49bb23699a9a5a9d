"""What the judge and the process of a submission tell each other; all that comes from the latter is checked."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from ..errors import Deep500Error
from ..schema import Length
from ..supervision.sandbox import Limits

LONGEST_WEIGHTS = 90_000_000  # bytes in base64
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')  # of JSON
LONGEST_DECLARED = 1 << 16  # characters
DEEPEST_DECLARED = 20
# what stops a submission: these it may say itself, by the kind of its error
CONTRACT, SANDBOX, SUBMISSION = "contract", "sandbox", "submission"
SELF_TOLD = CONTRACT, SANDBOX, SUBMISSION


@dataclass(frozen=True)
class Order:
    """What a process of a submission is started with."""

    root: str  # an empty folder, for the new root
    readable: Sequence[str]
    hidden: Sequence[str]
    limits: Limits
    contest: str  # the folder that holds recipe.py, data.npz (later) and the submission's files
    division: str
    fixed: Mapping[str, Any]  # what an open submission changes
    tier: str
    threads: int


@dataclass(frozen=True)
class Declared:
    """What a submission says of itself once it is loaded; nothing is decided by it."""

    mutable: Mapping[str, Any]
    framework: Annotated[str, Length(100)]


def check_declared(answer: object) -> None:
    """Raise a Deep500Error for an answer that is too long, or nested too deeply, for a plan."""
    text = json.dumps(answer)
    if len(text) > LONGEST_DECLARED:
        raise Deep500Error(
            f"it declares {len(text)} characters, and {LONGEST_DECLARED} are taken"
        )
    depth = 0
    for character in STRING.sub("", text):
        depth += (character in "[{") - (character in "]}")
        if depth > DEEPEST_DECLARED:
            raise Deep500Error(f"it declares more than {DEEPEST_DECLARED} levels")


@dataclass(frozen=True)
class EpochWeights:
    """The weights after an epoch, as safetensors in base64; without any, the run has ended for a reason."""

    weights: Annotated[str, Length(LONGEST_WEIGHTS)]
    ended: Annotated[str, Length(1000)]
