"""Results made by hand: seeded samples, and derived numbers as a run would write them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from deep500.measure.bench_plan import check_plan
from deep500.measure.numbers import BenchNumbers
from deep500.measure.plan import PROCEDURE
from deep500.results.benching.data import ReportData
from deep500.schema import decoded, encoded


def known(value: object, source: str) -> dict:
    return {"value": value, "source": source, "unavailable": None}


ENVIRONMENT = {
    "format": 1,
    "classes": {
        "hardware compute": {
            "cpu model": known("AMD EPYC 7763", "/proc/cpuinfo"),
            "logical cpus": known(2, "/sys"),
            "accelerators": known(["none found"], "NVML"),
        },
        "hardware memory": {
            "memory size (GiB)": known(7.8, "/proc/meminfo"),
            "memory modules": {
                "value": None,
                "source": "dmi",
                "unavailable": "needs root",
            },
        },
        "software runtime": {
            "python": known("3.11.8", "sys.version"),
            "threads": known({"OMP": "1"}, "os.environ"),
        },
    },
}
CLOCK = {"name": "perf_counter_ns", "resolution_ns": 41, "overhead_ns": 58}


def samples(
    seed: int, median: float, sigma: float = 0.06, processes: int = 6, n: int = 40
) -> list[np.ndarray]:
    """Log-normal times with a shift per process and a few far outliers."""
    rng = np.random.default_rng(seed)
    series = [
        median * np.exp(shift + sigma * rng.standard_normal(n))
        for shift in rng.normal(0, sigma / 4, processes)
    ]
    for values in series:
        values[rng.integers(0, n, max(1, n // 25))] *= rng.uniform(1.4, 6)
    return series


def derived_entry(name: str, series: Sequence[np.ndarray]) -> dict:
    pooled = np.concatenate(series)
    median, p90 = float(np.median(pooled)), float(np.quantile(pooled, 0.9))
    return {
        "name": name,
        "levels": {},
        "n": len(pooled),
        "processes": len(series),
        "median": median,
        "low": median * 0.988,
        "high": median * 1.013,
        "level": 0.95,
        "unit": "s",
        "method": "ranks of process medians",
        "batch": 1,
        "warmup": {"kind": "flat", "cut": 0},
        "modes": None,
        "untimed": None,
        "after": None,
        "neighbours": None,
        "quantiles": [
            {"q": 0.9, "value": p90, "low": p90 * 0.97, "high": p90 * 1.04},
            {
                "q": 0.99,
                "refused": f"p99 at 95 % needs 299 samples, there are {len(pooled)}",
            },
        ],
        "notes": [],
    }


def derived_comparison(base: dict, other: dict, width: float = 0.006) -> dict:
    ratio = other["median"] / base["median"]
    low, high = ratio * (1 - width), ratio * (1 + width)
    verdict = (
        "slower"
        if low > 1.02
        else "faster"
        if high < 1 / 1.02
        else "same"
        if 1 / 1.02 < low and high < 1.02
        else "inconclusive"
    )
    widths = {0.1: 0.012, 0.25: 0.008, 0.5: 0.007, 0.75: 0.01, 0.9: 0.03}
    quantiles = [
        {"q": q, "ratio": r, "low": r - w, "high": r + w}
        for q, w in widths.items()
        for r in [ratio * (1 + 0.04 * (q - 0.5))]
    ]
    return {
        "base": base["name"],
        "other": other["name"],
        "ratio": ratio,
        "low": low,
        "high": high,
        "level": 0.95,
        "margin": 0.02,
        "verdict": verdict,
        "n": base["n"] // 2,
        "processes": base["processes"],
        "method": "ranks of process medians",
        "shift": ratio,
        "probability": 0.93,
        "notes": [],
        "quantiles": [*quantiles, {"q": 0.99, "refused": "p99 needs 299 samples"}],
    }


def changed(data: ReportData, change: Callable[[dict], None]) -> ReportData:
    """The same with other derived numbers."""
    document = encoded(data.derived)
    change(document)
    return replace(data, derived=decoded(BenchNumbers, document, "derived.json"))


def report_data(medians: dict[str, float], n: int = 40) -> ReportData:
    taken = {
        name: samples(seed, median, n=n)
        for seed, (name, median) in enumerate(medians.items())
    }
    entries = [derived_entry(name, series) for name, series in taken.items()]
    derived = {
        "procedure": PROCEDURE,
        "stopped": "precise",
        "status": "every interval is within ±0.02 at level 0.95",
        "more": None,
        "measured_s": None,
        "entries": entries,
        "control": None,
        "notes": [],
        "comparisons": [derived_comparison(entries[0], other) for other in entries[1:]],
    }
    plan = {
        "entries": [
            {
                "name": name,
                "kind": "statement",
                "text": name,
                "setup": "import numpy as np",
                "levels": {},
            }
            for name in medians
        ],
        "factors": {},
        "level": 0.95,
        "precision": 0.02,
        "margin": 0.02,
        "budget_s": 5.0,
        "processes": None,
        "cache": "warm",
        "control": False,
        "seed": 123,
        "synchronised": False,
        "timeout_s": 15.0,
        "clock": CLOCK,
    }
    return ReportData(
        title="Three ways to add",
        plan=check_plan(plan),
        environment=ENVIRONMENT,
        derived=decoded(BenchNumbers, derived, "derived.json"),
        samples=taken,
        bundle="results/add",
        hash="sha256:" + "ab" * 32,
    )


def one() -> ReportData:
    return report_data({"a": 1.234e-3})


def two() -> ReportData:
    return report_data({"a": 1.234e-3, "b": 1.298e-3})


def twelve() -> ReportData:
    return report_data(
        {
            f"np.einsum('ij,jk->ik', a, b, optimize={i})": 1.08e-3 + 24e-6 * i
            for i in range(12)
        }
    )


def awkward() -> ReportData:
    """Every state that needs words: modes, batches, a run that never settles, a control, one process."""
    data = report_data({"add": 2e-6, "sum": 48e-6, "bimodal": 3e-6})

    def awkward(derived: dict) -> None:
        add, never, bimodal = derived["entries"]
        add["batch"], never["warmup"] = 7, {"kind": "none", "cut": 0}
        bimodal["modes"] = [{"at": 3.0e-6, "share": 0.6}, {"at": 4.5e-6, "share": 0.4}]
        derived["notes"].append("one process, between-process variance unknown")
        derived["control"] = {
            "base": "add",
            "ratio": 1.0012,
            "low": 0.9971,
            "high": 1.0051,
            "verdict": "same",
            "n": 120,
        }

    return changed(data, awkward)


def hostile() -> ReportData:
    """Names and notes that try to become markup, to drive a terminal, or to break a drawing."""
    data = report_data(
        {
            "<script>alert(1)</script>": 1e-3,
            '$x^ & "q" | `b`\n\x1b[31mred\u202e\ud800': 1e-3,
        }
    )
    note = "<img src=x onerror=alert(1)> [click](javascript:alert(1)) \x1b]0;title\x07"
    data = changed(data, lambda derived: derived["notes"].append(note))
    data = replace(data, plan=replace(data.plan, cache="<b>cold</b>"))
    environment = {
        "classes": {
            "<i>class</i>": {"<u>fact</u>": known("<s>value</s>", "<q>source</q>")}
        }
    }
    return ReportData(
        title="</title><script>alert(2)</script>",
        plan=data.plan,
        environment=environment,
        derived=data.derived,
        samples=data.samples,
        bundle="a b'; rm -rf x",
        hash="<h1>",
        problems=["<b>hash</b> differs"],
    )
