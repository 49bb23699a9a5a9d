"""Codecs on 10 million float32: GB/s of encode + decode beside a memory copy, and against PyTorch's own.

    python benchmarks/codecs.py [--size 10000000] [--budget 10] [--only speed topk quantisation powersgd] [--cpu]

speed         every codec's encode and decode, in GB/s of the buffer that goes in (a copy reads and writes it once)
topk          TopK(0.01): magnitudes, selection, indices and values, / torch.topk of the magnitudes and the values there
quantisation  QSGD(bits=8): stochastic rounding in buckets of 512, / the quantise and dequantise of PyTorch's
              quantization_pertensor_hook (its observer, round to nearest, one scale)
powersgd      PowerSGD(2) with error feedback, one rank, / PyTorch's powerSGD_hook, one rank over gloo

Ratios are paired, ours / PyTorch's, in mirrored order; the goal is a median of at most 1.00. Intervals are those of
medians at 95 %. All use the same number of threads.
"""

import argparse
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.ao.quantization import MinMaxObserver
from torch.distributed.algorithms.ddp_comm_hooks import quantization_hooks

import deep500 as d5
from deep500 import measure
from deep500.codecs import _native
from deep500.contracts.codec import Codec, Key, run_together
from deep500.contracts.layout import Slot
from deep500.frameworks.pytorch.ddp_own_hooks import TorchHook

codecs: Any = d5.codecs
CODECS = [
    codecs.Identity(),
    codecs.Float16(),
    codecs.BFloat16(),
    codecs.QSGD(bits=2),
    codecs.QSGD(bits=4),
    codecs.QSGD(bits=8),
    codecs.TernGrad(),
    codecs.OneBit(),
    codecs.TopK(0.01),
    codecs.TopK(16 / 512, bucket=512),
    codecs.Threshold(2.5),
    codecs.RandomK(0.01),
    codecs.TopK(0.01) | codecs.QSGD(bits=4),
    codecs.Lossless(),
]
FEWEST_ROUNDS = 10
clock: Callable[[], float] = time.perf_counter
PARTS = ("speed", "topk", "quantisation", "powersgd")


def gradient(size: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(size, np.float32)


def seconds(function: Callable[[], Any], budget_s: float) -> np.ndarray:
    """Times of single calls."""
    function()
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < FEWEST_ROUNDS or time.perf_counter() - began < budget_s:
        start = clock()
        function()
        times.append(clock() - start)
    return np.array(times)


def speed(size: int, budget_s: float) -> bool:
    x = gradient(size)
    target = np.empty_like(x)
    each = budget_s / (len(CODECS) + 1)
    _line(
        "memory copy", x.nbytes, seconds(lambda: np.copyto(target, x), each), x.nbytes
    )
    for codec in CODECS:
        payload = codec.encode(x, Key())
        times = seconds(lambda codec=codec: round_trip(codec, x), each)
        _line(str(codec), x.nbytes, times, payload.size)
    return True


def round_trip(codec: Codec, x: np.ndarray) -> np.ndarray:
    return codec.decode(codec.encode(x, Key()), x.size, x.dtype)


def _line(name: str, bytes_: int, times: np.ndarray, sent: int) -> None:
    rate = measure.interval(bytes_ / 1e9 / times)
    print(
        f"{name:60s} {rate.estimate:6.2f} GB/s [{rate.low:.2f}, {rate.high:.2f}], n = {rate.n}, "
        f"{bytes_ / sent:6.1f} x smaller",
        flush=True,
    )


def topk(size: int, budget_s: float) -> bool:
    x = gradient(size)
    tensor = torch.from_numpy(x)
    codec = codecs.TopK(0.01)
    count = codec.most_values(size)

    def torchs() -> None:
        places = torch.topk(tensor.abs(), count, sorted=False).indices
        tensor[places]

    return compared(
        "TopK(0.01) / torch.topk", torchs, lambda: codec.encode(x, Key()), budget_s
    )


def quantisation(size: int, budget_s: float) -> bool:
    x = gradient(size)
    tensor = torch.from_numpy(x)
    codec = codecs.QSGD(bits=8)

    def torchs() -> None:
        observer = MinMaxObserver()
        observer(tensor)
        scale, zero = observer.calculate_qparams()
        code = quantization_hooks._quantize_per_tensor_backend(tensor, scale, zero)
        quantization_hooks._dequantize_per_tensor_backend(code, scale, zero)

    name = "QSGD(bits=8) / quantization_pertensor_hook"
    return compared(name, torchs, lambda: round_trip(codec, x), budget_s)


def powersgd(size: int, budget_s: float) -> bool:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=0, world_size=1)
    slots, x = layers(size)
    candidates = {}
    for name, codec in (("torch", TorchHook("powersgd")), ("ours", codecs.PowerSGD(2))):
        state = codec.init(x.size, "float32", slots)
        candidates[name] = aggregated(codec, x, state, slots)
        for _ in range(3):  # PyTorch sends everything in the first two steps
            candidates[name]()
    reached = compared(
        "PowerSGD(2) / powerSGD_hook", candidates["torch"], candidates["ours"], budget_s
    )
    dist.destroy_process_group()
    return reached


def layers(size: int) -> tuple[list[Slot], np.ndarray]:
    """Fully connected layers of 1024 x 1024 with biases, and their gradients."""
    slots: list[Slot] = []
    offset = 0
    while offset + 1024 * 1025 <= size:
        number = len(slots) // 2
        slots.append(Slot(f"weight{number}", (1024, 1024), "float32", offset))
        slots.append(Slot(f"bias{number}", (1024,), "float32", offset + 1024 * 1024))
        offset += 1024 * 1025
    return slots, gradient(offset)


def aggregated(
    codec: Codec, x: np.ndarray, state: Any, slots: Any
) -> Callable[[], None]:
    def step() -> None:
        run_together([codec.aggregate(x, state, Key(), slots)])

    return step


def compared(
    name: str, theirs: Callable[[], Any], ours: Callable[[], Any], budget_s: float
) -> bool:
    """Rounds in mirrored order, each with one ratio; the interval is that of their median."""
    for warm_up in (theirs, ours):
        warm_up()
    ratios: list[float] = []
    their_times: list[float] = []
    began = time.perf_counter()
    while len(ratios) < FEWEST_ROUNDS or time.perf_counter() - began < budget_s:
        spent = {theirs: 0.0, ours: 0.0}
        for function in (theirs, ours, ours, theirs):
            start = clock()
            function()
            spent[function] += clock() - start
        ratios.append(spent[ours] / spent[theirs])
        their_times.append(spent[theirs] / 2)
    ratio, seconds_of_theirs = measure.interval(ratios), measure.interval(their_times)
    print(
        f"{name} = {ratio.estimate:.3f} [{ratio.low:.3f}, {ratio.high:.3f}], n = {ratio.n}; "
        f"theirs {seconds_of_theirs.estimate * 1e3:.1f} ms",
        flush=True,
    )
    return ratio.estimate <= 1.0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size", type=int, default=10_000_000, help="elements (10000000)"
    )
    parser.add_argument(
        "--budget", type=float, default=10.0, help="seconds for each part (10)"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument(
        "--cpu", action="store_true", help="CPU time, for a machine that others use"
    )
    args = parser.parse_args()
    if args.cpu:
        global clock
        clock = time.process_time
    loops = "NumPy" if _native.library() is None else "C++"
    print(f"loops in {loops}, {torch.get_num_threads()} threads, {os.cpu_count()} CPUs")
    parts = {
        "speed": speed,
        "topk": topk,
        "quantisation": quantisation,
        "powersgd": powersgd,
    }
    reached = [parts[name](args.size, args.budget) for name in args.only]
    print(f"goal: {'reached' if all(reached) else 'missed'}")
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
