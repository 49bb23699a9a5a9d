"""What a network lost before it came here, as a file that an exporter wrote often has."""

import warnings

from ....contracts.network import Network


def remarks_of(network: Network) -> list[str]:
    """What would train differently from what its author meant."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        network.warn_before_training()
    return [
        *getattr(network, "remarks", ()),
        *(str(warning.message) for warning in said),
    ]
