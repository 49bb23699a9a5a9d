"""Functions of one tensor that compute relu(x), honestly or not, for tests of what finds the difference."""

import threading
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

memory: dict[Any, Any] = {}


def honest(x: Tensor) -> Tensor:
    return torch.relu(x)


# ---- cheats


def other_stream(x: Tensor) -> Tensor:
    stream = memory.setdefault("stream", torch.Stream(x.device))
    with stream:
        return torch.relu(x)


class Lazy(torch.Tensor):
    """Computes when it is read."""

    source: Tensor

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        plain = [torch.relu(a.source) if isinstance(a, Lazy) else a for a in args]
        return func(*plain, **(kwargs or {}))


def lazy(x: Tensor) -> Tensor:
    y = torch.empty_like(x).as_subclass(Lazy)
    y.source = x
    return y


def remembers_addresses(x: Tensor) -> Tensor:
    key = "address", x.data_ptr()
    if key not in memory:
        memory[key] = torch.relu(x)
    return memory[key]


def unwritten(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def half_written(x: Tensor) -> Tensor:
    y = torch.empty_like(x)
    half = len(x) // 2
    y[:half] = torch.relu(x[:half])
    return y


def round_trip(x: Tensor) -> Tensor:
    return torch.from_numpy(np.maximum(x.cpu().numpy(), 0)).to(x.device)


def waits(x: Tensor) -> Tensor:
    y = torch.relu(x)
    torch.accelerator.synchronize(x.device)
    return y


def reads_a_number(x: Tensor) -> Tensor:
    if float(x.max()) < 0:
        return torch.zeros_like(x)
    return torch.relu(x)


def one_call_in_fifteen(x: Tensor) -> Tensor:
    calls = memory["calls"] = memory.get("calls", 0) + 1
    if calls % 15 < 5 or "skipped" not in memory:
        memory["skipped"] = torch.relu(x)
    return memory["skipped"]


def reused_output(x: Tensor) -> Tensor:
    y = memory.setdefault(("output", x.shape, x.dtype), torch.empty_like(x))
    return torch.clamp(x, min=0, out=y)


def changes_its_input(x: Tensor) -> Tensor:
    return x.relu_()


def half_precision(x: Tensor) -> Tensor:
    return torch.relu(x.half()).to(x.dtype)


def later_in_a_thread(x: Tensor) -> Tensor:
    y = torch.zeros_like(x)

    def compute() -> None:
        time.sleep(0.05)
        y.copy_(torch.relu(x))

    threading.Thread(target=compute, daemon=True).start()
    return y


CHEATS = {
    other_stream: "order of the current stream|wrong forward result",
    lazy: "returns a Lazy",
    remembers_addresses: "of another call|wrong forward result",
    unwritten: "never written|wrong forward result",
    half_written: "never written|wrong forward result",
    round_trip: "copies to the host",
    waits: "makes the host wait .*synchronize",
    reads_a_number: "copies to the host",
    one_call_in_fifteen: "of another call|wrong forward result",
    reused_output: "of another call",
    changes_its_input: "changes its inputs|wrong forward result|of another call",
    half_precision: "wrong forward result",
    later_in_a_thread: "of another call|wrong forward result",
}


# ---- other honest functions, with what may look like a cheat


def side_stream(x: Tensor) -> Tensor:
    """On another stream, which waits for the current one and is waited for."""
    stream = memory.setdefault("honest stream", torch.Stream(x.device))
    current = torch.accelerator.current_stream(x.device)
    stream.wait_stream(current)
    with stream:
        y = torch.relu(x)
    current.wait_stream(stream)
    return y


def constant_is_kept(x: Tensor) -> Tensor:
    zero = memory.setdefault(("zero", x.dtype), torch.zeros((), device=x.device))
    return torch.maximum(x, zero.to(x.dtype))


def elements_of_a_mask(x: Tensor) -> Tensor:
    return x[x > 0]


def fills_what_is_empty(x: Tensor) -> Tensor:
    return torch.empty_like(x).copy_(x).clamp_(min=0)


HONEST: dict[str, Any] = {
    "relu": honest,
    "side stream": side_stream,
    "kept constant": constant_is_kept,
    "mask": elements_of_a_mask,
    "filled": fills_what_is_empty,
    "nonzero": lambda x: torch.nonzero(x > 0).sum(0),
    "view": lambda x: x.T,
    "reshape": lambda x: x.reshape(-1),
    "slice": lambda x: x[1:],
    "itself": lambda x: x,
    "expand": lambda x: x[None].expand(2, *x.shape),
    "matmul": lambda x: x @ x.T,
    "linear": lambda x: torch.nn.functional.linear(x, x),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "softmax": lambda x: torch.softmax(x, -1),
    "layer norm": lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
    "gelu": torch.nn.functional.gelu,
    "sigmoid": torch.sigmoid,
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(0, keepdim=True),
    "maximum": lambda x: x.amax(1),
    "sort": lambda x: torch.sort(x, dim=-1)[0],
    "argmax": lambda x: x.argmax(-1),
    "cumulative": lambda x: torch.cumsum(x, 0),
    "where": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
    "concatenation": lambda x: torch.cat([x, -x], 1),
    "two results": lambda x: (torch.relu(x), torch.relu(-x)),
    "chunks": lambda x: torch.chunk(x * 2, 2),
    "outer": lambda x: x[:, :1] * x[:1],
    "integers": lambda x: (x * 10).to(torch.int32),
    "attention": lambda x: torch.nn.functional.scaled_dot_product_attention(
        x[None, None], x[None, None], x[None, None]
    ),
    "convolution": lambda x: torch.nn.functional.conv2d(
        x[None, None], torch.ones(1, 1, 3, 3, device=x.device, dtype=x.dtype)
    ),
}
for _name, _function in HONEST.items():
    globals()["honest_" + _name.replace(" ", "_")] = _function
