"""The pictures of a measurement, from raw samples (for drawing only) and the derived intervals."""

from ...reports.blocks import Picture
from .data import ReportData


def pictures(data: ReportData) -> list[Picture]:
    """All the pictures that the data allow; what draws is imported here, where it is needed."""
    from ...reports.canvas import drawn
    from .order import run_order
    from .qq import normal_quantiles
    from .shifts import quantile_differences
    from .spread import ecdf, violins

    artists = [violins, ecdf, normal_quantiles, quantile_differences, run_order]
    return drawn(artists, data)
