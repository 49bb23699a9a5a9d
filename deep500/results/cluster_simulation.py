"""A simulation of a virtual cluster: when its ranks are done, over seeds of noise, and where the time goes."""

from collections.abc import Sequence
from typing import TypeAlias

from ..contracts.result import Record, ResultKind
from ..errors import Deep500Error
from ..reports.blocks import Report
from .simulating.data import SeedBlock, SimulationPlan
from .simulating.numbers import SimulationNumbers, simulation_numbers
from .simulating.page import page

SimulationRecord: TypeAlias = Record[SimulationPlan, SeedBlock, SimulationNumbers]


class ClusterSimulation(ResultKind[SimulationPlan, SeedBlock, SimulationNumbers]):
    """One block per seed; the first one also has the ranks' times, the timeline and the critical path."""

    def check_blocks(
        self, plan: SimulationPlan, blocks: Sequence[object]
    ) -> list[SeedBlock]:
        checked = super().check_blocks(plan, blocks)
        seeds = [block.seed for block in checked]
        if seeds != list(plan.seeds)[: len(seeds)]:
            raise Deep500Error(
                "samples.jsonl: the blocks are not those of the plan's seeds, in their order"
            )
        for block in checked:
            ends = block.nanoseconds
            if ends is None:
                continue
            if len(ends) != plan.ranks or max(ends) != block.makespan:
                raise Deep500Error(
                    f"samples.jsonl: seed {block.seed} has not the time of each of {plan.ranks} ranks, the last of "
                    f"which ends at {block.makespan} ns"
                )
        return checked

    def derive(
        self, plan: SimulationPlan, blocks: Sequence[SeedBlock]
    ) -> SimulationNumbers | None:
        return simulation_numbers(plan, blocks)

    def report(self, record: SimulationRecord) -> Report:
        return page(record)
