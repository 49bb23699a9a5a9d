"""One of two ranks that torchrun's variables start: collectives of tensors on the simulated device, and refusals."""

import json
import sys
from collections.abc import Callable

import torch

from deep500.contracts.transport import (
    AllGather,
    AllReduce,
    Program,
    RecvAny,
    Wait,
)
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


def gathered() -> list[list[float]]:
    x = torch.full((2,), float(RANK), device="sim")

    def program(rank: int) -> Program:
        handle = yield AllGather(x)
        [rows] = yield Wait([handle])
        return rows

    rows = ENGINE.run(program)[RANK]
    assert all(str(row.device) == "sim:0" for row in rows)
    return [row.cpu().tolist() for row in rows]


def refused(step: Callable[[], object]) -> str:
    def program(rank: int) -> Program:
        yield step()

    try:
        ENGINE.run(program)
    except Deep500Error as error:
        return str(error)
    return ""


if __name__ == "__main__":
    assert ENGINE.carries("sim:0") and not ENGINE.carries("mps:0")
    x = torch.zeros(4, device="sim")
    steps: dict[str, Callable[[], object]] = {
        "RecvAny": lambda: RecvAny(x),  # type: ignore[arg-type]
        "AllGather": lambda: AllGather(x, uneven=True),
    }
    facts = {
        "sum": summed(),
        "gathered": gathered(),
        # last: after an error, the ranks have lost each other
        "refused": refused(steps[sys.argv[1]]),
    }
    if RANK == 0:
        print(json.dumps(facts))
