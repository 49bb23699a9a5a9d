"""`d5 bench NOUN` for a benchmark that has no verb of its own: its options are its fields."""

import argparse
from dataclasses import MISSING, Field, dataclass, fields
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from .. import registry
from . import benchmarking

if TYPE_CHECKING:
    from ..bench.benchmark import Benchmark

ENDING = "Benchmark"  # SortBenchmark is `d5 bench sort`


@dataclass(frozen=True)
class BenchNoun:
    """The verb of a benchmark."""

    benchmark: "type[Benchmark]"

    @property
    def summary(self) -> str:
        return (self.benchmark.__doc__ or "").splitlines()[0]

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        annotations = get_type_hints(self.benchmark)
        for factor in fields(self.benchmark):
            _add_option(parser, factor, annotations[factor.name])
        if self.benchmark.timed:
            benchmarking.arguments(
                parser,
                self.benchmark.budget_s,
                self.benchmark.least_timeout_s,
            )
        else:
            benchmarking.untimed_arguments(parser, self.benchmark.least_timeout_s)

    def call(self, args: argparse.Namespace) -> int:
        names = [factor.name for factor in fields(self.benchmark)]
        settings = {name: getattr(args, name) for name in names}
        return benchmarking.run(args, self.benchmark(**settings))


def noun_verbs(noun: str) -> dict[str, BenchNoun]:
    """The verb `bench NOUN`, if there is such a benchmark."""
    if not registry.has("bench", noun + ENDING):
        return {}
    benchmark: Any = registry.named("bench", noun + ENDING)
    return {f"bench {noun}": BenchNoun(benchmark)}


def _add_option(
    parser: argparse.ArgumentParser, factor: Field, annotation: Any
) -> None:
    """The option of a field: several values for a tuple, none for a bool."""
    option = "--" + factor.name.replace("_", "-")
    # argparse fills in what follows a percent sign
    meaning = factor.metadata.get("meaning", "").replace("%", "%%")
    if annotation is bool:
        parser.add_argument(option, action="store_true", help=meaning)
        return
    several = get_origin(annotation) is tuple
    required = factor.default is MISSING
    default: Any = None if required else factor.default
    shown = " ".join(map(str, default)) if default and several else default
    parser.add_argument(
        option,
        type=get_args(annotation)[0] if several else annotation,
        nargs="+" if several else None,
        default=default,
        required=required,
        metavar=factor.name.upper(),
        help=meaning if required else f"{meaning} ({shown})",
    )
