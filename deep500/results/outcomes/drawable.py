"""Whether a number fits into a picture."""

from typing import TypeGuard

from ...contracts.task import Quality
from ...reports.tables import is_number
from ..benching.series import LARGEST


def drawable(value: object, main: Quality) -> TypeGuard[float]:
    """Whether a value of the quality is a number that fits into a picture."""
    if not is_number(value) or not abs(value) < LARGEST:
        return False
    return main.unit != "%" or 0 <= value <= 100
