"""A network whose training step runs by kernels with fixed bits."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..contracts.network import KEY, Network, Node
from ..contracts.transport import Program
from .namespace import NotFixed
from .rules import LOSSES, RULES, FixedRule, LossRule
from .rules.base import NodePlace, Ran, Run
from .sums import Part, Target

# called with a part, the name of a parameter, and the whole numbers that it adds to the gradient
Watch = Callable[[Part, str, np.ndarray], None]
OURS = "deep500.operators."


@dataclass(frozen=True)
class Pass:
    """What is left of a forward pass: all values by name, and what every node saved for its gradients."""

    values: Mapping[str, Any]
    saved: Sequence[Any]


class FixedNetwork:
    """The rules of a network's nodes; raises NotFixed, which names the operator, if one has none.

    The results of an example do not depend on the other ones, but for statistics of the batch, which are added over
    ranks.
    """

    def __init__(self, network: Network, y: str):
        self.y = y
        self.network = network
        self._check_floats()
        targets = [*network.outputs, y, *network.state_updates.values()]
        nodes, _ = network.part([*dict.fromkeys(targets)])
        # transposed parameters: whose, and in which order of axes
        self.aliases: dict[str, tuple[str, tuple[int, ...]]] = {}
        self._batched = {name for name in network.inputs if not name.startswith(KEY)}
        # what depends on parameters, so that gradients pass through it
        self._live = {*network.trainable}
        self.places = [self._place(node) for node in nodes]
        self._check_uses()

    def forward(self, run: Run, inputs: Mapping[str, Any]) -> Program:
        """The value of this program is a Pass; inputs are float32 or integers, and missing on a rank without rows."""
        values: dict[str, Any] = {**run.params, **inputs}
        is_idle = not run.part.examples
        saved = []
        for place in self.places:
            own = [
                values.get(i) if isinstance(i, str) else i for i in place.node.inputs
            ]
            kept = None
            if place.rule.reduces:
                results, kept = yield from place.rule.forward(run, place, own)
                values.update(zip(place.node.outputs, results, strict=False))
            elif not is_idle:
                results, kept = place.rule.forward(run, place, own)
                values.update(zip(place.node.outputs, results, strict=False))
            saved.append(kept)
            if not is_idle:
                _check_precision(place, results)
        return Pass(values, saved)

    def backward(
        self,
        run: Run,
        done: Pass,
        sums: Mapping[str, Target],
        parts: Sequence[Part],
        watch: Watch | None = None,
    ) -> Program:
        """Add the gradients of all parameters to these sums, part by part."""
        gradients: dict[str, Any] = {}
        is_idle = not run.part.examples
        order = zip(reversed(self.places), reversed(done.saved), strict=True)
        for place, saved in order:
            own = [gradients.pop(name, None) for name in place.node.outputs]
            ran = Ran(run, place, saved, own)
            rule = place.rule
            if rule.reduces:  # on every rank, whatever it has
                pulled = yield from rule.backward(ran)
            elif is_idle or _is_unused(ran):
                continue
            else:
                pulled = rule.backward(ran)
            if is_idle:
                continue
            for position, name in place.params.items():
                _collect(ran, position, sums[name], parts, watch)
            for position in place.wanted & pulled.keys():
                name = str(place.node.inputs[position])
                gradient = pulled[position]
                if name in gradients:
                    gradient = gradients[name] + gradient
                gradients[name] = gradient

    def loss_parts(self, run: Run, done: Pass, target: Target) -> None:
        """Add what this rank's examples contribute to the loss."""
        if run.part.examples:
            last = self.places[-1]
            assert isinstance(last.rule, LossRule)
            last.rule.parts(run, done.saved[-1], target)

    def _place(self, node: Node) -> NodePlace:
        rule = self._rule(node)
        names = {
            position: name
            for position, name in enumerate(node.inputs)
            if isinstance(name, str)
        }
        batched = {p for p, name in names.items() if name in self._batched}
        live = {p for p, name in names.items() if name in self._live}
        own = {*self.network.trainable, *self.aliases}
        params = {p: name for p, name in names.items() if name in own}
        place = NodePlace(
            node,
            rule,
            frozenset(live - params.keys()),
            params,
            frozenset(batched),
        )
        if not batched and live:
            self._add_alias(place)
        elif batched:
            self._batched.update(node.outputs)
            if live:
                self._live.update(node.outputs)
        missing = rule.lacks(node.operator, place)
        if missing:
            raise NotFixed(
                f"{_described(node)} {missing} has no kernel with fixed bits"
            )
        return place

    def _rule(self, node: Node) -> FixedRule:
        operator = type(node.operator)
        is_ours = operator.__module__.startswith(OURS)
        rules: Mapping[str, FixedRule] = LOSSES if self.y in node.outputs else RULES
        rule = rules.get(operator.__name__)
        if rule is None or not is_ours or node.operator.adapted is not None:
            noun = "as the loss " if self.y in node.outputs else ""
            raise NotFixed(f"{_described(node)} {noun}has no kernel with fixed bits")
        return rule

    def _add_alias(self, place: NodePlace) -> None:
        """Note a transposed parameter, whose gradients are added in place."""
        node = place.node
        is_transpose = type(node.operator).__name__ == "Transpose"
        name = node.inputs[0]
        if not is_transpose or name not in self.network.trainable:
            raise NotFixed(
                f"{_described(node)}, which computes with parameters alone, has no kernel with fixed bits"
            )
        spec: Any = self.network.params[str(name)]
        order = node.operator._order(spec.shape)  # type: ignore[attr-defined]
        self.aliases[node.outputs[0]] = (str(name), order)
        self._live.add(node.outputs[0])

    @cached_property
    def uses(self) -> int:
        """How many nodes use the parameter that most of them use."""
        counts = Counter(
            self.aliases.get(name, (name, ()))[0]
            for place in self.places
            for name in place.params.values()
        )
        return max(counts.values(), default=1)

    def _check_floats(self) -> None:
        specs: dict[str, Any] = {**self.network.params, **self.network.inputs}
        for name, spec in specs.items():
            dtype = str(spec.dtype)
            if "float" in dtype and dtype != "float32":
                raise NotFixed(
                    f"{name!r} is in {dtype}, and kernels with fixed bits are for float32"
                )

    def _check_uses(self) -> None:
        """The loss comes last, and running statistics come from normalisations."""
        if self.y not in self.places[-1].node.outputs:
            last = next(p for p in self.places if self.y in p.node.outputs)
            self.places.remove(last)
            self.places.append(last)
        if self.network.consumers(self.y):
            raise NotFixed(
                f"a loss that is not the last node ({self.y!r}) has no kernel"
            )
        for value in self.network.state_updates.values():
            producer = next(p for p in self.places if value in p.node.outputs)
            if not producer.rule.reduces:
                raise NotFixed(
                    f"{_described(producer.node)}, which updates {value!r}, has no kernel with fixed bits"
                )


def _check_precision(place: NodePlace, results: Sequence[Any]) -> None:
    """Raise NotFixed for float64, which numbers in a node may lead to."""
    for result in results:
        if result.dtype.char == "d":
            raise NotFixed(
                f"{_described(place.node)} gives float64, and kernels with fixed bits are for float32"
            )


def _is_unused(ran: Ran) -> bool:
    """Whether the loss does not depend on a node."""
    is_loss = isinstance(ran.place.rule, LossRule)
    return not is_loss and all(gradient is None for gradient in ran.gradients)


def _collect(
    ran: Ran,
    position: int,
    target: Target,
    parts: Sequence[Part],
    watch: Watch | None,
) -> None:
    rule = ran.place.rule
    for part in parts:
        if watch is None:
            rule.collect(ran, position, part, target)
            continue
        own = Target(
            np.zeros_like(target.total), target.scale, target.limit, target.beyond
        )
        rule.collect(ran, position, part, own)
        watch(part, ran.place.params[position], own.total)
        target.total += own.total


def _described(node: Node) -> str:
    return f"{type(node.operator).__name__} (node {node.name!r})"
