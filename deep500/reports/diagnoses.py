"""What `d5 doctor` prints."""

from ..evidence.diagnosis import Diagnosis
from .tables import (
    NOTHING,
    percent,
    ratio,
    seconds,
    table,
)

FACTS_SHOWN = (
    ("hardware compute", "cpu model"),
    ("benchmark measurement setup", "usable cpus"),
    ("hardware compute", "hypervisor"),
    ("hardware compute", "frequency governor"),
    ("hardware memory", "memory size (GiB)"),
    ("software runtime", "kernel"),
    ("software runtime", "python"),
    ("software runtime", "blas of numpy"),
    ("software compiler", "c++ compiler"),
)


def diagnosis_text(found: Diagnosis) -> str:
    """Environment, noise, what is installed, what to fix."""
    complete, noise = found.environment.completeness, found.noise
    machine = [[name, str(found.environment.fact(group, name))] for group, name in FACTS_SHOWN]
    machine += [
        [
            "clock",
            f"{found.clock.name}: reading it costs {found.clock.overhead_ns} ns, "
            f"it steps by {found.clock.resolution_ns} ns",
        ],
        [
            "environment known",
            f"{complete.known} of {complete.total} facts ({percent(complete.fraction)})",
        ],
    ]
    quiet = [
        ["single calls, p25 to p75", percent(noise.spread)],
        ["between processes, sd", percent(noise.between_processes)],
        [
            "the same code against itself",
            f"{ratio(noise.ratio, noise.low, noise.high, noise.n)}: {noise.verdict}",
        ],
    ]
    installed = [
        [name, version or f"not installed: pip install 'deep500-bench[{_extra(name)}]'"]
        for name, version in found.installed.items()
    ]
    sensors = [
        [
            name,
            "yes" if r.unavailable is None else f"unavailable: {r.unavailable}",
            r.source or NOTHING,
        ]
        for name, r in found.sensors.items()
    ]
    advice = (
        "\n".join(f"- {line}" for line in found.advice)
        or "- nothing: this machine is fit for measuring"
    )
    return "\n".join(
        [
            "## This machine\n",
            table(["fact", "value"], machine),
            f"## Noise (a call of {seconds(noise.median_s)}, n = {noise.n})\n",
            table(["what", "how much"], quiet),
            "## Installed\n",
            table(["framework", "version"], installed),
            "## Sensors\n",
            table(["sensor", "available", "source"], sensors),
            "## What to fix\n",
            advice,
        ]
    )


def _extra(framework: str) -> str:
    return "onnx" if framework == "onnxruntime" else framework
