"""What corresponds in two forms of one network: inputs, outputs and parameters; what does not is said in remarks."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from ...contracts.network import Network
from ...errors import Deep500Error
from ...graph.weights import listed
from ..operators.formats import FORMATS
from .folded_weights import unfold_weights
from .subjects import LOSS


def comparable(original: Network, other: Network) -> tuple[Network, Network, list[str]]:
    """Both networks, with the weights that were folded in only one of them computed again, and the remarks on them.

    Raises `Deep500Error` if the other network has inputs or outputs that the original has not.
    """
    unfolded_other, remarks = unfold_weights(other, original)
    unfolded_original, more = unfold_weights(original, unfolded_other)
    remarks += more
    shared = shared_parameters(unfolded_other, unfolded_original)
    remarks += remarks_on_pairs(unfolded_original, unfolded_other, shared)
    return unfolded_original, unfolded_other, remarks


def paired(names: Sequence[str], others: Sequence[str], kind: str) -> dict[str, str]:
    """Maps each name to that of the other network: the same one if there is one, the others in their order.

    Raises `Deep500Error` if the other network has too few names.
    """
    unmatched = [name for name in names if name not in others]
    unmatched_others = [name for name in others if name not in names]
    if len(unmatched) > len(unmatched_others):
        raise Deep500Error(
            f"the networks have different {kind}: {', '.join(names)}, and {', '.join(others)}"
        )
    same = {name: name for name in names if name in others}
    return same | dict(zip(unmatched, unmatched_others, strict=False))


def shared_parameters(network: Network, original: Network) -> list[str]:
    """The parameters that are trained in both networks and have the same numbers, rounded to the coarser dtype."""
    shared = []
    for name in network.trainable:
        if name in original.trainable and _same_numbers(
            network.params[name], original.params[name]
        ):
            shared.append(name)
    return shared


def _same_numbers(param: np.ndarray, other: np.ndarray) -> bool:
    coarser = max(
        param.dtype.name, other.dtype.name, key=lambda name: FORMATS[name].eps
    )
    return np.array_equal(param.astype(coarser), other.astype(coarser), equal_nan=True)


def remarks_on_pairs(
    original: Network, other: Network, shared: Collection[str]
) -> list[str]:
    """What is compared although its name differs, and what is not compared, with these parameters of both networks."""
    inputs = paired(list(other.inputs), list(original.inputs), "inputs")
    outputs = paired(list(other.outputs), original.outputs, "outputs")
    return [
        *_by_position(inputs, "inputs"),
        *_by_position(outputs, "outputs"),
        *_lost_outputs(original, outputs),
        *_lost_parameters(original.trainable, other.trainable, shared),
    ]


def _by_position(names: Mapping[str, str], kind: str) -> list[str]:
    """A remark on the pairs of different names."""
    pairs = []
    for name, original_name in names.items():
        if name != original_name:
            pairs.append(f"{original_name!r} with {name!r}")
    if not pairs:
        return []
    return [f"{kind} matched by their position: {listed(pairs)}"]


def _lost_outputs(original: Network, outputs: Mapping[str, str]) -> list[str]:
    matched = set(outputs.values())
    lost = [name for name in original.outputs if name not in matched]
    if not lost:
        return []
    remark = f"outputs of the first alone, not compared: {listed(lost)}"
    if LOSS not in matched:
        remark += "; without them, gradients are not compared either"
    return [remark]


def _lost_parameters(
    names: Sequence[str], other_names: Sequence[str], shared: Collection[str]
) -> list[str]:
    """Remarks on the trained parameters whose gradients are not compared."""
    only_first = [name for name in names if name not in other_names]
    only_second = [name for name in other_names if name not in names]
    different = []
    for name in names:
        if name in other_names and name not in shared:
            different.append(name)
    remarks = []
    for which, lost in (
        ("of the first alone", only_first),
        ("of the second alone", only_second),
        ("whose shapes or numbers differ", different),
    ):
        if lost:
            remarks.append(
                f"trained parameters {which}, their gradients not compared: {listed(lost)}"
            )
    return remarks
