"""Blocks about where a result was made: the environment, the sensors and the raw data."""

import shlex
from collections.abc import Mapping
from typing import Any

from .blocks import (
    Block,
    Bullets,
    Details,
    Footer,
    PageOnly,
    Section,
    Sentence,
    Table,
)
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
Fact = tuple[str, str, str, str]  # name, value, source, why it is unknown
Facts = list[Fact]


def environment_section(document: Document, sensors: Document | None = None) -> Section:
    """How much of the environment is known, the most important facts, and all facts on demand."""
    tables = [_facts_table(name, facts) for name, facts in environment(document)]
    all_facts = Details("All facts", tables, long=True)
    blocks: list[Block] = [
        Sentence(completeness(document)),
        PageOnly([highlights(document), all_facts]),
    ]
    if sensors:
        lines = [_reading(*fact) for fact in facts_of(sensors)]
        blocks.append(Details("Sensors", [Bullets(lines)]))
    return Section("Environment", blocks, quiet=True)


def raw_data(bundle: str | None, digest: str | None) -> Footer:
    """Where the raw samples are, their hash, and how to check the report."""
    lines: list[Text] = []
    if bundle:
        path = clean(bundle)
        command = Code(f"d5 verify {shlex.quote(path)}")
        lines.append(["The raw samples lie in ", Code(path), "."])
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
        if unknown:
            value = f"unknown: {unknown}"
        rows.append([fact, value, source])
    return Section(name, [Table(["fact", "value", "source"], rows)])


def _reading(name: str, value: str, source: str, unknown: str) -> str:
    """A fact of a sensor as one line."""
    line = f"{name}: {value}"
    if unknown:
        line = f"{name}: unknown, {unknown}"
    if source:
        line += f" ({source})"
    return line


def completeness(document: Document) -> str:
    """How much of the environment is known."""
    facts: Facts = []
    for _, facts_of_class in environment(document):
        facts += facts_of_class
    if not facts:
        return "The environment was not recorded."
    known_count = sum(not unknown for *_, unknown in facts)
    share = percent(known_count / len(facts), 2)
    return f"{known_count} of {len(facts)} facts are known ({share})."


def highlights(document: Document) -> Table:
    """Per class of facts: what matters most to timings, how much is known, and what is not."""
    rows: list[list[Text]] = []
    for name, facts in environment(document):
        known_count = sum(not unknown for *_, unknown in facts)
        missing = [fact for fact, *_, unknown in facts if unknown]
        rows.append(
            [
                name,
                f"{known_count} of {len(facts)}",
                "; ".join(_most_important(facts)),
                ", ".join(missing) or NOTHING,
            ]
        )
    return Table(["class", "known", "among them", "unknown"], rows)


def _most_important(facts: Facts) -> list[str]:
    """The highlights among the known facts, each with its value; the first three known facts without any."""
    known_lines = []
    highlighted = []
    for fact, value, _, unknown in facts:
        if unknown:
            continue
        line = f"{fact}: {shortened(value, 70)}"
        known_lines.append(line)
        if fact in HIGHLIGHTS:
            highlighted.append(line)
    return highlighted or known_lines[:3]


def environment(document: Document) -> list[tuple[str, Facts]]:
    """The facts by class."""
    classes = document.get("classes")
    if not isinstance(classes, Mapping):
        return []
    return [(clean(name), facts_of(facts)) for name, facts in classes.items()]


def facts_of(documents: object) -> Facts:
    """The facts of a document: each with its value, unit and source, or with why it is unknown."""
    if not isinstance(documents, Mapping):
        return [("", plain(documents), "", "")]
    return [_fact(clean(name), fact) for name, fact in documents.items()]


def _fact(name: str, fact: object) -> Fact:
    if fact is None:
        return name, plain(fact), "", "no value"
    if not isinstance(fact, Mapping):
        return name, plain(fact), "", ""
    source = plain(fact.get("source") or "")
    value = fact.get("value")
    if value is None:
        reason = plain(fact.get("unavailable") or "no reason given")
        return name, NOTHING, source, reason
    if isinstance(value, list):
        text = ", ".join(map(plain, value))
    else:
        text = plain(value)
    if fact.get("unit"):
        text += f" {plain(fact['unit'])}"
    return name, text, source, ""
