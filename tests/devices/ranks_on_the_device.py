"""One of two ranks that torchrun's variables start: an allreduce of tensors on the simulated device, and refusals."""

import json

import torch

from deep500.contracts.transport import AllReduce, Program, RecvAny, Wait
from deep500.distributed.communication import process_transport
from deep500.errors import Deep500Error
from deep500.testing import simulated_device

simulated_device.load()
ENGINE = process_transport("torch", 300.0)
RANK = ENGINE.ranks[0]


def summed() -> list[float]:
    x = torch.full((4,), float(RANK + 1)).to("sim")

    def program(rank: int) -> Program:
        handle = yield AllReduce(x)
        yield Wait([handle])
        return x

    y = ENGINE.run(program)[RANK]
    assert y is x and str(y.device) == "sim:0"
    return (y + 1).cpu().tolist()


def refused() -> str:
    def program(rank: int) -> Program:
        yield RecvAny(torch.zeros(4, device="sim"))  # type: ignore[arg-type]

    try:
        ENGINE.run(program)
    except Deep500Error as error:
        return str(error)
    return ""


if __name__ == "__main__":
    assert ENGINE.carries("sim:0") and not ENGINE.carries("mps:0")
    facts = {"sum": summed(), "refused": refused()}
    if RANK == 0:
        print(json.dumps(facts))
