"""A report as data for programs: every block with its type, texts as plain strings, no pictures."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from .blocks import Figures, Report


def to_json(report: Report) -> dict[str, Any]:
    """The report as JSON values."""
    return {"verified": not report.problems} | _value(report)


def _value(value: Any) -> Any:
    if isinstance(value, Figures):
        return {"type": "Figures", "numbers": _value(value.numbers)}
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(key): _value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    if isinstance(value, str):
        return str(value)
    return value


def _fields(value: Any) -> dict[str, Any]:
    content = {"type": type(value).__name__}
    for field in fields(value):
        if field.metadata.get("page only"):
            continue
        content[field.name] = _value(getattr(value, field.name))
    return content
