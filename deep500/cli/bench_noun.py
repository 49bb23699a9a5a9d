"""`d5 bench NOUN` for a benchmark that has no verb of its own: its options are its fields."""

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import registry
from . import benchmarking
from .fields import add_fields, given_fields

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
        add_fields(parser, self.benchmark)
        if self.benchmark.timed:
            benchmarking.arguments(
                parser,
                self.benchmark.budget_s,
                self.benchmark.least_timeout_s,
            )
        else:
            benchmarking.untimed_arguments(parser, self.benchmark.least_timeout_s)

    def call(self, args: argparse.Namespace) -> int:
        factors = given_fields(args, self.benchmark)
        return benchmarking.run(args, self.benchmark(**factors))


def noun_verbs(noun: str) -> dict[str, BenchNoun]:
    """The verb `bench NOUN`, if there is such a benchmark."""
    if not registry.has("bench", noun + ENDING):
        return {}
    benchmark: Any = registry.named("bench", noun + ENDING)
    return {f"bench {noun}": BenchNoun(benchmark)}
