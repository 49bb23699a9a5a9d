"""The convolutions that a name stands for: those of DeepBench, those of a network, or one that is written out."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ... import networks
from ...contracts.convolution import ConvolutionProblem
from ...contracts.convolution_text import FORM, problem_of
from ...errors import Deep500Error, did_you_mean
from ...micro_batches.network_plan import convolution_layers
from ..operators.suites import TIERS, suite

DEEPBENCH = "deepbench"
NETWORKS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "alexnet": ("alexnet", {}),
    "vgg16": ("vgg", {"depth": 16}),
    "resnet18": ("resnet", {"depth": 18}),
    "resnet50": ("resnet", {"depth": 50}),
    "googlenet": ("googlenet", {}),
}


def problems_of(name: str, batch: int) -> list[ConvolutionProblem]:
    """Each convolution once. `batch` is that of a network's, or replaces that of others if it is not 0."""
    if name in NETWORKS:
        return network_problems(name, batch or 8)
    family, _, tier = name.partition(":")
    if family == DEEPBENCH:
        problems = _deepbench(tier or "tiny")
    elif name[:1].isdigit():
        problems = [problem_of(name)]
    else:
        known = [*NETWORKS, *(f"{DEEPBENCH}:{tier}" for tier in TIERS)]
        raise Deep500Error(
            f"no convolutions are named {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}, or {FORM}"
        )
    if batch:
        problems = [problem.with_batch(batch) for problem in problems]
    return list(dict.fromkeys(problems))


def network_problems(name: str, batch: int) -> list[ConvolutionProblem]:
    """The convolutions of a network of the literature, each once."""
    kind, settings = NETWORKS[name]
    layers = convolution_layers(networks.create(kind, **settings), batch)
    return list(dict.fromkeys(layer.problem for layer in layers))


def _deepbench(tier: str) -> list[ConvolutionProblem]:
    problems = []
    for case in suite(f"{DEEPBENCH}:conv", tier).problems:
        images, filters = case.shape.split(",")
        count, _, rows, columns = filters.split("x")
        problem = problem_of(f"{images},{count}x{rows}x{columns}")
        pads, strides = case.attributes["pads"], case.attributes["strides"]
        problems.append(replace(problem, pads=tuple(pads), strides=tuple(strides)))
    return problems
