"""The pictures of a recipe's run: how quality and loss went, and every metric seed by seed."""

from ...reports.blocks import Picture
from .data import OutcomeData

MOST_SEEDS = 1000  # of more, nobody could tell the lines apart


def outcome_pictures(data: OutcomeData) -> list[Picture]:
    """All the pictures that the data allow; what draws is imported here, where it is needed."""
    if len(data.runs) > MOST_SEEDS:
        return []
    from ...reports.canvas import for_phones_too, settings
    from .convergence import convergence
    from .curves import losses, quality
    from .dots import dots

    def draw_all() -> list[Picture]:
        drawn = [draw(data) for draw in (quality, convergence, losses, dots)]
        return [picture for picture in drawn if picture]

    with settings():
        return for_phones_too(draw_all)
