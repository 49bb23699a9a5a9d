"""The cases on virtual ranks: one call of each, whose time is that of the LogGP clock."""

from ...contracts.loggp import LogGP
from ...contracts.transport import Program
from ...definition_text import definition_of
from ...errors import Deep500Error, one_line
from ...results.collectives.data import CaseSamples, CollectiveLaunch, TimedCase
from ...transports.virtual import Virtual
from .arrays import is_right, operation_program, right_result, source
from .costs import declared_cost
from .launches import LaunchJob
from .subjects import element_count

NANO = 1e9


class WrongResult(Deep500Error):
    """A collective ran to its end and gave something else than it must."""


def virtual_launch(job: LaunchJob, network: LogGP | None = None) -> CollectiveLaunch:
    """All cases on so many virtual ranks."""
    network = network or LogGP()
    rows = [virtual_row(case, job.ranks, network) for case in job.request.cases]
    return job.block(library=f"virtual ranks, {network}", start="virtual", rows=rows)


def virtual_row(case: TimedCase, ranks: int, network: LogGP) -> CaseSamples:
    """One call; virtual ranks all begin at 0."""
    try:
        virtual = carried_out(case, ranks, network)
    except Deep500Error as error:
        is_wrong = isinstance(error, WrongResult)
        return CaseSamples(
            case, [], [], [], False, None, failure=one_line(error), is_wrong=is_wrong
        )
    leave = [round(clock * NANO) for clock in virtual.clocks.values()]
    sent = [traffic.sent_bytes for traffic in virtual.traffic.values()]
    modelled = any(traffic.modelled_bytes for traffic in virtual.traffic.values())
    cost = declared_cost(case, ranks)
    return CaseSamples(case, [[0] * ranks], [leave], sent, modelled, None, cost)


def carried_out(case: TimedCase, ranks: int, network: LogGP) -> Virtual:
    """The ranks after the call, whose results are right; raises a WrongResult otherwise."""
    collective = definition_of(case.algorithm, "collectives")
    collective.check(ranks)
    count = element_count(case)
    arrays = [source(rank, count, case.dtype) for rank in range(ranks)]
    virtual = Virtual(ranks, network)

    def program(rank: int) -> Program:
        return operation_program(collective, case.operation, rank, ranks, arrays[rank])

    results = virtual.run(program)
    for rank, result in results.items():
        right = right_result(case.operation, rank, ranks, count, case.dtype)
        if not is_right(result, right):
            raise WrongResult(
                f"{case.algorithm}: rank {rank} has a wrong {case.operation} of {count} elements"
            )
    return virtual
