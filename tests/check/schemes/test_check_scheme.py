"""d5 check scheme: honest schemes pass, and every promise fails on a planted error."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from deep500 import registry
from deep500.check.schemes import check_scheme
from deep500.cli import main
from deep500.contracts.scheme import (
    Scheme,
    Worker,
    backprop,
    update,
    weighted_gradients,
)
from deep500.contracts.transport import Program, RankFailure, Send, all_reduce
from deep500.definition_text import definition_of
from deep500.errors import Deep500Error
from deep500.schemes.all_reduce import AllReduce
from deep500.schemes.dpsgd import DPSGD
from deep500.schemes.local_sgd import LocalSGD
from deep500.schemes.parameter_server import ParameterServer
from tests.schemes.gradient_mixing import GradientMixing

QUICK = ("AllReduce", "DPSGD", "ParameterServer")


def _marked(name: str) -> object:
    return pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("name", [_marked(name) for name in registry.known("schemes")])
def test_every_scheme_keeps_its_promises(name: str) -> None:
    report = check_scheme(registry.find("schemes", name)())
    assert report.ok, [(check.name, check.text) for check in report.wrong]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pytorch", "jax", "onnxruntime"])
@pytest.mark.parametrize(
    "scheme", [AllReduce(), ParameterServer(staleness=None), LocalSGD()]
)
def test_schemes_keep_their_promises_on_every_framework(
    scheme: Scheme, engine: str
) -> None:
    report = check_scheme(scheme, ranks=3, framework=engine)
    assert report.ok, [(check.name, check.text) for check in report.wrong]


class Summing(Scheme):
    """An allreduce with a hook for planted errors."""

    synchronous: ClassVar[bool] = True

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = weighted_gradients(worker)
        for buffer in gradients.values():
            yield from self.reduce(worker, buffer)
        worker.set_gradients(gradients)
        yield from update(worker)

    def reduce(self, worker: Worker, buffer: np.ndarray) -> Program:
        yield from all_reduce(buffer)


class DropsRankZero(Summing):
    """The parameter server of 2019: the gradient of rank 0 is thrown away."""

    def reduce(self, worker: Worker, buffer: np.ndarray) -> Program:
        buffer *= worker.rank != 0
        yield from all_reduce(buffer)


class SumsTwice(Summing):
    """Forgets that gradients are weighted already."""

    def reduce(self, worker: Worker, buffer: np.ndarray) -> Program:
        yield from all_reduce(buffer)
        buffer /= worker.size


class StartsAnywhere(Summing):
    """No initial broadcast."""

    def start(self, worker: Worker) -> Program:
        yield from ()


class Noisy(Summing):
    """Adds what nobody can draw again."""

    def reduce(self, worker: Worker, buffer: np.ndarray) -> Program:
        yield from all_reduce(buffer)
        buffer += (
            np.random.default_rng().normal(size=buffer.shape).astype(buffer.dtype)
            * 1e-3
        )


class NeverUpdates(Scheme):
    """Trains nothing."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        yield from all_reduce(np.zeros(1))
        worker.skip_update()


class Forgets(Summing):
    """Keeps a momentum of its own where no checkpoint sees it."""

    memory: ClassVar[dict[int, np.ndarray]] = {}

    def reduce(self, worker: Worker, buffer: np.ndarray) -> Program:
        yield from all_reduce(buffer)
        buffer += self.memory.get(id(worker), np.zeros_like(buffer))
        self.memory[id(worker)] = buffer * np.float32(0.5)
        WORKERS.append(worker)  # no other one gets its id


WORKERS: list[Worker] = []


class HidesLostRanks(Summing):
    """Says something else when a rank is lost."""

    def reduce(self, worker: Worker, buffer: np.ndarray) -> Program:
        try:
            yield from all_reduce(buffer)
        except RankFailure:
            raise RuntimeError("something went wrong") from None


class NeverTalks(Summing):
    """Declares that replicas are equal, and leaves them alone: a run ends with an error, a check says why."""

    def reduce(self, worker: Worker, buffer: np.ndarray) -> Program:
        yield from ()


class SendsToNobody(Summing):
    """Messages that nobody receives."""

    def step(self, worker: Worker) -> Program:
        yield from super().step(worker)
        yield Send((worker.rank + 1) % worker.size, np.zeros(3))


@pytest.mark.parametrize(
    ("scheme", "promise"),
    [
        (GradientMixing(), "consensus"),
        (DropsRankZero(), "every rank"),
        (DropsRankZero(), "serial"),
        (SumsTwice(), "serial"),
        (StartsAnywhere(), "start"),
        (Noisy(), "determinism"),
        (NeverUpdates(), "training"),
        (NeverUpdates(), "every rank"),
        (Forgets(), "resumption"),
        (HidesLostRanks(), "lost rank"),
        (SendsToNobody(), "training"),
        (NeverTalks(), "serial"),
        (NeverTalks(), "consensus"),
    ],
    ids=str,
)
def test_planted_errors_are_found(scheme: Scheme, promise: str) -> None:
    kind: type = type(scheme)
    assert promise in broken_promises(kind)


@cache
def broken_promises(scheme: Callable[[], Scheme]) -> list[str]:
    return [check.name for check in check_scheme(scheme()).wrong]


def test_a_scheme_by_its_text() -> None:
    assert definition_of("LocalSGD(period=8)", "schemes") == LocalSGD(8)
    nested = definition_of("DPSGD(topology=Torus(rows=2))", "schemes")
    assert nested.topology == registry.find("topologies", "Torus")(2)
    assert definition_of("DPSGD", "schemes") == DPSGD()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LocalSGD(perod=8)", "Did you mean 'period'"),
        ("Locl", "Did you mean 'LocalSGD'"),
        (
            "LocalSGD(__import__('os'))",
            "character 10: __import__ is a name, and this setting takes literals",
        ),
        ("DPSGD(__import__('os'))", "no topology is named '__import__'"),
        ("LocalSGD(1, 2, 3)", "it takes: period, synchronous_steps"),
        ("LocalSGD(", "cannot be read"),
        ("x" * 2000, "at most 1000"),
        ("DPSGD(topology=Tours())", "Did you mean 'Torus'"),
    ],
)
def test_texts_that_are_no_scheme(text: str, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        definition_of(text, "schemes")


def test_the_verb_checks_and_keeps_a_bundle(
    capsys: pytest.CaptureFixture, tmp_path
) -> None:
    assert (
        main(
            [
                "check",
                "scheme",
                "AllReduce",
                "--ranks",
                "2",
                "--out",
                str(tmp_path / "r"),
            ]
        )
        == 0
    )
    assert "AllReduce: reference ok" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "r")]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["AllReduce", "--ranks", "1"], "--ranks 1: give 2 to 64"),
        (["ParameterServer(servers=4)"], "give 1 to 3"),
        (["nothing.py:Mine"], "there is no file nothing.py"),
    ],
)
def test_bad_requests_are_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture
) -> None:
    assert main(["check", "scheme", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_talks_consistent_neighbors_is_told_what_is_wrong_with_it(
    capsys: pytest.CaptureFixture,
) -> None:
    file = Path(__file__).parents[2] / "distributed" / "consistent_neighbors.py"
    assert main(["check", "scheme", f"{file}:ConsistentNeighbors"]) == 1
    out = capsys.readouterr().out
    assert "1 of 13 checks is wrong" in out
    assert "replicas drift apart" in out and "D-PSGD mixes parameters" in out
