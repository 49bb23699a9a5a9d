"""What Deep500 costs before and after measuring: imports, help, and `d5 bench` beyond its budget.

python benchmarks/startup.py
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from deep500 import measure

PYTHON = sys.executable


def times(argv: list[str], repeat: int, env: dict | None = None) -> np.ndarray:
    found = []
    for _ in range(repeat):
        began = time.perf_counter()
        subprocess.run(argv, check=True, capture_output=True, env=env)
        found.append(time.perf_counter() - began)
    return np.array(found)


def show(name: str, found: measure.Interval, goal: str) -> None:
    print(
        f"{name}: {found.estimate * 1e3:.1f} ms [{found.low * 1e3:.1f}, {found.high * 1e3:.1f}], n = {found.n}, "
        f"goal {goal}",
        flush=True,
    )


def main() -> int:
    bare, package = (
        times([PYTHON, "-c", code], 31) for code in ("pass", "import deep500")
    )
    show(
        "import deep500 over bare Python", measure.interval(package - bare), "< 100 ms"
    )
    show(
        "d5 --help",
        measure.interval(times([PYTHON, "-m", "deep500.cli", "--help"], 31)),
        "< 300 ms",
    )
    with tempfile.TemporaryDirectory() as home:
        env = os.environ | {"DEEP500_HOME": home}
        for budget in (1.0, 5.0):
            argv = [
                PYTHON,
                "-m",
                "deep500.cli",
                "bench",
                "pass",
                "--budget",
                str(budget),
                "--precision",
                "1e-6",
            ]
            show(
                f"d5 bench pass --budget {budget:g}, beyond its budget",
                measure.interval(times(argv, 7, env) - budget),
                "< 1500 ms",
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
