"""What operators in CUDA ask the runtime for: facts, printed as JSON. The argument names which."""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import deep500 as d5
from deep500.contracts.operator import TensorSpec
from deep500.custom.cpp import TensorT, _tensor_t
from deep500.errors import Deep500Error

from .fake_cudart import Journal

SOURCES = Path(__file__).parent
JOURNAL = Journal()
STREAM = 0x7000


def called(function: Any, addresses: list[int]) -> str | None:
    """Call a function of the ABI for a tensor of 1000 elements; returns its fault."""
    tensors = (TensorT * 2)(*[_tensor_t(TensorSpec((1000,), "float32"))] * 2)
    data = (ctypes.c_void_p * len(addresses))(*addresses)
    fault = function(tensors, 1, 1, data, STREAM)
    return fault and fault.decode()


def operator(name: str) -> Any:
    return d5.compile_custom_cppop(name, SOURCES / f"{name}.cu")


def launches() -> dict[str, Any]:
    op = operator("square")
    library = op.library("float32")
    x = np.arange(3, dtype=np.float32)
    on_host = op.run([x])[0].tolist()
    launched = JOURNAL.lines()
    forward = JOURNAL.of(called, library.forward_cuda, [0x1000, 0x2000])
    backward = JOURNAL.of(
        called, library.backward_cuda, [0x3000, 0x1000, 0x2000, 0x4000]
    )
    return {
        "on the host": on_host,
        "launches on the host": launched,
        "forward": forward,
        "backward": backward,
        "kernels": [line.split()[1] for line in (*forward, *backward)],
    }


def faults() -> dict[str, Any]:
    """Errors of a launch come back as text, and what an operator must not do is written down."""
    library = operator("square").library("float32")
    JOURNAL.fake.fake_plant(1)
    planted = called(library.forward_cuda, [0x1000, 0x2000])
    after = called(library.forward_cuda, [0x1000, 0x2000])
    waiting = operator("waiting").library("float32")
    return {
        "planted": planted,
        "after": after,
        "waiting": JOURNAL.of(called, waiting.forward_cuda, [0x1000, 0x2000]),
        "without backward": waiting.backward_cuda is None and waiting.differentiable,
        "streamless": streamless(),
    }


def jax() -> dict[str, Any]:
    """Launches of the operator when XLA's handler for CUDA is called with a stream and buffers."""
    from jax.ffi import include_dir

    from deep500.custom.building import build
    from deep500.frameworks.jax.foreign import handler_library

    source = (SOURCES / "xla_call.cpp").read_text()
    flags = ["-std=c++17", "-fvisibility=default", f"-I{include_dir()}"]
    caller = ctypes.CDLL(str(build("XLA's calls", source, SOURCES, flags))).xla_call
    caller.restype = ctypes.c_char_p
    handler = handler_library().deep500_custom_op_cuda
    library = operator("square").library("float32")

    def call(function: Any, addresses: list[int], results: int) -> str:
        address = ctypes.cast(function, ctypes.c_void_p).value
        numbers = (ctypes.c_int64 * 5)(address, 0, 1, 1, 0)
        data = (ctypes.c_void_p * len(addresses))(*addresses)
        inputs = len(addresses) - results
        length = ctypes.c_int64(1000)
        stream = ctypes.c_void_p(STREAM)
        fault = caller(handler, stream, inputs, results, data, length, numbers)
        return (fault or b"").decode()

    forward = JOURNAL.of(call, library.forward_cuda, [0x1000, 0x2000], 1)
    gradient = [0x3000, 0x1000, 0x2000, 0x4000]
    backward = JOURNAL.of(call, library.backward_cuda, gradient, 1)
    JOURNAL.fake.fake_plant(1)
    return {
        "forward": forward,
        "backward": backward,
        "kernels": [line.split()[1] for line in (*forward, *backward)],
        "planted": call(library.forward_cuda, [0x1000, 0x2000], 1),
    }


def pytorch() -> dict[str, Any]:
    """Launches of the operator on tensors of the simulated device, on its usual stream and on another."""
    import torch

    from deep500.testing import simulated_device

    simulated_device.load()
    square = d5.framework("pytorch").custom_op(operator("square"))
    x = torch.zeros(1000, device="sim", requires_grad=True)
    streams: list[Any] = [
        torch.accelerator.current_stream("sim"),
        torch.Stream("sim"),
    ]
    found = {}
    for stream in streams:
        JOURNAL.lines()
        with stream:
            y = square(x)
            addresses = [x.data_ptr(), y.data_ptr()]
            dy = torch.ones_like(y)
            y.backward(dy)
        assert x.grad is not None
        found[stream.stream_id] = {
            "handle": stream.native_handle,
            "lines": JOURNAL.lines(),
            "forward": [*addresses, 1000],
            "backward": [dy.data_ptr(), x.data_ptr(), x.grad.data_ptr()],
        }
        x.grad = None
    return {"streams": list(found.values())}


def streamless() -> str:
    """The error for an operator whose forward_cuda takes no stream."""
    try:
        operator("streamless")
    except Deep500Error as error:
        return str(error)
    return ""


if __name__ == "__main__":
    facts = {"launches": launches, "faults": faults, "jax": jax, "pytorch": pytorch}
    print(json.dumps(facts[sys.argv[1]]()))
