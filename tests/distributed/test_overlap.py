"""Buckets of gradients are reduced while backprop goes on, and the bits stay those of one bucket."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deep500.contracts.engine_cost import engine_cost
from deep500.contracts.layout import Bucket, BucketQueue
from deep500.contracts.loggp import LogGP
from deep500.contracts.transport import AllReduce as NativeAllReduce
from deep500.contracts.transport import Overlap, Program, Wait
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.optimizers.sgd import SGD
from deep500.schemes.all_reduce import AllReduce
from deep500.transports.virtual import Virtual

from .test_all_reduce import ENGINES, largest_difference, with_dropout
from .test_real_ranks import launched
from .training import distributed, network, splits

SMALL = 64  # bytes: a bucket for each tensor
BUCKETS = [
    Bucket("float32", 4, 8, ("c", "d")),
    Bucket("float32", 2, 4, ("b",)),
    Bucket("float32", 0, 2, ("a",)),
]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("dcba", [("c", "d"), ("b",), ("a",)]),
        ("badc", [("c", "d"), ("b",), ("a",)]),
        ("dc", [("c", "d")]),
        ("bad", []),
    ],
)
def test_buckets_are_reported_in_order_once_they_are_whole(
    order: str, expected: list[tuple[str, ...]]
) -> None:
    reported = []
    queue = BucketQueue(BUCKETS, lambda bucket: reported.append(bucket.names))
    for name in order:
        queue.add(name)
    assert reported == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_overlapped_buckets_give_the_bits_of_one_bucket(engine: str) -> None:
    whole = distributed(AllReduce(), 3, engine, make=with_dropout)
    small = distributed(AllReduce(bucket_bytes=SMALL), 3, engine, make=with_dropout)
    whole.run()
    small.run()
    assert largest_difference(whole.executor.arrays(), small.executor.arrays()) == 0


def gradients_present(engine: str) -> list[int]:
    """How many parameters have a gradient whenever a bucket is reported, in one backprop."""
    executor: Any = framework(engine).from_model(network(), seed=1)
    step = executor.training_step(SGD(0.1))
    counts = []

    def ready(part: np.ndarray) -> None:
        gradients = [param.grad for param in executor.trained.values()]
        counts.append(sum(gradient is not None for gradient in gradients))

    batch = splits()["train"].batch(slice(0, 8))
    buckets = executor.layout.buckets(SMALL)
    step.backprop_in_buckets(batch, buckets, ready)
    assert len(counts) == len(buckets) == 4
    return counts


def test_a_bucket_is_reported_while_backprop_goes_on() -> None:
    """When the first bucket is reported, the gradients of the first layer are not there yet."""
    counts = gradients_present("pytorch")
    assert counts[0] < 4 and counts[-1] == 4


def test_a_framework_that_cannot_tell_reports_all_buckets_at_the_end() -> None:
    executor = framework("reference").from_model(network(), seed=1)
    step = executor.training_step(SGD(0.1))
    parts: list[np.ndarray] = []
    batch = splits()["train"].batch(slice(0, 8))
    buckets = executor.layout.buckets(SMALL)
    _, gradients = step.backprop_in_buckets(batch, buckets, parts.append)
    assert [part.size for part in parts] == [b.stop - b.start for b in buckets]
    assert all(np.shares_memory(part, gradients["float32"]) for part in parts)


class TwoHeads(torch.nn.Module):
    """The loss depends on one head only; the other one never gets a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.used = torch.nn.Linear(64, 10)
        self.unused = torch.nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x.flatten(1))


def test_parameters_without_a_gradient_count_as_zeros() -> None:
    executor = framework("pytorch").from_model(
        TwoHeads(), loss=torch.nn.CrossEntropyLoss()
    )
    step = executor.training_step(SGD(0.1))
    sums: list[float] = []
    batch = splits()["train"].batch(slice(0, 8))
    buckets = executor.layout.buckets(SMALL)
    _, gradients = step.backprop_in_buckets(
        batch, buckets, lambda part: sums.append(float(np.abs(part).sum()))
    )
    names = [bucket.names[0] for bucket in buckets]
    assert [total > 0 for total in sums] == ["unused" not in name for name in names]
    assert not gradients.views()["unused.weight"].any()


def test_the_virtual_clock_hides_what_is_sent_during_backprop() -> None:
    """Four reductions of 1 s each, begun after 1, 2, 3 and 4 s of computing: only the last one is waited for."""
    array = np.zeros(4, np.uint8)
    network = LogGP(L=0, o=0, g=0, G=0)
    one = Virtual(2, network)
    slow = LogGP(L=0.5, o=0, g=0, G=0)

    def program(rank: int) -> Program:
        def compute(begin) -> list[int]:
            return [begin(NativeAllReduce(part)) for part in np.split(array.copy(), 4)]

        handles = yield Overlap(compute, 4, seconds=4.0)
        yield Wait(handles)

    one.run(program)
    assert one.seconds == 4.0
    virtual = Virtual(2, slow)
    virtual.run(program)
    reduction = engine_cost("AllReduce", 2, 1).seconds(slow)
    assert reduction > 0
    assert virtual.seconds == 4.0 + reduction


@pytest.mark.parametrize("transport", ["torch", "mpi"])
def test_real_ranks_overlap_to_the_bits_of_virtual_ranks(
    tmp_path: Path, transport: str
) -> None:
    done = launched(tmp_path, transport, 2, "pytorch", bucket_bytes=SMALL)
    assert done.code == 0, done.output
    run = distributed(AllReduce(), 2, "pytorch", make=with_dropout)
    run.run()
    bits = b"".join(value.tobytes() for value in run.executor.arrays().values())
    for rank in range(2):
        assert (tmp_path / str(rank)).read_bytes() == bits


@pytest.mark.parametrize("transport", ["torch", "mpi"])
def test_a_rank_lost_during_overlap_is_named(tmp_path: Path, transport: str) -> None:
    words = ("pytorch", "1", "3", "kill")
    done = launched(tmp_path, transport, 2, *words, bucket_bytes=SMALL)
    assert done.code == 2, done.output
    assert "lost [1] steps 3: rank 1 is lost" in done.output


@pytest.mark.parametrize("bucket_bytes", [0, -5])
def test_buckets_without_bytes_are_refused(bucket_bytes: int) -> None:
    with pytest.raises(Deep500Error, match="give 1 or more"):
        distributed(AllReduce(bucket_bytes=bucket_bytes), 2)
