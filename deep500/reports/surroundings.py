"""Where a result was made: the environment, the sensors and the raw data, whatever facts they hold."""

import shlex
from collections.abc import Mapping
from typing import Any

from .blocks import Block, Bullets, Details, Footer, PageOnly, Section, Sentence, Table
from .tables import NOTHING, percent
from .text import Code, Text, clean, plain, shortened

Document = Mapping[str, Any]

HIGHLIGHTS = (
    "cpu model",
    "logical cpus",
    "physical cores",
    "frequency governor",
    "hypervisor",
    "accelerators",
    "memory size (GiB)",
    "numa nodes",
    "interfaces",
    "c++ compiler",
    "python",
    "blas of numpy",
    "package numpy",
    "kernel",
    "distribution",
    "OMP_NUM_THREADS",
    "cpu quota (CPUs)",
    "cpu affinity",
    "load (1 min)",
    "moment",
    "file system of the working folder",
    "command line",
    "git commit",
    "git changed files",
)
AS_RECORDED = (
    "What was planned, the environment and the sensors are as they were recorded."
)
Facts = list[tuple[str, str, str, str]]  # fact, value, source, why it is unknown


def environment_section(document: Document, sensors: Document | None = None) -> Section:
    """How much of the environment is known, what matters most, and all facts on demand."""
    blocks: list[Block] = [
        Sentence(completeness(document)),
        PageOnly(
            [
                highlights(document),
                Details(
                    "All facts",
                    [_facts_table(*group) for group in environment(document)],
                    long=True,
                ),
            ]
        ),
    ]
    if sensors:
        lines = [_reading(*fact) for fact in facts_of(sensors)]
        blocks.append(Details("Sensors", [Bullets(lines)]))
    return Section("Environment", blocks, quiet=True)


def raw_data(bundle: str | None, digest: str | None) -> Footer:
    """Where the raw samples lie, their hash, and how to check the report."""
    lines: list[Text] = []
    if bundle:
        command = Code(f"d5 verify {shlex.quote(clean(bundle))}")
        lines.append(["The raw samples lie in ", Code(clean(bundle)), "."])
        lines.append(["Every number above can be computed again: ", command, "."])
        lines.append(AS_RECORDED)
    else:
        lines.append("The raw samples were not saved: nobody can check these numbers.")
    if digest:
        lines.append(["The hash of the bundle is ", Code(clean(digest)), "."])
    return Footer([Section("Raw data", [Bullets(lines)], quiet=True)])


def _facts_table(name: str, facts: Facts) -> Section:
    rows = []
    for fact, value, source, unknown in facts:
        rows.append([fact, f"unknown: {unknown}" if unknown else value, source])
    return Section(name, [Table(["fact", "value", "source"], rows)])


def _reading(name: str, value: str, source: str, unknown: str) -> str:
    said = f"{name}: unknown, {unknown}" if unknown else f"{name}: {value}"
    return f"{said} ({source})" if source else said


def completeness(document: Document) -> str:
    """How much of the environment is known."""
    facts = [fact for _, found in environment(document) for fact in found]
    known = sum(not unknown for *_, unknown in facts)
    if not facts:
        return "The environment was not recorded."
    return (
        f"{known} of {len(facts)} facts are known ({percent(known / len(facts), 2)})."
    )


def highlights(document: Document) -> Table:
    """Per class of facts: what matters most to timings, how much is known, and what is not."""
    rows: list[list[Text]] = []
    for name, facts in environment(document):
        known = [(fact, value) for fact, value, _, unknown in facts if not unknown]
        shown = [(fact, value) for fact, value in known if fact in HIGHLIGHTS] or known[
            :3
        ]
        rows.append(
            [
                name,
                f"{len(known)} of {len(facts)}",
                "; ".join(f"{k}: {shortened(v, 70)}" for k, v in shown),
                ", ".join(fact for fact, *_, unknown in facts if unknown) or NOTHING,
            ]
        )
    return Table(["class", "known", "among them", "unknown"], rows)


def environment(document: Document) -> list[tuple[str, Facts]]:
    """The facts by class."""
    classes = document.get("classes")
    if not isinstance(classes, Mapping):
        return []
    return [(clean(name), facts_of(facts)) for name, facts in classes.items()]


def facts_of(documents: object) -> Facts:
    """What a document says fact by fact: a value with its unit and source, or why there is none."""
    if not isinstance(documents, Mapping):
        return [("", plain(documents), "", "")]
    return [_fact(clean(name), fact) for name, fact in documents.items()]


def _fact(name: str, fact: object) -> tuple[str, str, str, str]:
    if not isinstance(fact, Mapping):
        return name, plain(fact), "", "" if fact is not None else "no value"
    source, value = plain(fact.get("source") or ""), fact.get("value")
    if value is None:
        return (
            name,
            NOTHING,
            source,
            plain(fact.get("unavailable") or "no reason given"),
        )
    text = ", ".join(map(plain, value)) if isinstance(value, list) else plain(value)
    return (
        name,
        f"{text} {plain(fact['unit'])}" if fact.get("unit") else text,
        source,
        "",
    )
