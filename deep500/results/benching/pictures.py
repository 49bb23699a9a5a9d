"""The four pictures of a measurement, from raw samples (for drawing only) and the derived intervals."""

from collections.abc import Callable

from ...reports.blocks import Picture
from .data import ReportData


def pictures(data: ReportData) -> list[Picture]:
    """All the pictures that the data allow; what draws is imported here, where it is needed."""
    from ...reports.canvas import settings
    from .order import run_order
    from .shifts import quantile_differences
    from .spread import ecdf, violins

    artists: tuple[Callable[[ReportData], Picture | None], ...] = (
        violins,
        ecdf,
        quantile_differences,
        run_order,
    )
    drawn = []
    with settings():
        for draw in artists:
            picture = draw(data)
            if picture:
                drawn.append(picture)
    return drawn
