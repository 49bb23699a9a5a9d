"""What a collective promises, and the cases on which each promise is tried."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...contracts.transport import Program, RankFailure
from ...transports.virtual import Virtual
from .buffers import most_allocated
from .cases import (
    GIVING_ALL,
    GUARD,
    GUARDS,
    NETWORK,
    CaseOutcome,
    CollectiveCase,
    first_difference,
    miscounted,
)
from .side_by_side import side_by_side
from .subjects import CheckedOperation

DTYPES = (
    *("float16", "float32", "float64"),
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
)
MOST_COUNTED = 17  # ranks whose digits an int64 holds without its sign
SENDING = ("all_to_all", "neighbor_all_gather", "sparse_all_reduce")
LONG = 20_000  # elements, beside whose bytes Python's own objects are small
OBJECT_BYTES = 600  # of Python's objects, for every message
LATEST = 2.0  # how many times the seconds of virtual ranks may be declared
MEMORY_RUNS = 3


def _always(_: CheckedOperation) -> str:
    return ""


@dataclass(frozen=True)
class Promise:
    """A promise: the cases on which it is tried, what is wrong with one ("" if nothing is), and when it is not made."""

    name: str
    cases: Callable[[CheckedOperation], Iterator[CollectiveCase]]
    fault: Callable[[CollectiveCase], str]
    unless: Callable[[CheckedOperation], str] = _always


# Values


def _counting_cases(subject: CheckedOperation) -> Iterator[CollectiveCase]:
    for case in subject.all_cases(dtype="int64", data="digits"):
        if case.size <= MOST_COUNTED:
            yield case


def _miscount(case: CollectiveCase) -> str:
    for rank, arrays in enumerate(case.run().arrays):
        for array in arrays:
            for place, total in enumerate(array.tolist()):
                if words := miscounted(total, case.size):
                    return f"element {place} of rank {rank} counts {words}"
    return ""


def _exact(subject: CheckedOperation) -> str:
    return "it gives a part of the sum, or adds noise" if subject.is_lossy else ""


def _summing(subject: CheckedOperation) -> str:
    return _exact(subject) if subject.reduces else "it reduces nothing"


def _value_cases(subject: CheckedOperation) -> Iterator[CollectiveCase]:
    yield from subject.all_cases()
    if subject.operation in ("all_reduce", "reduce_scatter"):
        yield from subject.all_cases(op="max")
        yield from subject.all_cases(op="min")


def _wrong_value(case: CollectiveCase) -> str:
    return first_difference(case.run().arrays, case.wanted())


def _dtype_cases(subject: CheckedOperation) -> Iterator[CollectiveCase]:
    for dtype in DTYPES:
        yield from subject.some_cases(17, dtype=dtype)


def _bit_cases(subject: CheckedOperation) -> Iterator[CollectiveCase]:
    for size in subject.sizes:
        yield subject.case(size, 101, data="normal")


def _other_bits(case: CollectiveCase) -> str:
    outcome = case.run()
    for rank, bits in enumerate(outcome.bits):
        if bits != outcome.bits[0]:
            return f"rank {rank} has other bits than rank 0: reduce in the same order on all ranks"
    return ""


def _same_on_all(subject: CheckedOperation) -> str:
    if subject.operation in GIVING_ALL:
        return ""
    return "every rank gets something else" if subject.reduces else "it adds nothing up"


def _imprecise(case: CollectiveCase) -> str:
    """Sums may differ by their rounding, in any order."""
    inputs = np.array([case.input(rank) for rank in range(case.size)])
    with np.errstate(invalid="ignore"):
        exact = inputs.sum(axis=0, dtype=np.float64)
        magnitude = np.abs(inputs).sum(axis=0, dtype=np.float64)
    bound = case.size * float(np.finfo(case.dtype).eps) * magnitude
    found = np.concatenate(
        [a for arrays in case.run().arrays[: _ranks_with_all(case)] for a in arrays]
    )
    with np.errstate(invalid="ignore"):
        is_near = np.abs(found - exact) <= bound
    # what overflows, or is no number, must stay so
    right = np.where(np.isfinite(exact), is_near, ~np.isfinite(found))
    wrong = np.flatnonzero(~right)
    if wrong.size:
        place = int(wrong[0])
        return f"element {place} is {found[place]}, and {exact[place]:.9g} within {bound[place]:.2g} is right"
    return ""


def _ranks_with_all(case: CollectiveCase) -> int:
    """How many ranks hold all elements together."""
    return 1 if case.operation in GIVING_ALL else case.size


def _unsteady(case: CollectiveCase) -> str:
    first, second = case.run(), case.run()
    return "" if first.bits == second.bits else "two runs give other bits"


# Memory that is not its own


def _touched(case: CollectiveCase) -> str:
    outcome = case.run()
    for rank, buffer in enumerate(outcome.buffers):
        around = np.concatenate([buffer[:GUARDS], buffer[-GUARDS:]])
        if (around != GUARD).any():
            return f"rank {rank} has written beside its array"
        kept = np.array_equal(buffer[GUARDS:-GUARDS], case.input(rank))
        if case.operation in SENDING and not kept:
            return f"rank {rank} has changed what it sends"
        for array in outcome.arrays[rank]:
            is_copy = array.size and not np.shares_memory(array, buffer)
            if case.operation == "reduce_scatter" and is_copy:
                return f"rank {rank} returns a copy: return a view of the array"
    return ""


def _length_cases(subject: CheckedOperation) -> Iterator[CollectiveCase]:
    for count in (0, 5, 17):
        yield from subject.some_cases(count)


# Ranks and messages


def _blocked(case: CollectiveCase) -> str:
    outcome = case.run(eager_bytes=0)
    return first_difference(outcome.arrays, case.wanted())


def _mixed_up(case: CollectiveCase) -> str:
    """Two operations on the same ranks, begun in another order by odd ranks."""
    engine = case.run().uses_engine
    collective = case.collective
    other = replace(
        case,
        collective=replace(collective, tag=collective.tag + 1),
        seed=case.seed + 1,
    )
    virtual = Virtual(case.size, NETWORK)
    outcomes = [each.blank(virtual) for each in (case, other)]

    def program(rank: int) -> Program:
        both = [case.program(rank, outcomes[0]), other.program(rank, outcomes[1])]
        is_swapped = rank % 2 and not engine
        return side_by_side(both[::-1] if is_swapped else both)

    virtual.run(program)
    for each, outcome in zip((case, other), outcomes, strict=True):
        if fault := first_difference(outcome.arrays, each.wanted()):
            return (
                f"with another one whose tag is higher by 1 at the same time, {fault}"
            )
    return ""


def _unnoticed(case: CollectiveCase) -> str:
    lost = case.size - 1
    try:
        case.run(kill={lost: 0})
    except RankFailure as failure:
        return "" if lost in failure.ranks else f"rank {lost} was lost, and: {failure}"
    return f"nobody noticed that rank {lost} was lost"


# Cost


def _without_cost(subject: CheckedOperation) -> str:
    if subject.collective.declares_cost(subject.operation):
        return ""
    return f"it declares none: write {subject.operation}_cost in its class"


def _other_traffic(case: CollectiveCase) -> str:
    declared = _cost(case)
    if case.size == 1:
        return ""
    traffic = case.run().virtual.traffic.values()
    sent = {
        "messages": max(each.sent_messages for each in traffic),
        "bytes": max(each.sent_bytes for each in traffic),
    }
    for what, number in sent.items():
        said = getattr(declared, what)
        is_wrong = number - said > 0.5 or not math.isfinite(said)
        if is_wrong or (said - number > 0.5 and not case.collective.cost_is_bound):
            return f"{said:g} {what} are declared, and some rank sends {number}"
    return ""


def _other_time(case: CollectiveCase) -> str:
    declared = _cost(case).seconds(NETWORK)
    seconds = case.run().virtual.seconds
    is_late = declared > LATEST * seconds + 1e-12 and not case.collective.cost_is_bound
    if declared >= seconds * (1 - 1e-9) and not is_late:
        return ""
    return (
        f"{declared:.4g} s are declared, and virtual ranks take {seconds:.4g} s: declare no less, and no more than "
        f"{LATEST:g} times as much"
    )


def _long_cases(subject: CheckedOperation) -> Iterator[CollectiveCase]:
    yield from subject.some_cases(LONG)


def _more_memory(case: CollectiveCase) -> str:
    """What other threads of this process allocate meanwhile only adds: one run that keeps to the cost is enough."""
    said = ""
    for _ in range(MEMORY_RUNS):
        said = _more_memory_once(case)
        if not said:
            return ""
    return said


def _more_memory_once(case: CollectiveCase) -> str:
    cost = _cost(case)
    outcome: CaseOutcome = case.blank(Virtual(case.size, NETWORK))

    def run(watched: Callable[[int, Program], Program]) -> None:
        def program(rank: int) -> Program:
            return watched(rank, case.program(rank, outcome))

        outcome.virtual.run(program)

    held = most_allocated(run)
    if case.operation == "all_to_all":
        held -= outcome.buffers[0].nbytes  # the incoming arrays, which are the case's
    nbytes = outcome.buffers[0].nbytes
    slack = 0.05 * nbytes + OBJECT_BYTES * cost.messages
    if outcome.uses_engine or held <= cost.memory + slack:
        return ""
    return f"{cost.memory:.0f} bytes of buffers are declared, and some rank has {held}"


def _cost(case: CollectiveCase) -> Any:
    itemsize = np.dtype(case.dtype).itemsize
    return case.collective.cost(case.operation, case.size, case.count, itemsize)


def _all(subject: CheckedOperation) -> Iterator[CollectiveCase]:
    return subject.all_cases()


def _some(subject: CheckedOperation) -> Iterator[CollectiveCase]:
    return subject.some_cases(17)


PROMISES = (
    Promise("every rank", _counting_cases, _miscount, _summing),
    Promise("values", _value_cases, _wrong_value, _exact),
    Promise("dtypes", _dtype_cases, _wrong_value, _exact),
    Promise("same bits", _bit_cases, _other_bits, _same_on_all),
    Promise("rounding", _bit_cases, _imprecise, _summing),
    Promise("determinism", _bit_cases, _unsteady),
    Promise("in place", _length_cases, _touched),
    Promise("rendezvous", _all, _blocked),
    Promise("two at once", _length_cases, _mixed_up),
    Promise("lost rank", _some, _unnoticed),
    Promise("traffic", _all, _other_traffic, _without_cost),
    Promise("seconds", _all, _other_time, _without_cost),
    Promise("memory", _long_cases, _more_memory, _without_cost),
)
