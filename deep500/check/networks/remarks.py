"""What a network has lost, which is common in files that an exporter wrote."""

import warnings

from ...contracts.network import Network

UNSEEN = "an engine that is a function gives its outputs only: its inner nodes and gradients cannot be seen"


def remarks_of(network: Network) -> list[str]:
    """One sentence for each thing that would train differently from what the author meant."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network.warn_before_training()
    remarks = list(getattr(network, "remarks", ()))
    for warning in caught:
        remarks.append(str(warning.message))
    return remarks
