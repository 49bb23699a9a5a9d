"""Recording calls of PyTorch into a graph: the same results again, and a refusal where they would not be."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from deep500.contracts.network import Network
from deep500.contracts.operator import Operator
from deep500.frameworks import framework
from deep500.frameworks.pytorch.recording import FunctionRecording, Unrecordable

FUNCTIONS: dict[str, Callable] = {
    "operators": lambda x: (2 - x) / (1 + x * x) - x**2 + 1 / (x + 3),
    "matrices": lambda x: x.T @ x + x.mT.matmul(x),
    "indexing": lambda x: x[1:, ::2] + x[..., :-1, :1] + x[None, 0, 0],
    "shapes": lambda x: x.reshape(x.shape[1], -1).sum(dim=0, keepdim=True) / x.numel(),
    "several results": lambda x: (
        torch.max(x, dim=1).values + torch.split(x, 2, dim=0)[0].mean()
    ),
    "lists": lambda x: torch.cat([x, x.relu()], dim=0).amax(),
    "functional": lambda x: torch.nn.functional.pad(
        x, [1, 0], value=-float("inf")
    ).exp(),
    "constants": lambda x: (
        x * torch.arange(x.shape[1], dtype=x.dtype) + torch.full((), 2.0)
    ),
    "comparisons": lambda x: torch.where(x > 0, x, torch.zeros_like(x)).to(
        torch.float64
    ),
    "itself": lambda x: x,
}


def replay(function: Callable, x: torch.Tensor) -> Callable:
    graph = torch.fx.Graph()
    with FunctionRecording(graph, {x: graph.placeholder("x")}) as recording:
        result = function(x)
    graph.output(recording.node(result))
    graph.eliminate_dead_code()
    return torch.fx.GraphModule(torch.nn.Module(), graph).forward


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_recorded_function_is_the_same_on_other_values(name: str) -> None:
    first, other = torch.randn(4, 3), torch.randn(4, 3)
    assert torch.equal(replay(FUNCTIONS[name], first)(other), FUNCTIONS[name](other))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * float(x.sum()),
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x * x.mean().item(),
        lambda x: x.clone().add_(1),
        lambda x: torch.add(x, 1, out=torch.empty(4, 3)),
        lambda x: torch.from_numpy(x.numpy() + 1),
    ],
)
def test_what_a_graph_would_not_repeat_is_refused(function: Callable) -> None:
    with pytest.raises(Unrecordable):
        replay(function, torch.randn(4, 3))


def test_a_change_of_an_element_is_refused() -> None:
    def change(x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[0] = 0
        return y

    with pytest.raises(Unrecordable):
        replay(change, torch.randn(4, 3))


def test_what_nobody_uses_is_left_out() -> None:
    def wasteful(x: torch.Tensor) -> torch.Tensor:
        torch.linalg.matrix_exp(x @ x.T)
        return x + 1

    assert "matrix_exp" not in replay(wasteful, torch.randn(4, 3)).__self__.code  # type: ignore[attr-defined]


class ByValue(Operator):
    """A native kernel that looks at its data: it must be called anew each time."""

    def forward(self, xp, x):
        return xp.abs(xp.sum(x)) * x

    def pytorch(self, torch, x):
        return x * float(x.sum()) if x.sum() > 0 else x * -float(x.sum())


def test_a_kernel_that_looks_at_its_data_runs_as_a_whole() -> None:
    network = Network()
    network.add_input("x", (0, 3))
    network.add_param("w", np.ones((3, 2), np.float32))
    network.outputs = [
        network.add_node("MatMul", (network.add_node(ByValue(), ("x",)), "w"))
    ]
    executor = framework("pytorch").executor(network)
    for sign in (1, -1, 2):
        x = np.full((4, 3), sign, np.float32)
        [y] = executor.inference({"x": x}).values()
        assert np.allclose(
            framework("pytorch").array(y), abs(x.sum()) * x @ np.ones((3, 2))
        )
