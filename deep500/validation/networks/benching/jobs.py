"""What is asked of a network: on which framework, with which batch, to infer or to train."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

MODES = ("inference", "training")


@dataclass(frozen=True)
class Job:
    """One line of the result."""

    model: str  # as load_network reads it
    settings: Mapping[str, Any]
    framework: str
    compile: bool
    batch: int
    mode: str
    threads: int  # 0: the framework's choice

    @property
    def levels(self) -> dict[str, Any]:
        """What is the same for those that are compared."""
        return {"mode": self.mode, "batch": self.batch}

    @property
    def way(self) -> str:
        return "compiled" if self.compile else "eager"

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"settings": dict(self.settings)}


def job_from_json(fields: Mapping[str, Any]) -> Job:
    """The job with tuples where JSON has lists."""
    settings = {
        k: tuple(v) if isinstance(v, list) else v for k, v in fields["settings"].items()
    }
    return Job(**{**fields, "settings": settings})
