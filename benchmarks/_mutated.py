"""Mutated ONNX models on every framework: each must give a result or one line of ours, in time and in memory.

    python benchmarks/_mutated.py --count 5000 --frameworks reference pytorch

A model is read, run once, and differentiated if it can be, in a child process. Prints how the models ended and, one
line each, those that did not end as they should; the exit code is 1 if there is one.
"""

import argparse
import os
import random
import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from _mutations import mutated

from deep500 import registry
from deep500.check.conformance import suite
from deep500.contracts.network import Network
from deep500.errors import Deep500Error, one_line
from deep500.frameworks import available_frameworks, framework
from deep500.networks import DigitsCnn, Mlp
from deep500.supervision.child import Child, Died, Ended, Silent

LONGEST_S = 20.0
LARGEST = 2 << 30  # bytes that one model may add to the process
BAD = ("exception", "hang", "crash", "memory")
LONGEST_SEED = 20_000  # bytes: damage to a large weight hardly ever shows


@dataclass(frozen=True)
class Model:
    """A mutated model, the seed that it came from, and numbers that decide on its inputs."""

    name: str
    content: bytes
    seed: int


@dataclass(frozen=True)
class Verdict:
    word: str  # "result", "error" or one of BAD
    text: str
    seconds: float
    megabytes: float


def models(count: int, seed: int, sample: int) -> list[Model]:
    """So many mutated models; `sample` is how many cases of ONNX's suite they come from, 0 for all."""
    rng = random.Random(seed)
    seeds = _seeds(seed, sample)
    made = []
    for number in range(count):
        name, content = rng.choice(seeds)
        made.append(Model(f"{number} of {name}", mutated(content, rng), number))
    return made


def _seeds(seed: int, sample: int) -> list[tuple[str, bytes]]:
    known = registry.known("operators")
    cases = suite.sample(sample, seed, known) if sample else suite.load()
    contents = [(case.name, case.model.SerializeToString()) for case in cases]
    small = [
        (name, content) for name, content in contents if len(content) <= LONGEST_SEED
    ]
    return [*small, *_own_seeds() * max(1, len(small) // 20)]


def _own_seeds() -> list[tuple[str, bytes]]:
    """Networks with a loss, which can be differentiated."""
    networks = {
        "mlp": Mlp(hidden=(3,)).build((2,), 2, seed=0),
        "cnn": DigitsCnn(channels=(2, 3), hidden=(7, 6)).build((1, 8, 8), 4, seed=0),
    }
    return [(name, net.to_onnx().SerializeToString()) for name, net in networks.items()]


def verdicts(candidates: Sequence[Model], name: str) -> Iterator[Verdict]:
    """How every model ends on a framework, in order; a child that is lost is replaced."""
    at = 0
    while at < len(candidates):
        for verdict in _until_lost(candidates[at:], name):
            yield verdict
            at += 1


def _until_lost(candidates: Sequence[Model], name: str) -> Iterator[Verdict]:
    def work(send: Callable[[dict], None]) -> None:
        _prepare(name)
        send({"verdict": None})
        for model in candidates:
            verdict = _judge(model, name)
            send(
                {
                    "verdict": [
                        verdict.word,
                        verdict.text,
                        verdict.seconds,
                        verdict.megabytes,
                    ]
                }
            )

    with Child.forked(work) as child:
        child.answer("verdict", 120)
        for model in candidates:
            try:
                yield Verdict(*child.answer("verdict", LONGEST_S))
            except Silent:
                yield Verdict("hang", model.name, LONGEST_S, 0)
                return
            except Ended as end:
                yield Verdict("crash", f"{model.name}: {end}", 0, 0)
                return
            except Died as death:
                yield Verdict("crash", f"{model.name}: {death}", 0, 0)
                return


def _prepare(name: str) -> None:
    """Load the framework and run something, so that its own memory is there; then limit what is added."""
    warnings.simplefilter("ignore")
    network = Mlp(hidden=(3,)).build((2,), 2, seed=0)
    executor = framework(name).executor(network)
    batch = {"x": np.zeros((2, 2), np.float32), "label": np.zeros(2, np.int64)}
    executor.inference(batch)
    executor.inference_and_backprop(batch)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf(
        "SC_PAGESIZE"
    )
    resource.setrlimit(resource.RLIMIT_AS, (size + (6 << 30), resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _judge(model: Model, name: str) -> Verdict:
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again
    before = _memory("VmRSS")
    start = time.monotonic()
    word, text = _outcome(model, name)
    seconds = time.monotonic() - start
    growth = max(0, _memory("VmHWM") - before)
    if growth > LARGEST:
        word, text = "memory", f"{growth / 2**30:.1f} GB, then {word}: {text}"
    return Verdict(word, f"{model.name}: {text}", seconds, growth / 2**20)


def _memory(field: str) -> int:
    """A field of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(field))
    return int(line.split()[1]) * 1024


def _outcome(model: Model, name: str) -> tuple[str, str]:
    step = "reading"
    try:
        network = Network.from_onnx(model.content)
        step = "building"
        executor = framework(name).executor(network)
        step = "inference"
        inputs = _inputs(network, model.seed)
        results = executor.inference(inputs)
        step = "results"
        for value in results.values():
            executor.framework.array(value)
        step = "backprop"
        _differentiate(network, inputs, name)
    except Deep500Error as error:
        if "\n" in str(error):
            return "exception", f"{step}: several lines: {str(error)!r}"
        return "error", f"{step}: {error}"
    except MemoryError as error:
        return "exception", f"{step}: MemoryError {error}"
    except Exception as error:
        return "exception", f"{step}: {one_line(error, 300, kind=True)}"
    return "result", step


def _inputs(network: Network, seed: int) -> dict[str, np.ndarray]:
    """Random ones, among them the numbers that integers go wrong at."""
    rng = np.random.default_rng(seed)
    values = {}
    for name, tensor in network.inputs.items():
        shape = tuple(n if isinstance(n, int) and n else 2 for n in tensor.shape)
        if np.prod([float(n) for n in shape]) > 10**6:
            raise Deep500Error(f"the input {name!r} is as large as {shape}: not tried")
        values[name] = _input(rng, shape, tensor.dtype)
    return values


def _input(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if "int" not in dtype:
        return rng.standard_normal(shape).astype(dtype)
    if rng.random() < 0.3 and dtype in ("int8", "int16", "int32", "int64"):
        limits = np.iinfo(dtype)
        return rng.choice([limits.min, limits.max, -1, 0, 1], shape).astype(dtype)
    return rng.integers(0, 3, shape).astype(dtype)


def _differentiate(network: Network, inputs: dict[str, np.ndarray], name: str) -> None:
    """The gradients of a loss of its own, or of the sum of its first output."""
    y = "loss"
    twin = network.copy()
    if "loss" not in twin.outputs:
        y = twin.add_node("ReduceSum", [twin.outputs[0]], keepdims=0)
    if not twin.trainable:
        twin.trainable = [n for n, p in twin.params.items() if "float" in str(p.dtype)]
    executor: Any = framework(name).executor(twin)
    executor.inference_and_backprop(inputs, y)
    for value in executor.gradients.values():
        executor.framework.array(value)


def main() -> None:
    options = _arguments()
    candidates = models(options.count, options.seed, options.sample)
    if options.save:
        onnx_file = Path(f"mutated_{options.save}.onnx")
        onnx_file.write_bytes(candidates[options.save].content)
        sys.exit(f"wrote {onnx_file}")
    bad = 0
    for name in options.frameworks:
        start = time.monotonic()
        found = list(verdicts(candidates, name))
        counts = Counter(verdict.word for verdict in found)
        words = ", ".join(
            f"{counts[word]} {word}" for word in ("result", "error", *BAD)
        )
        slowest = max(verdict.seconds for verdict in found)
        largest = max(verdict.megabytes for verdict in found)
        took = time.monotonic() - start
        print(
            f"{name}: {words}; slowest {slowest:.1f} s, largest {largest:.0f} MB, {took:.0f} s"
        )
        for verdict in found:
            if verdict.word in BAD:
                print(f"  {verdict.word}: {verdict.text}")
        sys.stdout.flush()
        bad += sum(counts[word] for word in BAD)
    sys.exit(1 if bad else 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=300, help="mutated models")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--sample", type=int, default=0, help="seeds from ONNX's suite (0: all)"
    )
    parser.add_argument("--frameworks", nargs="+", default=available_frameworks())
    parser.add_argument(
        "--save", type=int, default=0, help="write the model of this number only"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
