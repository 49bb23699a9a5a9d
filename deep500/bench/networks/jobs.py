"""One measurement of a network: on which framework, with which batch, inference or training."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

MODES = ("inference", "training")


@dataclass(frozen=True)
class NetworkJob:
    """One line of the result of a benchmark."""

    model: str  # as load_network reads it
    settings: Mapping[str, Any]
    framework: str
    execution: str  # deferred, eager or compiled
    batch: int
    mode: str
    threads: int  # 0: the framework's choice

    @property
    def levels(self) -> dict[str, Any]:
        """The factors that jobs must have in common to be compared."""
        return {"mode": self.mode, "batch": self.batch}

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"settings": dict(self.settings)}


def job_from_json(fields: Mapping[str, Any]) -> NetworkJob:
    """The job with tuples where JSON has lists."""
    settings = {}
    for name, value in fields["settings"].items():
        settings[name] = tuple(value) if isinstance(value, list) else value
    return NetworkJob(**{**fields, "settings": settings})
