"""What is unusual in a recipe's run without contradicting it; a reader who knows it reads the numbers with care."""

from collections.abc import Iterator

from ...contracts.result import Blocks, Plan


def recipe_remarks(plan: Plan, blocks: Blocks) -> Iterator[str]:
    """Every remark on the bundle of a recipe's run."""
    yield from left_out_seeds(plan)


def left_out_seeds(plan: Plan) -> Iterator[str]:
    """That the seeds are not the ones that a run takes by itself."""
    seeds = plan["seeds"]
    if seeds != list(range(len(seeds))):
        listed = ", ".join(map(str, seeds))[:80]
        yield f"the seeds are {listed}: `d5 run` trains 0 to {len(seeds) - 1} unless it is told which"
