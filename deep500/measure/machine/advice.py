"""What to change on a machine before measuring on it."""

from __future__ import annotations

from collections.abc import Callable

from .facts import Environment
from .host.compute import CPU

COMPUTE = "hardware compute"
MEMORY = "hardware memory"
SETUP = "benchmark measurement setup"
CODE = "benchmark source code"
STEADY_CLOCKS = (
    "tsc",
    "kvm-clock",
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
)


def advice(env: Environment) -> list[str]:
    """What to fix, one line each with the command to run; empty if there is nothing to fix."""
    lines = [rule(env) for rule in _RULES]
    return [line for line in lines if line is not None]


def _number(env: Environment, group: str, name: str) -> float | None:
    value = env.fact(group, name).value
    if isinstance(value, int | float):
        return float(value)
    return None


def _governor(env: Environment) -> str | None:
    value = env.fact(COMPUTE, "frequency governor").value
    if value in (None, "performance"):
        return None
    return f"The frequency governor is {value}: sudo cpupower frequency-set --governor performance"


def _boost(env: Environment) -> str | None:
    if env.fact(COMPUTE, "boost").value is not True:
        return None
    driver = env.fact(COMPUTE, "frequency driver").value
    command = f"echo 0 | sudo tee {CPU}/cpufreq/boost"
    if "intel" in str(driver):
        command = f"echo 1 | sudo tee {CPU}/intel_pstate/no_turbo"
    return f"Boost is on, so speed depends on temperature and load: {command}"


def _load(env: Environment) -> str | None:
    load = _number(env, SETUP, "load (1 min)")
    cpus = _number(env, COMPUTE, "logical cpus") or 1
    if load is None or load <= max(0.5, 0.1 * cpus):
        return None
    return f"The load is {load:g}, so something else is running: top -o %CPU"


def _pressure(env: Environment) -> str | None:
    waiting = _number(env, SETUP, "pressure on memory (%)")
    if waiting is None or waiting < 1:
        return None
    return f"Tasks waited for memory in {waiting:g} % of the last 10 s: top -o %MEM"


def _swap(env: Environment) -> str | None:
    used = _number(env, MEMORY, "swap used (GiB)")
    if not used or used <= 0:
        return None
    return f"{used:g} GiB of swap are in use: sudo swapoff -a && sudo swapon -a"


def _quota(env: Environment) -> str | None:
    quota = _number(env, SETUP, "cpu quota (CPUs)")
    cpus = _number(env, SETUP, "usable cpus")
    if quota is None or cpus is None or quota >= cpus:
        return None
    last = max(int(quota), 1) - 1
    command = f"taskset -c 0-{last} d5 ..."
    return (
        f"A control group allows {quota:g} of {cpus:g} CPUs, so use as many: {command}"
    )


def _stolen(env: Environment) -> str | None:
    stolen = _number(env, SETUP, "cpu time stolen since boot (%)")
    if stolen is None or stolen < 1:
        return None
    return f"The hypervisor gave {stolen:g} % of CPU time to others, so take longer: d5 bench --budget 30 ..."


def _clock(env: Environment) -> str | None:
    clock = env.fact(SETUP, "clock source").value
    sources = env.fact(SETUP, "clock sources offered").value
    offered = str(sources).split()
    better = [steady for steady in STEADY_CLOCKS if steady in offered]
    if clock is None or clock in STEADY_CLOCKS or not better:
        return None
    file = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    command = f"echo {better[0]} | sudo tee {file}"
    return f"The clock source {clock} is slow to read: {command}"


def _battery(env: Environment) -> str | None:
    if env.fact(SETUP, "power source").value != "battery":
        return None
    return "The machine runs on battery, so plug it in, then look: cat /sys/class/power_supply/*/online"


def _compiler(env: Environment) -> str | None:
    fact = env.fact("software compiler", "c++ compiler")
    if fact.value is not None:
        return None
    return (
        f"There is no working C++ compiler ({fact.unavailable}): sudo apt install g++"
    )


def _tracing(env: Environment) -> str | None:
    value = env.fact(SETUP, "tracing").value
    if value in (None, "none"):
        return None
    return f"Python runs under {value}, which slows every line, so measure without it: d5 bench ..."


def _source(env: Environment) -> str | None:
    changed = _number(env, CODE, "git changed files")
    if not changed:
        return None
    return f"{changed:g} files differ from the commit that results will name: git status, then git commit"


_RULES: tuple[Callable[[Environment], str | None], ...] = (
    _governor,
    _boost,
    _load,
    _pressure,
    _swap,
    _quota,
    _stolen,
    _clock,
    _battery,
    _compiler,
    _tracing,
    _source,
)
