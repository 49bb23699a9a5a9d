"""Codecs of tensors on the simulated device: the same bits as on the host, without a copy there and without a wait."""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import deep500 as d5
from deep500.contracts.codec import Codec
from deep500.contracts.compressing import compressed_mean
from deep500.contracts.device_codec import device_mean
from deep500.contracts.layout import Bucket, Layout
from deep500.contracts.operator import TensorSpec
from deep500.contracts.transport import AllGather, Program, Wait
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.testing import simulated_device

SIZE = 1500  # more than two buckets of 512
STEPS = 3  # so that residuals come back
CODECS = [
    d5.codecs.Identity(),
    d5.codecs.Float16(),
    d5.codecs.BFloat16(),
    d5.codecs.TopK(0.01),
    d5.codecs.TopK(0.1, bucket=512),
    d5.codecs.TopK(0.3, bucket=100),
    d5.codecs.TopK(1.0),
    d5.codecs.QSGD(),
    d5.codecs.QSGD(bits=2, bucket=64),
    d5.codecs.QSGD(bits=8, norm="l2"),
    d5.codecs.QSGD(bits=4, bucket=200, norm="l2"),
]


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    simulated_device.load()
    yield


def gradient(kind: str, rank: int, step: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng([rank, step])
    x = rng.standard_normal(SIZE)
    if kind == "ties":
        x = np.round(x)
    elif kind == "small":
        x *= 1e-39
    elif kind == "large":
        x *= 3e38 / 8
    elif kind == "zeros":
        x[:] = 0
    elif kind == "not finite":
        x[[3, 700]] = np.nan, np.inf
    with np.errstate(over="ignore"):
        return x.astype(dtype)


def bucket_of(dtype: str) -> tuple[Any, Bucket]:
    """A layout with one parameter, and the bucket of it."""
    layout = Layout.of({"w": TensorSpec((SIZE,), dtype)})
    [bucket] = layout.buckets()
    return layout, bucket


def together(programs: Sequence[Program]) -> None:
    """Carry out the collectives of all ranks, in the order of the ranks."""
    answers: list[Any] = [None] * len(programs)
    results: list[Any] = []
    while True:
        steps = []
        for program, answer in zip(programs, answers, strict=True):
            try:
                steps.append(program.send(answer))
            except StopIteration:
                continue
        if not steps:
            return
        if isinstance(steps[0], Wait):
            answers = [[result] for result in results]
            continue
        arrays = [step.array for step in steps]
        if isinstance(steps[0], AllGather):
            results = [arrays] * len(steps)
        else:
            results = summed(arrays)
        answers = [0] * len(steps)


def summed(arrays: Sequence[Any]) -> list[Any]:
    total = arrays[0] + 0
    for array in arrays[1:]:
        total = total + array
    for array in arrays:
        array[:] = total
    return list(arrays)


def means(codec: Codec, kind: str, dtype: str, ranks: int, sim: bool) -> list[bytes]:
    """The bits of all ranks' means and residuals, step by step."""
    layout, bucket = bucket_of(dtype)
    fw = framework("pytorch").on("sim") if sim else framework("pytorch")
    workers = []
    for rank in range(ranks):
        facts = {"rank": rank, "size": ranks, "seed": 7, "layout": layout}
        workers.append(SimpleNamespace(**facts, state={}, step_count=0))
    found = []
    for step in range(STEPS):
        programs, parts = [], []
        for worker in workers:
            worker.step_count = step
            part: Any = gradient(kind, worker.rank, step, dtype)
            if sim:
                part = fw.tensor(part)
                coder = codec.on_device()
                assert coder is not None
                programs.append(device_mean(worker, coder, bucket, part))
            else:
                programs.append(compressed_mean(worker, codec, bucket, part))
            parts.append(part)
        with np.errstate(all="ignore"):
            together(programs)
        for worker, part in zip(workers, parts, strict=True):
            values = [part, *worker.state.values()]
            arrays = [fw.array(value) if sim else value for value in values]
            found.append(b"".join(canonical(array) for array in arrays))
    return found


def canonical(array: np.ndarray) -> bytes:
    """Its bits, where those of a number that is none do not count."""
    return np.where(np.isnan(array), array.dtype.type(np.nan), array).tobytes()


KINDS = ("normal", "ties", "small", "large", "zeros", "not finite")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_means_and_residuals_have_the_bits_of_the_host(codec: Codec, kind: str) -> None:
    right = means(codec, kind, "float32", 3, sim=False)
    assert means(codec, kind, "float32", 3, sim=True) == right


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_float64_and_a_single_rank_too(codec: Codec) -> None:
    for dtype, ranks in (("float64", 2), ("float32", 1)):
        right = means(codec, "normal", dtype, ranks, sim=False)
        assert means(codec, "normal", dtype, ranks, sim=True) == right


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_nothing_is_copied_to_the_host_and_nothing_waits(codec: Codec) -> None:
    layout, bucket = bucket_of("float32")
    fw = framework("pytorch").on("sim")
    facts = {"rank": 0, "size": 1, "seed": 7, "layout": layout, "step_count": 0}
    worker: Any = SimpleNamespace(**facts, state={})
    part = fw.tensor(gradient("normal", 0, 0, "float32"))
    coder = codec.on_device()
    assert coder is not None
    together([device_mean(worker, coder, bucket, part)])
    with simulated_device.counting() as counts:
        together([device_mean(worker, coder, bucket, part)])
    assert (counts.copies_to_host, counts.waits) == (0, 0), counts.waited_in


def test_a_residual_of_a_checkpoint_goes_on() -> None:
    layout, bucket = bucket_of("float32")
    facts = {"rank": 0, "size": 1, "seed": 7, "layout": layout, "step_count": 0}
    codec = d5.codecs.TopK(0.01)
    residual = gradient("normal", 5, 5, "float32")
    found = []
    for sim in (False, True):
        state = {"codec w: residual": residual.copy()}
        worker: Any = SimpleNamespace(**facts, state=state)
        part: Any = gradient("normal", 0, 0, "float32")
        if sim:
            part = torch.from_numpy(part).to("sim")
            coder = codec.on_device()
            assert coder is not None
            together([device_mean(worker, coder, bucket, part)])
            part = part.cpu().numpy()
        else:
            together([compressed_mean(worker, codec, bucket, part)])
        found.append(part.tobytes())
    assert found[0] == found[1]


def test_a_codec_takes_floats_of_32_and_64_bits_only() -> None:
    _, bucket = bucket_of("float32")
    coder = d5.codecs.Identity().on_device()
    assert coder is not None
    part = torch.zeros(4, dtype=torch.bfloat16, device="sim")
    with pytest.raises(Deep500Error, match=r"torch\.bfloat16 was given"):
        next(device_mean(SimpleNamespace(), coder, bucket, part))


def test_others_go_through_the_host() -> None:
    for codec in (
        d5.codecs.Sign(),
        d5.codecs.PowerSGD(),
        d5.codecs.TopK() | d5.codecs.QSGD(),
    ):
        assert codec.on_device() is None
