"""The artifact appendix: the check-lists of ACM and NeurIPS, as far as a bundle answers them."""

from collections.abc import Callable, Mapping
from typing import Any

from ..contracts.result import Record
from ..measure.machine import Environment
from ..reports.text import clean
from ..training.recipe_plan import RecipePlan

AnyRecord = Record[Any, Any, Any]
UNKNOWN = "not recorded"
Answer = Callable[[AnyRecord], str]


def appendix(record: AnyRecord) -> str:
    """Markdown: every item with its answer, or that the bundle does not record it."""
    lines = ["# Artifact appendix", ""]
    for title, items in (("ACM check-list", ACM), ("NeurIPS check-list", NEURIPS)):
        lines += [f"## {title}", ""]
        for item, answer in items.items():
            lines.append(f"- **{item}**: {answer(record) if answer else UNKNOWN}")
        lines.append("")
    return "\n".join(lines)


def facts(*names: tuple[str, str]) -> Answer:
    """An answer made of facts of the environment."""

    def answer(record: AnyRecord) -> str:
        environment = Environment.from_json(record.environment)
        found = []
        for group, name in names:
            value = environment.fact(group, name).value
            if value is not None:
                found.append(f"{name}: {clean(value)}")
        return "; ".join(found) or UNKNOWN

    return answer


def _program(record: AnyRecord) -> str:
    kind = record.kind.name
    return f"deep500, a result of kind {kind}; `d5 verify` recomputes every number from its samples"


def _model(record: AnyRecord) -> str:
    if isinstance(record.plan, RecipePlan):
        return _entry(record.plan, "model")
    return UNKNOWN


def _data(record: AnyRecord) -> str:
    if not isinstance(record.plan, RecipePlan):
        return UNKNOWN
    sums = [f"{split} {digest[:12]}…" for split, digest in record.plan.data.items()]
    name = _entry(record.plan, "dataset")
    return f"{name} (SHA-256: {', '.join(sums)})" if sums else name


def _entry(plan: RecipePlan, name: str) -> str:
    entries = {**plan.recipe.fixed, **plan.recipe.mutable}
    value = entries.get(name)
    if isinstance(value, Mapping):
        value = value.get("name")
    return UNKNOWN if value is None else clean(value)


def _settings(record: AnyRecord) -> str:
    if not isinstance(record.plan, RecipePlan):
        return "in plan.json"
    settings = record.plan.recipe.mutable
    return (
        "; ".join(f"{key}: {_entry(record.plan, key)}" for key in settings) or UNKNOWN
    )


def _metrics(record: AnyRecord) -> str:
    numbers = record.kind.dossier(record).number
    names = dict.fromkeys(
        f"{number.name} ({number.unit or 'no unit'})" for number in numbers
    )
    return ", ".join(names) or UNKNOWN


def _experiments(record: AnyRecord) -> str:
    if isinstance(record.plan, RecipePlan):
        seeds = record.plan.seeds
        return f"{len(seeds)} seeds ({', '.join(map(str, seeds))}), {record.plan.epochs} epochs each"
    seed = getattr(record.plan, "seed", None)
    return (
        "in plan.json" if seed is None else f"order of samples drawn with seed {seed}"
    )


def _output(record: AnyRecord) -> str:
    return f"a bundle with the hash {record.hash}" if record.hash else UNKNOWN


def _time(record: AnyRecord) -> str:
    derived = record.derived
    measured = getattr(derived, "measured_s", None)
    if measured is None and isinstance(record.plan, RecipePlan) and derived is not None:
        measured = sum(derived.seconds) + sum(derived.build_seconds)
    return UNKNOWN if measured is None else f"{measured:.3g} s of measuring"


def _significance(record: AnyRecord) -> str:
    numbers = record.kind.dossier(record).number
    with_interval = [number for number in numbers if number.low is not None]
    if not numbers:
        return UNKNOWN
    levels = sorted({number.level for number in with_interval if number.level})
    shown = ", ".join(f"{100 * level:g} %" for level in levels) or "no level"
    return f"{len(with_interval)} of {len(numbers)} numbers have a confidence interval ({shown}); n is beside each"


CPU = ("hardware compute", "cpu model")
MEMORY = ("hardware memory", "memory size (GiB)")
HARDWARE = facts(
    CPU,
    ("hardware compute", "logical cpus"),
    MEMORY,
    ("hardware compute", "accelerators"),
)
SOFTWARE = facts(
    ("software runtime", "kernel"),
    ("software runtime", "distribution"),
    ("software runtime", "python"),
    ("benchmark input and software", "package numpy"),
    ("benchmark input and software", "package torch"),
)

ACM: dict[str, Answer | None] = {
    "Algorithm": None,
    "Program": _program,
    "Compilation": facts(("software compiler", "c++ compiler")),
    "Transformations": None,
    "Binary": None,
    "Model": _model,
    "Data set": _data,
    "Run-time environment": SOFTWARE,
    "Hardware": HARDWARE,
    "Run-time state": facts(("benchmark measurement setup", "load (1 min)")),
    "Execution": _settings,
    "Metrics": _metrics,
    "Output": _output,
    "Experiments": _experiments,
    "How much disk space is required": None,
    "How much time is needed to prepare the workflow": None,
    "How much time is needed to complete the experiments": _time,
    "Publicly available": None,
    "Code licences": None,
    "Data licences": None,
    "Archived (DOI)": None,
}
NEURIPS: dict[str, Answer | None] = {
    "1. Claims": None,
    "2. Limitations": None,
    "3. Theory, assumptions and proofs": None,
    "4. Experimental result reproducibility": _output,
    "5. Open access to data and code": None,
    "6. Experimental setting and details": _settings,
    "7. Experiment statistical significance": _significance,
    "8. Experiments compute resources": HARDWARE,
    "9. Code of ethics": None,
    "10. Broader impacts": None,
    "11. Safeguards": None,
    "12. Licences for existing assets": None,
    "13. New assets": None,
    "14. Crowdsourcing and research with human subjects": None,
    "15. Institutional review board approvals": None,
    "16. Declaration of LLM usage": None,
}
