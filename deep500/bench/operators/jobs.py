"""Jobs: one operator with its inputs, on one framework, by one kernel, in one direction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from ..benchmark import Job, Subject

DIRECTIONS = ("forward", "backward")


@dataclass(frozen=True)
class BenchProblem:
    """An operator with its attributes and the shapes of its inputs."""

    operator: str  # as load_operator reads it
    attributes: Mapping[str, Any]
    shape: str
    title: str = ""  # where a suite has one
    rival: str = ""  # its name among operators that are compared

    @property
    def label(self) -> str:
        """Its name in tables: the operator, the shape and the attributes."""
        if self.title:
            return self.title
        operator = self.rival or self.operator.rpartition(":")[2]
        words = [operator, self.shape]
        for name, value in self.attributes.items():
            words.append(f"{name}={value}".replace(", ", ","))
        return " ".join(words)

    @property
    def level(self) -> str:
        """What entries must have in common to be compared: rivals the inputs, others all of it."""
        return self.shape if self.rival else self.label


class OperatorJob(Job):
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
    title: str = ""  # where a suite has one
    rival: str = ""  # its name among operators that are compared
    cold: bool = False  # caches are emptied before each call

    def subject(self) -> Subject:
        from .subject import OperatorSubject

        return OperatorSubject(self)

    @property
    def problem(self) -> BenchProblem:
        return BenchProblem(
            self.operator,
            self.attributes,
            self.shape,
            self.title,
            self.rival,
        )

    @property
    def levels(self) -> dict[str, str]:
        """What entries that are compared have in common; rivals are compared on each framework."""
        problem, dtype, direction = self.place
        levels = {"problem": problem, "dtype": dtype, "direction": direction}
        if self.rival:
            levels["framework"] = self.framework
        return levels

    @property
    def place(self) -> tuple[str, str, str]:
        return self.problem.level, self.dtype, self.direction

    @property
    def group(self) -> str:
        return self.framework

    @property
    def is_own_code(self) -> bool:
        return ":" in self.operator

    @property
    def noun(self) -> str:
        return self.operator

    @property
    def trial_text(self) -> str:
        return (
            f"{self.framework} {self.kernel} {self.shape} {self.dtype} {self.direction}"
        )

    def name(self, result: Mapping[str, Any]) -> str:
        words = (
            self.framework,
            self._kernel(result),
            self.problem.label,
            self.dtype,
            self.direction,
        )
        return " ".join(words)

    def timed(self, facts: Mapping[str, Any]) -> Self:
        return replace(self, kernel=self.kernel or facts["kernel"])

    def work(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "flops": facts["flops"],
            "bytes": facts["bytes"],
            "memory": facts["memory"],
            "process_memory": facts["process_memory"],
            "dtype": self.dtype,
            "framework": self.framework,
            "kernel": self._kernel(facts),
            "direction": self.direction,
            "problem": self.problem.label,
            "operator": self.operator,
            "attributes": dict(self.attributes),
            "shape": self.shape,
        }

    def _kernel(self, result: Mapping[str, Any]) -> str:
        """Whose code runs, as far as it is known."""
        if result["state"] == "ok":
            return str(result["label"])
        if self.kernel == "native" and self.is_own_code:
            return "custom"
        return self.kernel or "its own choice"
