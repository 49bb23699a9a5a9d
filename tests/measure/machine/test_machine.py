"""The environment: captured here and below planted roots, written and read back, compared, advised upon."""

import json
import os
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep500.errors import Deep500Error
from deep500.measure.machine import (
    Environment,
    Fact,
    advice,
    environment,
    environment_difference,
)
from deep500.measure.machine.facts import CLASSES
from deep500.measure.machine.table import TABLE, WEIGHTS
from deep500.measure.machine.text import LONGEST_TEXT, one_line, tidy

COMPUTE, MEMORY, SETUP = (
    "hardware compute",
    "hardware memory",
    "benchmark measurement setup",
)
COMPILER, CODE = "software compiler", "benchmark source code"


@pytest.fixture(scope="module")
def here() -> Environment:
    return environment()


def changed(env: Environment, *facts: tuple[str, str, Any]) -> Environment:
    """The same environment with some facts planted."""
    classes = {name: dict(of) for name, of in env.classes.items()}
    for group, name, value in facts:
        classes[group][name] = Fact(
            value, "planted", None if value is not None else "planted away"
        )
    return Environment(classes)


def all_facts(env: Environment) -> list[Fact]:
    return [fact for facts in env.classes.values() for fact in facts.values()]


def test_this_machine_is_captured(here: Environment) -> None:
    assert tuple(here.classes) == CLASSES
    assert all(fact.source for fact in all_facts(here))
    assert all(
        (fact.value is None) == bool(fact.unavailable) for fact in all_facts(here)
    )
    assert here.fact(SETUP, "usable cpus").value == len(os.sched_getaffinity(0))
    assert (
        here.fact("software runtime", "python").value
        == f"CPython {sys.version.split()[0]}"
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    assert here.fact(MEMORY, "memory size (GiB)").value == pytest.approx(
        memory, abs=0.02
    )
    assert here.completeness.fraction > 0.7


def test_the_table_names_every_fact_once_with_a_weight() -> None:
    assert set(TABLE) == set(CLASSES)
    for rows in TABLE.values():
        assert len({row.fact for row in rows}) == len(rows)
        assert all(row.weight in WEIGHTS for row in rows)


def test_completeness_counts_what_is_unknown_and_says_why(here: Environment) -> None:
    before, planted = here.completeness, changed(here, (COMPUTE, "cpu model", None))
    after = planted.completeness
    assert after.known == before.known - 1 and after.total == before.total == len(
        all_facts(here)
    )
    assert [
        (u.class_name, u.fact, u.reason)
        for u in after.unknown
        if u not in before.unknown
    ] == [(COMPUTE, "cpu model", "planted away")]


def test_a_machine_without_files_gives_reasons_and_no_error(tmp_path: Path) -> None:
    bare = environment(tmp_path)
    for name in ("cpu model", "caches", "frequency governor", "mitigations"):
        assert bare.fact(COMPUTE, name).value is None
    assert "/proc/meminfo: No such file" in str(bare.fact(MEMORY, "memory size (GiB)"))
    # does not apply, so it is known
    assert bare.fact(COMPUTE, "nvidia driver").value == "none found"
    assert all(fact.value is not None or fact.unavailable for fact in all_facts(bare))
    assert Environment.from_json(bare.to_json()) == bare
    assert 0 < bare.completeness.fraction < environment().completeness.fraction


@settings(max_examples=20)
@given(junk=st.binary(max_size=60), pairs=st.booleans())
def test_odd_content_in_any_file_is_no_error(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, pairs: bool
) -> None:
    check_odd_content(tmp_path_factory.mktemp("odd"), junk, pairs)


@pytest.mark.slow
@settings(max_examples=300)
@given(
    junk=st.binary(max_size=60)
    | st.text("0123456789-,.:/ []\n", max_size=60).map(str.encode),
    pairs=st.booleans(),
)
def test_much_odd_content_is_no_error(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, pairs: bool
) -> None:
    check_odd_content(tmp_path_factory.mktemp("odd"), junk, pairs)


def check_odd_content(root: Path, junk: bytes, pairs: bool) -> None:
    keys = (
        "MemTotal",
        "model name",
        "flags",
        "Cpus_allowed_list",
        "cpu MHz",
        "microcode",
        "stepping",
        "SwapTotal",
    )
    content = b"\n".join(key.encode() + b": " + junk for key in keys) if pairs else junk
    for path in (
        "proc/cpuinfo", "proc/meminfo", "proc/loadavg", "proc/stat", "proc/self/status", "proc/self/stat",
        "proc/self/cgroup", "proc/self/limits", "proc/self/mountinfo", "proc/self/maps", "proc/cmdline", "proc/uptime",
        "proc/pressure/cpu", "proc/1/cgroup", "etc/os-release", "sys/devices/system/cpu/online",
        "sys/devices/system/cpu/cpu0/cache/index0/level", "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "sys/devices/system/cpu/vulnerabilities/x", "sys/firmware/dmi/entries/17-0/raw", "sys/fs/cgroup/cpu.max",
        "sys/class/net/eth0/operstate", "sys/class/net/eth0/speed", "sys/class/net/eth0/mtu",
        "sys/class/drm/card0/device/vendor", "sys/class/power_supply/AC/type", "sys/class/power_supply/AC/online",
        "sys/devices/system/node/node0/cpulist", "proc/driver/nvidia/gpus/0/information", "proc/driver/nvidia/version",
    ):  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "")  # no commands: this is about files
        odd = environment(root)
    assert Environment.from_json(json.loads(json.dumps(odd.to_json()))) == odd


def test_no_secret_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_SERVICE_TOKEN", "hunter2")
    monkeypatch.setenv("CXXFLAGS", "-O3 -DURL=https://me:hunter2@example.org")
    monkeypatch.setattr(
        sys, "orig_argv", ["d5", "--token", "hunter2", "--api-key=hunter2", "x = 1"]
    )
    env = environment()
    written = json.dumps(env.to_json())
    assert "hunter2" not in written and "SOME_SERVICE_TOKEN" not in written
    assert env.fact(COMPILER, "CXXFLAGS").value == "-O3 -DURL=https://***@example.org"
    assert env.fact("benchmark input and software", "command line").value == [
        "d5", "--token", "***", "--api-key=***", "x = 1"
    ]  # fmt: skip


def test_capturing_imports_no_package_that_it_names() -> None:
    code = (
        "import sys; from deep500.measure.machine import environment; environment(); "
        "print([name for name in ('numpy', 'scipy', 'torch', 'jax', 'tensorflow', 'onnx') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_without_commands_there_are_reasons(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    env = environment()
    assert (
        env.fact(COMPILER, "c++ compiler").unavailable
        == "none of g++, clang++, c++ is on PATH"
    )
    assert env.fact(CODE, "git commit").unavailable == "git is not on PATH"


@given(st.text(max_size=5000))
def test_recorded_text_is_one_printable_line_of_bounded_length(text: str) -> None:
    line = one_line(text)
    assert line.isprintable() and len(line) < LONGEST_TEXT + 40
    assert len(tidy([text] * 500)) < 100  # type: ignore[arg-type]


def test_cut_text_still_shows_a_difference_at_its_end() -> None:
    assert one_line("x" * 9000 + "a") != one_line("x" * 9000 + "b")


def test_round_trip(here: Environment) -> None:
    assert Environment.from_json(json.loads(json.dumps(here.to_json()))) == here


HOSTILE = {
    "not a dictionary": lambda data: [],
    "nothing": lambda data: None,
    "no classes": lambda data: {"format": 1},
    "newer format": lambda data: {**data, "format": 2},
    "format of odd type": lambda data: {**data, "format": True},
    "class missing": lambda data: data["classes"].pop(COMPUTE) and data,
    "class unknown": lambda data: data["classes"].update(x={}) or data,
    "class is a list": lambda data: data["classes"].update({COMPUTE: []}) or data,
    "fact is text": lambda data: data["classes"][COMPUTE].update(x="y") or data,
    "name of a fact": lambda data: (
        data["classes"][COMPUTE].update({"\x1b[2J": fact()}) or data
    ),
    "number as name": lambda data: data["classes"][COMPUTE].update({3: fact()}) or data,
    "field missing": lambda data: (
        data["classes"][COMPUTE].update(x={"value": 1}) or data
    ),
    "value is a dictionary": lambda data: (
        data["classes"][COMPUTE].update(x=fact(value={})) or data
    ),
    "value is infinite": lambda data: (
        data["classes"][COMPUTE].update(x=fact(value=float("inf"))) or data
    ),
    "value is huge": lambda data: (
        data["classes"][COMPUTE].update(x=fact(value=10**6000)) or data
    ),
    "list of lists": lambda data: (
        data["classes"][COMPUTE].update(x=fact(value=[["a"]])) or data
    ),
    "escape code": lambda data: (
        data["classes"][COMPUTE].update(x=fact(value="\x1b[31m")) or data
    ),
    "lone surrogate": lambda data: (
        data["classes"][COMPUTE].update(x=fact(value="\ud800")) or data
    ),
    "no value, no reason": lambda data: (
        data["classes"][COMPUTE].update(x=fact(value=None)) or data
    ),
    "empty reason": lambda data: (
        data["classes"][COMPUTE].update(x=fact(value=None, unavailable="")) or data
    ),
    "value and reason": lambda data: (
        data["classes"][COMPUTE].update(x=fact(unavailable="why")) or data
    ),
    "source is a number": lambda data: (
        data["classes"][COMPUTE].update(x=fact(source=1)) or data
    ),
}


def fact(
    value: object = 1, source: object = "s", unavailable: object = None
) -> dict[str, object]:
    return {"value": value, "source": source, "unavailable": unavailable}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_environment_is_refused_in_one_line(
    here: Environment, name: str
) -> None:
    with pytest.raises(Deep500Error) as error:
        Environment.from_json(HOSTILE[name](deepcopy(here.to_json())))
    assert str(error.value).isprintable() and len(str(error.value)) < 300


def test_an_environment_does_not_differ_from_itself(here: Environment) -> None:
    assert environment_difference(here, here) == []


def test_differences_come_ranked(here: Environment) -> None:
    planted = changed(
        here,
        (SETUP, "load (1 min)", 99.0),
        (CODE, "git changed files", 77),
        (SETUP, "host name", "elsewhere"),
        (COMPUTE, "frequency governor", "planted"),
        (SETUP, "cpu quota (CPUs)", 0.25),
        (COMPUTE, "logical cpus", None),
        ("software runtime", "package numpy", "0.0.1"),
        (SETUP, "OMP_NUM_THREADS", "17"),
        (COMPUTE, "cpu model", "another"),
    )
    assert [d.fact for d in environment_difference(changed(here, (COMPUTE, "frequency governor", "x")), planted)] == [
        "cpu model", "package numpy", "OMP_NUM_THREADS", "logical cpus",
        "frequency governor", "cpu quota (CPUs)",
        "load (1 min)", "host name", "git changed files",
    ]  # fmt: skip
    first = environment_difference(here, planted)[0]
    assert (first.class_name, first.weight) == (COMPUTE, "can change results")
    assert (first.left, first.right.value) == (
        here.fact(COMPUTE, "cpu model"),
        "another",
    )


def test_a_difference_mirrors(here: Environment) -> None:
    planted = changed(
        here,
        (COMPUTE, "cpu model", "another"),
        (COMPUTE, "a fact of a later version", 1),
    )
    there, back = (
        environment_difference(here, planted),
        environment_difference(planted, here),
    )
    assert [(d.fact, d.left, d.right) for d in there] == [
        (d.fact, d.right, d.left) for d in back
    ]
    assert (
        there[-1].left.unavailable == "not recorded"
        and there[-1].weight == "can change speed"
    )


QUIET = (
    (COMPUTE, "frequency governor", "performance"),
    (COMPUTE, "boost", False),
    (COMPUTE, "logical cpus", 4),
    (MEMORY, "swap used (GiB)", 0.0),
    (SETUP, "usable cpus", 4),
    (SETUP, "load (1 min)", 0.1),
    (SETUP, "pressure on memory (%)", 0.0),
    (SETUP, "cpu quota (CPUs)", "no limit"),
    (SETUP, "cpu time stolen since boot (%)", 0.1),
    (SETUP, "clock source", "tsc"),
    (SETUP, "power source", "mains"),
    (SETUP, "tracing", "none"),
    (COMPILER, "c++ compiler", "g++ 12"),
    (CODE, "git changed files", 0),
)
TROUBLE = (
    ((COMPUTE, "frequency governor", "powersave"), "cpupower frequency-set"),
    ((COMPUTE, "boost", True), "sudo tee"),
    ((MEMORY, "swap used (GiB)", 1.5), "swapoff"),
    ((SETUP, "load (1 min)", 2.5), "top"),
    ((SETUP, "pressure on memory (%)", 30.0), "top"),
    ((SETUP, "cpu quota (CPUs)", 1.5), "taskset -c 0-0 "),
    ((SETUP, "cpu time stolen since boot (%)", 5.0), "--budget"),
    ((SETUP, "clock source", "hpet"), "echo tsc"),
    ((SETUP, "power source", "battery"), "battery"),
    ((SETUP, "tracing", "a tracer"), "tracer"),
    ((COMPILER, "c++ compiler", None), "install g++"),
    ((CODE, "git changed files", 3), "git commit"),
)


def test_a_quiet_machine_needs_no_advice(here: Environment) -> None:
    assert advice(changed(here, *QUIET)) == []


@pytest.mark.parametrize(
    ("trouble", "command"), TROUBLE, ids=[trouble[0][1] for trouble in TROUBLE]
)
def test_each_trouble_has_one_line_of_advice(
    here: Environment, trouble: tuple[str, str, Any], command: str
) -> None:
    lines = advice(
        changed(here, *QUIET, (SETUP, "clock sources offered", "tsc hpet"), trouble)
    )
    assert len(lines) == 1 and command in lines[0] and lines[0].isprintable()


def test_advice_survives_what_nobody_knows(tmp_path: Path) -> None:
    assert isinstance(advice(environment(tmp_path)), list)
    assert isinstance(advice(Environment({})), list)
