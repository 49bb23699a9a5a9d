"""list the runs in the ledger, or the frameworks, operators, networks, optimizers, recipes … that there are"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import partial

from .. import registry
from ..errors import Deep500Error, visible
from . import options
from .bench_noun import ENDING
from .output import print_json

MOST_PROBLEMS = 10  # the most problems of the ledger that are printed


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=sorted(LISTS), default="runs")
    options.most(parser, "all; of the runs the last 100")


def call(args: argparse.Namespace) -> int:
    _print_list(args)
    return _ledger_code() if args.what == "runs" else 0


def _ledger_code() -> int:
    """Print the problems of the ledger; returns 1 if there are any."""
    from ..bundle.records.ledger import Ledger

    problems = Ledger().problems()
    for problem in problems[:MOST_PROBLEMS]:
        print(f"d5: the ledger is broken: {visible(problem)}", file=sys.stderr)
    if len(problems) > MOST_PROBLEMS:
        print(f"d5: and {len(problems) - MOST_PROBLEMS} more", file=sys.stderr)
    return 1 if problems else 0


def _print_list(args: argparse.Namespace) -> None:
    from ..reports.blocks import Table
    from ..reports.terminal import table_text
    from ..reports.text import clean

    most = args.most
    if most is None:
        most = 100 if args.what == "runs" else sys.maxsize
    if most < 1:
        raise Deep500Error(f"--most {most} shows nothing: give at least 1")
    headers, rows = LISTS[args.what](most)
    if args.json:
        print_json([dict(zip(headers, row, strict=True)) for row in rows])
    elif not rows:
        print(f"no {args.what} yet: `d5 bench` makes one")
    elif args.what == "frameworks":
        # few rows and many columns: transposed, so that the table fits narrow terminals
        first, *others = zip(headers, *rows, strict=True)
        print(table_text(Table(first, others), sys.stdout.isatty()))
        print("\nyes: the framework has it by itself; d5: it has it through Deep500")
    else:
        cells = [[clean(cell) for cell in row] for row in rows]
        alignment = "lt" if len(headers) == 2 else ""
        table = Table(headers, cells, alignment)
        print(table_text(table, sys.stdout.isatty()))


def _runs(most: int) -> tuple[list[str], list[list]]:
    from ..bundle.records.ledger import Ledger

    rows: list[list] = []
    for run in Ledger().runs()[:most]:
        rows.append([run.run, run.state, run.started, run.kind, run.folder, run.detail])
    return ["run", "state", "started", "kind", "folder", "detail"], rows


def _sensors(most: int) -> tuple[list[str], list[list]]:
    from ..measure.sensing import sensors

    with sensors() as sensing:
        pass
    rows: list[list] = []
    for name, reading in list(sensing.readings().items())[:most]:
        unavailable = reading.unavailable or ""
        rows.append([name, reading.unit, reading.source, unavailable])
    return ["sensor", "unit", "source", "unavailable"], rows


def _frameworks(most: int) -> tuple[list[str], list[list]]:
    from ..contracts.framework import Abilities
    from ..frameworks import available_frameworks, framework, known_frameworks
    from ..frameworks.device_listing import device_words

    installed = available_frameworks()
    devices = device_words(installed)
    columns = [field.name for field in fields(Abilities)]
    rows = []
    for name in known_frameworks()[:most]:
        adapter = framework(name)
        row = [name, _word(name in installed), devices.get(name, "–")]
        for column in columns:
            by_itself = getattr(adapter.abilities, column)
            through_us = adapter.trains and column in THROUGH_DEEP500
            row.append(_offered(by_itself, through_us))
        rows.append(row)
    headers = ["framework", "installed", "devices"]
    headers += [column.replace("_", " ") for column in columns]
    return headers, rows


def _devices(most: int) -> tuple[list[str], list[list]]:
    from ..frameworks import available_frameworks
    from ..frameworks.device_listing import devices_by_framework

    rows: list[list] = []
    for name, devices in devices_by_framework(available_frameworks()).items():
        if isinstance(devices, Deep500Error):
            rows.append([name, "", str(devices), "", ""])
            continue
        for device in devices:
            row = [name, device.word, device.name, device.driver, device.memory or ""]
            rows.append(row)
    rows.append(["pytorch", "sim", "simulated: on any machine, for tests", "", ""])
    headers = ["framework", "device", "name", "driver", "memory (bytes)"]
    return headers, rows[:most]


def _recipes(most: int) -> tuple[list[str], list[list]]:
    from ..rerun.recipe_files import known_recipes

    recipes = list(known_recipes().items())[:most]
    rows: list[list] = [[name, str(path)] for name, path in recipes]
    return ["recipe", "file"], rows


def _definitions(kind: str, most: int) -> tuple[list[str], list[list]]:
    rows: list[list] = []
    for name in registry.known(kind)[:most]:
        definition = registry.find(kind, name)
        rows.append([definition.__name__, _summary(definition)])
    return ["name", "what it is"], rows


def _benchmarks(most: int) -> tuple[list[str], list[list]]:
    headers, rows = _definitions("bench", sys.maxsize)
    nouns = []
    for name, summary in rows:
        noun = name.removesuffix(ENDING)
        if noun and noun != name:
            nouns.append([noun, summary])
    return headers, nouns[:most]


def _events(most: int) -> tuple[list[str], list[list]]:
    from ..training import events

    rows: list[list] = []
    for name in events.__all__:
        event = getattr(events, name)
        is_event = isinstance(event, type) and issubclass(event, events.Event)
        if is_event and event is not events.Event:
            rows.append([name, _summary(event)])
    return ["name", "what it is"], rows[:most]


def _summary(definition: type) -> str:
    return (definition.__doc__ or "").splitlines()[0]


def _offered(by_itself: bool, through_us: bool) -> str:
    """Whether a framework has something by itself, through Deep500, or in both ways."""
    if by_itself and through_us:
        return "yes, d5"
    if through_us:
        return "d5"
    return _word(by_itself)


def _word(ability: bool) -> str:
    return "yes" if ability else "–"


# what every framework that trains gets from Deep500, whatever it has by itself
THROUGH_DEEP500 = (
    "autodiff",
    "datasets",
    "optimizers",
    "parameter_server",
    "decentralised",
    "asynchronous",
    "custom_distribution",
)
KINDS = (
    "operators",
    "convolutions",
    "networks",
    "transformations",
    "optimizers",
    "losses",
    "initializers",
    "datasets",
    "samplers",
    "augmentations",
    "precisions",
    "schedules",
    "tasks",
    "metrics",
    "codecs",
    "schemes",
    "topologies",
    "collectives",
    "reductions",
    "noises",
    "results",
)
LISTS: dict[str, Callable[[int], tuple[list[str], list[list]]]] = {
    "runs": _runs,
    "sensors": _sensors,
    "frameworks": _frameworks,
    "devices": _devices,
    "recipes": _recipes,
    "events": _events,
    "benchmarks": _benchmarks,
    **{kind: partial(_definitions, kind) for kind in KINDS},
}
