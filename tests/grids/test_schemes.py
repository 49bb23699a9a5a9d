"""Schemes x checks, and codecs x ways to use them, in Python and on the command line: every cell has its outcome.

Generated from the registries and from the planted errors, so that a new scheme, codec or check joins by itself. The
quick set is a seeded sample.
"""

import json
import math
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500 import registry
from deep500.check.codecs.loading import load_codec
from deep500.check.schemes import check_scheme
from deep500.check.schemes.checks import CHECKS
from deep500.cli import main
from deep500.contracts.scheme import Scheme
from deep500.errors import Deep500Error, Incomplete
from deep500.user_files import imported

TESTS = Path(__file__).parents[1]
PLANTED = TESTS / "schemes" / "planted.py"
CODECS = TESTS / "distributed" / "bad_codecs.py"
SAMPLE = 4  # cells of each grid in the quick set

# The checks that find each planted error; honest ones have none. Where the first one fails, no other can be made.
FAULTS: dict[str, set[str]] = {
    "GlobalMomentum": {"resumption"},
    "SharedGradients": {"apart"},
    "SharedSum": {"apart"},
    "SharedRandom": {"apart", "consensus", "determinism", "resumption"},
    "Unweighted": {"serial"},
    "SumForMean": {"mean"},
    "WrongDivisor": {"mean", "error feedback"},
    "WrongSign": {"error feedback"},
    "DroppedResidual": {"error feedback"},
    "UnusedResidual": {"error feedback"},
    "NoProgram": {"training"},
    "Deadlocks": {"training"},
    "Mismatched": {"training"},
    "OtherLength": {"training"},
    "Raises": {"training"},
    "StateMomentum": set(),
    "PeriodicDrift": set(),
    "Elastic": set(),
    "PlainLocal": set(),
}
# Of those that cannot run, what is said about them, in a check and in a simulation.
CANNOT_RUN = {
    "NoProgram": "NoProgram.step (planted.py, line ",
    "Deadlocks": "deadlock of ranks 0 -> 1 -> 2 -> 3 -> 0: rank 0 waits for a message from rank 1 (tag 0)",
    "Mismatched": "collective number 1 is AllReduce(float64, [10], sum) on rank 0 and AllReduce(float64, [11], sum) on",
    "OtherLength": "rank 1 expects float64[4] from rank 0 (tag 5), which sent float64[3]",
    "Raises": "division by zero",
}
# Definitions that need others, or that only a chain makes of them.
NOT_ALONE = {"Chain", "Packed", "Factors"}
CHAINS = ["TopK(0.1) | QSGD(bits=4)", "TopK(0.1) | Lossless", "QSGD | Lossless"]
# a check cannot judge those that return nothing: bad input; the others are wrong
INCOMPLETE = ("DecodesNothing", "EncodesNothing")
REFUSED = ("OtherDtype", "OtherLength", "Raises", *INCOMPLETE)
RECIPE = d5.Recipe(
    "digits",
    {"model": d5.networks.Mlp(hidden=(8,)), "dataset": "digits", "epochs": 1},
    {"batch_size": 64, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)},
    [(d5.TestAccuracy(), None)],
)


def sampled(cells: list[Any], seed: int) -> list[Any]:
    """All cells, of which some are in the quick set."""
    quick = random.Random(seed).sample(range(len(cells)), min(SAMPLE, len(cells)))
    params = []
    for number, cell in enumerate(cells):
        marks = () if number in quick else pytest.mark.slow
        params.append(pytest.param(*cell, marks=marks, id=" ".join(map(str, cell))))
    return params


# a check cannot judge what is no program: bad input
NO_PROGRAM = "NoProgram"


@cache
def wrong_checks(name: str) -> dict[str, bool | None]:
    """The verdicts on a scheme, by check."""
    report = check_scheme(scheme_named(name))
    return {check.name: check.ok for check in report.checks}


def scheme_named(name: str) -> Scheme:
    if name in FAULTS:
        return getattr(imported(PLANTED), name)()
    return registry.find("schemes", name)()


SCHEMES = [*registry.known("schemes"), *FAULTS]


@pytest.mark.parametrize(
    ("name", "check"),
    sampled([(name, check) for name in SCHEMES for check in CHECKS], 1),
)
def test_scheme_by_check(name: str, check: str) -> None:
    if name == NO_PROGRAM:
        with pytest.raises(Incomplete, match="NoProgram.step"):
            check_scheme(scheme_named(name))
        return
    verdicts = wrong_checks(name)
    if name in CANNOT_RUN:
        assert verdicts == {"training": False}
        return
    is_wrong = verdicts[check] is False
    assert is_wrong == (check in FAULTS.get(name, ()))


@pytest.mark.parametrize(("name",), sampled([(name,) for name in SCHEMES], 2))
def test_scheme_on_the_command_line(
    name: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = f"{PLANTED}:{name}" if name in FAULTS else name
    words = ["check", "scheme", text, "--out", str(tmp_path / "r")]
    faults = FAULTS.get(name, set())
    if name == NO_PROGRAM:
        assert main(words) == 2
        said = capfd.readouterr().err.strip().splitlines()
        assert said[-1].startswith(f"d5: {CANNOT_RUN[name]}")
        return
    assert main(words) == (1 if faults else 0)
    answer = capfd.readouterr()
    assert "Traceback" not in answer.out + answer.err
    for fault in faults:
        assert f"- {fault}: " in answer.out


@pytest.mark.parametrize("name", CANNOT_RUN)
def test_a_check_and_a_simulation_say_the_same(name: str) -> None:
    """A user's own exception is that of Python in Python, and is told with file and line by a check."""
    try:
        [check] = check_scheme(scheme_named(name)).checks
        said = check.text
    except Incomplete as error:
        said = str(error)
    with pytest.raises((Deep500Error, ZeroDivisionError)) as raised:
        d5.simulate(scheme_named(name), RECIPE, ranks=4)
    assert CANNOT_RUN[name] in str(raised.value)
    assert CANNOT_RUN[name] in said
    if name == "Raises":
        assert "in Raises.step (planted.py, line " in said
    else:
        assert said == str(raised.value)


def codec_texts() -> list[str]:
    texts = [name for name in registry.known("codecs") if name not in NOT_ALONE]
    own = [f"{CODECS}:Halves", f"TopK(0.5) | {CODECS}:Halves"]
    return [*texts, *CHAINS, *own, *(f"{CODECS}:{name}" for name in REFUSED)]


def is_refused(text: str) -> bool:
    return text.rpartition(":")[2] in REFUSED


def is_incomplete(text: str) -> bool:
    return text.rpartition(":")[2] in INCOMPLETE


@pytest.mark.parametrize(
    ("text", "way"),
    sampled([(t, w) for t in codec_texts() for w in ("Python", "command line")], 3),
)
def test_codec_checked(
    text: str, way: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if way == "Python" and is_incomplete(text):
        with pytest.raises(Incomplete, match=r"\(bad_codecs.py, line "):
            d5.check_codec(load_codec(text), dtypes=["float32"])
        return
    if way == "Python":
        assert d5.check_codec(load_codec(text), dtypes=["float32"]).ok != is_refused(
            text
        )
        return
    words = ["check", "codec", text, "--dtype", "float32", "--out", str(tmp_path / "r")]
    expected = 2 if is_incomplete(text) else int(is_refused(text))
    assert main(words) == expected
    answer = capfd.readouterr()
    assert "Traceback" not in answer.out + answer.err
    if is_refused(text):
        assert "(bad_codecs.py, line " in answer.out + answer.err


@pytest.mark.parametrize(
    ("text", "way"),
    sampled([(t, w) for t in codec_texts() for w in ("Python", "command line")], 4),
)
def test_codec_in_a_run(
    text: str, way: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """On two virtual ranks, in AllReduce."""
    if way == "Python":
        scheme = d5.schemes.AllReduce(codec=load_codec(text))
        if is_refused(text):
            with pytest.raises((Deep500Error, RuntimeError)):
                d5.simulate(scheme, RECIPE, ranks=2)
        else:
            run = d5.simulate(scheme, RECIPE, ranks=2)
            assert run.history is not None
            assert math.isfinite(run.history.losses[-1])
        return
    words = ["run", "digits_mlp", "--tier", "tiny", "--seeds", "1", "--ranks", "2"]
    words += ["--transport", "virtual", "--codec", text, "--out", str(tmp_path / "r")]
    code = main(words)
    answer = capfd.readouterr()
    assert "Traceback" not in answer.out + answer.err
    if is_refused(text):
        assert code == 2
        [line] = [line for line in answer.err.splitlines() if line.startswith("d5: ")]
        assert "(bad_codecs.py, line " in line
    else:
        assert code in (0, 1), answer.err  # one epoch may miss the target


DDP = """
import gc, json, sys, tempfile
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from deep500.frameworks.pytorch import ddp_hook
from deep500.check.codecs.loading import load_codec

torch.set_num_threads(1)
with tempfile.NamedTemporaryFile() as file:
    dist.init_process_group("gloo", f"file://{file.name}", rank=0, world_size=1)
    outcomes = {}
    for text in sys.argv[1:]:
        ddp = DistributedDataParallel(torch.nn.Linear(20, 5))
        ddp.register_comm_hook(None, ddp_hook(load_codec(text)))
        try:
            ddp(torch.ones(8, 20)).square().mean().backward()
            outcomes[text] = ""
        except Exception as error:
            outcomes[text] = str(error)
    del ddp
    gc.collect()  # what holds the process group must not outlive it
    print("RESULT" + json.dumps(outcomes))
    dist.destroy_process_group()
"""


@cache
def ddp_outcomes() -> dict[str, str]:
    """What a codec's hook of DDP says, for all codecs in one process."""
    done = subprocess.run(
        [sys.executable, "-c", DDP, *codec_texts()],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "GLOO_SOCKET_IFNAME": "lo"},
    )
    assert "RESULT" in done.stdout, done.stderr
    return json.loads(done.stdout.partition("RESULT")[2].splitlines()[0])


@pytest.mark.slow
@pytest.mark.parametrize("text", codec_texts())
def test_codec_in_ddp(text: str) -> None:
    pytest.importorskip("torch")
    message = ddp_outcomes()[text]
    if is_refused(text):
        assert "bad_codecs.py" in message or "no luck" in message
    else:
        assert message == ""
