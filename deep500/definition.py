"""A definition is a frozen dataclass in its own file: its fields are its settings, its methods are formulas."""

from dataclasses import dataclass, fields
from typing import Any, dataclass_transform


@dataclass_transform(frozen_default=True)
class Definition:
    """Base of operators, optimizers, metrics …: subclasses are frozen dataclasses without saying so."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    @property
    def settings(self) -> dict[str, Any]:
        """The fields by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
