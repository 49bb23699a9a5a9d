"""How fast the virtual cluster is: events per second, memory, and that cost is linear in events.

    .venv/bin/python benchmarks/simulator.py                      64 Ki, 256 Ki and 1 Mi ranks, a ring of 1,024
    .venv/bin/python benchmarks/simulator.py --beside LogGOPSim   the same files by LogGOPSim (built with -O3), in turn

Every row is a process of its own, which reads a GOAL file and simulates it: its CPU seconds and its peak memory. An
event is an operation or a message, as LogGOPSim counts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from deep500.cluster.goal import write_goal
from deep500.cluster.patterns import dissemination, ring

CASES = {
    "dissemination 64 Ki": lambda: dissemination(1 << 16),
    "dissemination 256 Ki": lambda: dissemination(1 << 18),
    "dissemination 1 Mi": lambda: dissemination(1 << 20),
    "ring 1,024 x 2,046 rounds": lambda: ring(1024, 8, 2046),
}
OWN = """
import json, sys, time
from pathlib import Path
from deep500.cluster.engine import simulate_schedule
from deep500.cluster.goal import read_goal
from deep500.cluster.network import ClusterNetwork
begin = time.perf_counter()
schedule = read_goal(Path(sys.argv[1]))
read = time.perf_counter()
outcome = simulate_schedule(schedule, ClusterNetwork())
done = time.perf_counter()
print(json.dumps([outcome.events, read - begin, done - read, outcome.makespan]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", type=Path, default=None)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--case", nargs="+", default=list(CASES))
    args = parser.parse_args()
    print(f"load: {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.case:
            file = Path(folder) / "case.bin"
            write_goal(CASES[name](), file, binary=True)
            print(f"{name}: a file of {file.stat().st_size / 1e9:.3f} GB")
            for _ in range(args.repeat):
                own(file)
                if args.beside:
                    beside(args.beside, file)
            file.unlink()


def own(file: Path) -> None:
    output, wall, cpu, peak = timed([sys.executable, "-c", OWN, str(file)])
    events, reading, simulating, makespan = json.loads(output)
    print(
        f"  d5        {events / 1e6:7.2f} M events: {wall:6.2f} s wall, {cpu:6.2f} s CPU, {peak:5.2f} GB; reading "
        f"{reading:5.2f} s, simulating {simulating:6.2f} s = {events / simulating / 1e6:5.2f} M/s; end {makespan} ns"
    )


def beside(program: Path, file: Path) -> None:
    command = [str(program), "-f", str(file), "--batchmode"]
    output, wall, cpu, peak = timed(command)
    last = output.strip().splitlines()[-1]
    print(f"  LogGOPSim {wall:6.2f} s wall, {cpu:6.2f} s CPU, {peak:5.2f} GB; {last}")


def timed(command: list[str]) -> tuple[str, float, float, float]:
    """Its output, and its seconds, CPU seconds and peak memory in GB."""
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()  # type: ignore[union-attr]
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    cpu = usage.ru_utime + usage.ru_stime
    return output, wall, cpu, usage.ru_maxrss * 1024 / 1e9


if __name__ == "__main__":
    main()
