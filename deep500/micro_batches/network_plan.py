"""Plans for the convolutions of a network: which algorithm computes how many examples of which, in which direction."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..contracts.convolution import DIRECTIONS, ConvolutionProblem
from ..contracts.network import Network, Node
from ..costs.units import nbytes
from ..errors import Deep500Error
from ..operators.conv import Conv
from .batch_plan import BatchPlan, TimedKernel
from .dividing import divided
from .micro_batched_conv import convolution_problem
from .planning import (
    fastest_plan,
    least_workspace,
    micro_batches,
    pareto_plans,
)
from .times_table import TimedPlan
from .timing import Timing

UNPLANNED = "direct"  # computes a gradient that a training step does not need
Progress = Callable[[float, str], None]


def say_nothing(fraction: float, text: str) -> None:
    pass


@dataclass(frozen=True)
class Layer:
    """A convolution of a network, and the directions that a training step needs."""

    node: str
    conv: Conv
    problem: ConvolutionProblem
    bias: bool
    directions: tuple[str, ...]


@dataclass(frozen=True)
class Request:
    """What is asked of plans: the limit of workspace, of each kernel or (with division) of all together, and how."""

    limit: int
    policy: str
    division: bool
    names: Sequence[str]


@dataclass(frozen=True)
class LayerPlan:
    """The plan of one direction of a layer, and the fastest whole batch within the same limit, if there is one.

    `again` and `undivided_again` are their times when they were measured once more, side by side.
    """

    layer: Layer
    direction: str
    plan: BatchPlan
    undivided: BatchPlan | None
    again: TimedPlan | None = None
    undivided_again: TimedPlan | None = None


def convolution_layers(network: Network, batch: int | None) -> list[Layer]:
    """The convolutions of two axes in float32, with the shapes that they have for this batch."""
    found = _planar_convolutions(network)
    if found and network.dimensions and batch is None:
        names = ", ".join(network.dimensions)
        raise Deep500Error(
            f"the network takes any {names}, and plans are for one batch: give it, as in MicroBatch(batch=64)"
        )
    specs = network.specs(dict.fromkeys(network.dimensions, batch or 1))
    layers = []
    for node, conv in found:
        x, w = map(str, node.inputs[:2])
        directions: tuple[str, ...] = DIRECTIONS
        if x in network.inputs:  # nobody asks for its gradient
            directions = ("forward", "filter")
        problem = convolution_problem(conv, specs[x], specs[w])
        has_bias = node.inputs[2:] not in ((), (None,))
        layers.append(Layer(node.name, conv, problem, has_bias, directions))
    return layers


def _planar_convolutions(network: Network) -> list[tuple[Node, Conv]]:
    specs = network.specs()
    found = []
    for node in network.nodes:
        conv = node.operator
        if type(conv) is not Conv or conv.algorithm is not None:
            continue
        spec = specs.get(str(node.inputs[0]))
        if spec and len(spec.shape) == 4 and spec.dtype == "float32":
            found.append((node, conv))
    return found


def plan_layers(
    layers: Sequence[Layer],
    request: Request,
    timing: Timing,
    progress: Progress = say_nothing,
) -> list[LayerPlan]:
    """The fastest plan for every direction of every layer; raises a Deep500Error for a limit that is too small.

    What is chosen is measured again, and stays divided only if it is then faster than the whole batch.
    """
    tasks = [(layer, each) for layer in layers for each in layer.directions]
    check_limit(tasks, request, timing)
    plans = []
    choices = []
    for done, (layer, direction) in enumerate(tasks):
        says = _saying(progress, done / (2 * len(tasks)))
        own = replace(timing, says=says)
        kernels = _kernels(layer, direction, request, own)
        batch = layer.problem.batch
        whole = [kernel for kernel in kernels if kernel.examples == batch]
        undivided = fastest_plan(whole, batch, request.limit)
        if request.division:
            choices.append(pareto_plans(kernels, batch))
        fastest = fastest_plan(kernels, batch, request.limit)
        assert fastest is not None  # check_limit has seen to it
        plans.append(LayerPlan(layer, direction, fastest, undivided))
    if request.division:
        chosen = divided(choices, request.limit)
        assert chosen is not None
        plans = [
            replace(each, plan=own) for each, own in zip(plans, chosen, strict=True)
        ]
    final = []
    for done, plan in enumerate(plans):
        says = _saying(progress, 0.5 + done / (2 * len(plans)))
        own = replace(timing, says=says)
        final.append(_measured_again(plan, own, request.division))
    return final


def check_limit(
    tasks: Iterable[tuple[Layer, str]], request: Request, timing: Timing
) -> None:
    """Raise a Deep500Error that names the least limit if this one is too small; nothing is timed."""
    needs = {}
    for layer, direction in tasks:
        kernels = []
        for size in micro_batches(request.policy, layer.problem.batch):
            part = layer.problem.with_batch(size)
            workspaces = timing.workspaces(part, direction, request.names)
            for name, workspace in workspaces.items():
                kernels.append(TimedKernel(name, size, 1.0, workspace))
        least = least_workspace(kernels, layer.problem.batch)
        if least is None:
            names = ", ".join(request.names)
            raise Deep500Error(
                f"none of {names} can compute {layer.node!r} ({direction}): name more algorithms"
            )
        needs[layer.node, direction] = least
    least_limit = max(needs.values(), default=0)
    if request.division:
        least_limit = sum(needs.values())
    if least_limit > request.limit:
        node, direction = max(needs, key=lambda need: needs[need])
        raise Deep500Error(
            f"a workspace of {nbytes(request.limit)} is too small: the convolutions need {least_limit} bytes at least "
            f"(most of all {node!r}, {direction}: {needs[node, direction]}); give that, or name more algorithms"
        )


def total_seconds(plans: Iterable[LayerPlan], undivided: bool = False) -> float:
    """The sum of the times by which plans were chosen; infinite if the whole batch does not fit somewhere."""
    seconds = []
    for each in plans:
        plan = each.undivided if undivided else each.plan
        seconds.append(plan.seconds if plan else math.inf)
    return math.fsum(seconds)


def seconds_again(plans: Iterable[LayerPlan]) -> float:
    """The sum of the times that were measured after the choice."""
    return math.fsum(each.again.seconds for each in plans if each.again)


def plan_texts(plans: Sequence[LayerPlan]) -> dict[str, tuple[str, ...]]:
    """The texts of the plans of every layer, in the order of DIRECTIONS."""
    texts: dict[str, dict[str, str]] = {}
    for each in plans:
        texts.setdefault(each.layer.node, {})[each.direction] = each.plan.text
    batches = {each.layer.node: each.layer.problem.batch for each in plans}
    complete = {}
    for node, own in texts.items():
        usual = f"{batches[node]} {UNPLANNED}"
        complete[node] = tuple(own.get(each, usual) for each in DIRECTIONS)
    return complete


def _kernels(
    layer: Layer, direction: str, request: Request, timing: Timing
) -> list[TimedKernel]:
    sizes = micro_batches(request.policy, layer.problem.batch)
    return timing.kernels(layer.problem, direction, sizes, request.names, request.limit)


def _measured_again(each: LayerPlan, timing: Timing, division: bool) -> LayerPlan:
    """With the times of a second measurement; the whole batch instead of parts whose interval is not below its own."""
    texts = [each.plan.text]
    if each.undivided:
        texts.append(each.undivided.text)
    times = timing.times(each.layer.problem, each.direction, list(dict.fromkeys(texts)))
    again = times[each.plan.text]
    if each.undivided is None:
        return replace(each, again=again)
    whole = times[each.undivided.text]
    is_faster = (again.high or again.seconds) < (whole.low or whole.seconds)
    # with one budget, the whole batch may have no room
    has_room = not division or each.undivided.workspace <= each.plan.workspace
    if not is_faster and has_room:
        return replace(each, plan=each.undivided, again=whole, undivided_again=whole)
    return replace(each, again=again, undivided_again=whole)


def _saying(progress: Progress, fraction: float) -> Callable[[str], None]:
    return lambda text: progress(fraction, text)
