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
    merged = merged_parameters(unfolded_other, unfolded_original)
    remarks += remarks_on_pairs(unfolded_original, unfolded_other, [*shared, *merged])
    if merged:
        remarks.append(
            f"one weight in a file, several equal ones in the other, their gradients not compared: {listed(merged)}"
        )
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
    """The parameters that are trained in both networks, with the same numbers (in the coarser dtype) and uses."""
    merged = {*merged_parameters(network, original)}
    shared = []
    for name in _with_same_numbers(network, original):
        if name not in merged:
            shared.append(name)
    return shared


def merged_parameters(network: Network, original: Network) -> list[str]:
    """Those that stand in one network for several equal ones of the other: their gradient is the sum of these."""
    merged = []
    for name in _with_same_numbers(network, original):
        for one, several in ((network, original), (original, network)):
            more_uses = _uses(one, name) > _uses(several, name)
            if more_uses and _has_equal(name, several, one):
                merged.append(name)
    return merged


def _has_equal(name: str, several: Network, one: Network) -> bool:
    """Whether several trained parameters of one network have the numbers of this one, and the other has not all."""
    value = several.params[name]
    for other in several.trainable:
        alone = other not in one.params
        if alone and np.array_equal(several.params[other], value, equal_nan=True):
            return True
    return False


def _uses(network: Network, name: str) -> int:
    count = 0
    for node in network.nodes:
        for value in node.inputs:
            count += isinstance(value, str) and value == name
    return count


def _with_same_numbers(network: Network, original: Network) -> list[str]:
    same = []
    for name in network.trainable:
        if name in original.trainable and _same_numbers(
            network.params[name], original.params[name]
        ):
            same.append(name)
    return same


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
