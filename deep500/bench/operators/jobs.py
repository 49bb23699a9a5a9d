"""Jobs: one operator with its inputs, on one framework, by one kernel, in one direction."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...check.operators.formats import FORMATS
from ...errors import Deep500Error

DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True)
class BenchProblem:
    """An operator with its attributes and the shapes of its inputs."""

    operator: str  # as load_operator reads it
    attributes: Mapping[str, Any]
    shape: str
    name: str = ""  # where a suite has one
    rival: str = ""  # its name among operators that are compared

    @property
    def label(self) -> str:
        """Its name in tables: the operator, the shape and the attributes."""
        if self.name:
            return self.name
        operator = self.rival or self.operator.rpartition(":")[2]
        words = [operator, self.shape]
        for name, value in self.attributes.items():
            words.append(f"{name}={value}".replace(", ", ","))
        return " ".join(words)

    @property
    def level(self) -> str:
        """What entries must have in common to be compared: rivals the inputs, others all of it."""
        return self.shape if self.rival else self.label


@dataclass(frozen=True)
class OperatorJob:
    """One line of the result."""

    operator: str
    attributes: Mapping[str, Any]
    shape: str
    dtype: str
    framework: str
    kernel: str  # native, composed, compiled; "" for what the framework chooses
    direction: str
    threads: int  # 0: the framework's choice
    reference: str = ""  # a function that computes the same, as FILE:NAME

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"attributes": dict(self.attributes)}


def check_dtype(name: str) -> None:
    if name not in FORMATS:
        raise Deep500Error(
            f"no dtype is named {name!r} here: operators are timed in {', '.join(FORMATS)}"
        )
