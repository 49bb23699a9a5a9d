"""The peaks of a device, measured there through its framework: dense products by dtype, and an addition in memory."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ... import registry
from ...contracts.framework import Framework
from ...errors import Deep500Error
from ...frameworks import framework
from ...home import home
from ...measure.bounds.peak_cache import (
    Peaks,
    file_name,
    peaks_from_json,
    read_peaks,
    this_machine,
    write_peaks,
)
from ...measure.bounds.peak_kernels import ENOUGH, MIB, Peak, peak_of
from ...measure.clock import now
from ...measure.device_clock import DeviceClock
from ...supervision.isolation import isolated

SECONDS = 0.4  # for one peak
TIMEOUT_S = 120.0
SIZES = (256, 512, 1024, 2048, 4096, 8192)
DTYPES = ("float64", "float32", "float16", "bfloat16")
REDUCED = "tf32"  # products of float32 that the device rounds to fewer bits
SHARE_OF_MEMORY = 16
Run = Callable[[], object]


def device_peaks(word: str) -> Peaks:
    """The peaks of the device in a word such as "pytorch@cuda:0", kept from before or measured in another process."""
    path, machine = _place(word)
    kept = read_peaks(path, machine)
    if kept is not None:
        return kept
    answer = isolated(
        f"{__name__}:measured", {"word": word, "machine": machine}, TIMEOUT_S
    )
    found = peaks_from_json(answer)
    with suppress(OSError):  # they are known even where they cannot be written
        write_peaks(path, found)
    return found


def refute_device_peaks(word: str) -> None:
    """Forget the kept peaks, so that the next use measures them again."""
    path, _ = _place(word)
    path.unlink(missing_ok=True)


@cache
def _place(word: str) -> tuple[Path, dict[str, str]]:
    """The file of the device's peaks, and what they hold for."""
    info = framework(word).device_info
    device = {"device": word, "product": info.name, "driver": info.driver}
    machine = this_machine(SECONDS) | device
    return home() / "peaks" / file_name(machine), machine


def measured(
    word: str, machine: dict[str, str], progress: Callable[[str], None]
) -> dict[str, Any]:
    """The peaks as JSON; called in a process of its own."""
    fw = framework(word)
    flops = {}
    left_out = []
    for dtype in DTYPES:
        progress(f"the peak of {dtype} on {word}")
        try:
            flops[dtype] = product_peak(fw, dtype)
        except Deep500Error:
            left_out.append(dtype)
    reduced = fw.reduced_products()
    if reduced is not None:
        with reduced:
            flops[REDUCED] = product_peak(fw, "float32", REDUCED)
    progress(f"the peak of the memory of {word}")
    note = f"no products of {', '.join(left_out)}" if left_out else ""
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return asdict(Peaks(flops, memory_peak(fw), machine, when, note))


def product_peak(
    fw: Framework, dtype: str, name: str = "", seconds: float = SECONDS
) -> Peak:
    """flop/s of dense products of square matrices, at their best size."""
    end = perf_counter() + seconds
    rates: dict[int, list[float]] = {}
    runs: dict[int, Run] = {}
    for size in SIZES:
        run = _operation(fw, "MatMul", (size, size), dtype)
        _seconds(fw, run)  # compiles, and wakes what sleeps
        rates[size] = [2 * size**3 / _seconds(fw, run)]
        runs[size] = run
        next_s = 8 * 2 * size**3 / max(rates[size])
        if 4 * next_s > (end - perf_counter()) / 2:
            break
    best = max(rates, key=lambda size: max(rates[size]))
    while perf_counter() < end or len(rates[best]) < ENOUGH:
        rates[best].append(2 * best**3 / _seconds(fw, runs[best]))
    what = f"dense matmul of {best} x {best} {name or dtype} on {fw.word}"
    return peak_of(rates[best], "flop/s", what)


def memory_peak(fw: Framework, seconds: float = SECONDS) -> Peak:
    """B/s of an addition of two arrays that no cache holds."""
    memory = fw.device_info.memory or 1 << 30
    size = min(256 * MIB, memory // SHARE_OF_MEMORY)
    run = _operation(fw, "Add", (size // 4,), "float32")
    _seconds(fw, run)
    end = perf_counter() + seconds
    rates: list[float] = []
    while perf_counter() < end or len(rates) < ENOUGH:
        rates.append(3 * size / _seconds(fw, run))
    return peak_of(rates, "B/s", f"add over arrays of {size // MIB} MiB on {fw.word}")


def _operation(fw: Framework, name: str, shape: tuple[int, ...], dtype: str) -> Run:
    random = np.random.default_rng(0)
    inputs = []
    for _ in range(2):
        values = random.random(shape, np.float32) - np.float32(0.5)
        inputs.append(fw.array(fw.tensor(values, dtype)))
    operator: Any = registry.find("operators", name)
    call = fw.forward_call(operator(), inputs, "native")
    return partial(call.function, *call.arguments)


def _seconds(fw: Framework, run: Run) -> float:
    """The time of a run by the device's clock, or by the host's where it has none."""
    clock = DeviceClock(fw.event, fw.sync)
    clock.begin()
    began = now()
    run()
    clock.end()
    host_ns = now() - began
    return (clock.elapsed_ns or host_ns) / 1e9
