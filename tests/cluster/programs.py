"""Random schedules for tests, and small ones whose times are known."""

import random

from deep500.cluster.schedule import (
    ANY,
    CALC,
    RECV,
    SEND,
    MessageSchedule,
    Operation,
    schedule_of,
)


def random_schedule(
    seed: int, cpus: int = 1, wildcards: bool = False
) -> MessageSchedule:
    """Ranks that compute and exchange messages of all sizes, in an order that is mostly free."""
    draw = random.Random(seed)
    ranks = draw.randint(1, 7)
    programs: list[list[Operation]] = [[] for _ in range(ranks)]

    def add(rank: int, kind: int, size: int, peer: int = 0, tag: int = 0) -> None:
        before = range(len(programs[rank]))
        after = sorted(draw.sample(before, min(len(before), draw.randint(0, 2))))
        rest = [number for number in before if number not in after]
        behind = sorted(draw.sample(rest, min(len(rest), draw.randint(0, 1))))
        cpu = draw.randrange(cpus)
        nic = 0 if kind == CALC else draw.randrange(cpus)
        row = Operation(kind, size, peer, tag, cpu, nic, after, behind)
        programs[rank].append(row)

    for _ in range(draw.randint(1, 60)):
        if draw.random() < 0.3:
            add(draw.randrange(ranks), CALC, draw.choice([0, 1, 700, 30_000]))
            continue
        source, to = draw.randrange(ranks), draw.randrange(ranks)
        size = draw.choice([0, 1, 8, 1000, 65_535, 65_536, 200_000])
        tag = draw.randrange(3)
        add(source, SEND, size, to, tag)
        any_source = wildcards and draw.random() < 0.2
        any_tag = wildcards and draw.random() < 0.2
        add(to, RECV, size, ANY if any_source else source, ANY if any_tag else tag)
    return schedule_of(programs)


def binomial_reduce(nbytes: int = 1024) -> MessageSchedule:
    """Eight ranks whose arrays are reduced to rank 0: LogGOPSim's example."""
    programs: list[list[Operation]] = []
    for rank in range(8):
        operations: list[Operation] = []
        for distance in (4, 2, 1):
            last = [len(operations) - 1] if operations else []
            if rank < distance:
                operations.append(Operation(RECV, nbytes, rank + distance, after=last))
            elif rank < 2 * distance:
                operations.append(Operation(SEND, nbytes, rank - distance, after=last))
        programs.append(operations)
    return schedule_of(programs)
