"""The pictures of a recipe's run: how quality and loss went, and every metric seed by seed."""

from .canvas import settings
from .outcome_curves import losses, quality
from .outcome_data import OutcomeData
from .outcome_dots import dots
from .series import Picture


def outcome_pictures(data: OutcomeData) -> list[Picture]:
    """All the pictures that the data allow."""
    with settings():
        return [picture for make in (quality, losses, dots) if (picture := make(data))]
