"""The four pictures of a report, from raw samples (for drawing only) and the derived intervals."""

from collections.abc import Callable

from .canvas import settings
from .data import ReportData
from .order import run_order
from .series import Picture
from .shifts import quantile_differences
from .spread import ecdf, violins

MAKERS: tuple[Callable[[ReportData], Picture | None], ...] = (
    violins,
    ecdf,
    quantile_differences,
    run_order,
)


def pictures(data: ReportData) -> list[Picture]:
    """All the pictures that the data allow."""
    with settings():
        return [picture for make in MAKERS if (picture := make(data))]
