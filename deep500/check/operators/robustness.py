"""How an operator treats memory, its inputs and what it was called with before; how it uses threads."""

from collections.abc import Iterator, Sequence

import numpy as np

from ...errors import Unsupported, one_line, raise_if_mistake
from ..report import CheckResult
from .array_checks import deviation, gradient_check, output_check
from .bounds import FEW, MOST, loose_bounds
from .examples import Example
from .formats import Array, Values
from .memory import LAYOUTS
from .regimes import in_named_regime, odd_shaped, shared_work
from .runner import Runner
from .subjects import has_own_code, is_ours

NO_CODE = "it is not code on NumPy arrays"
PLAIN_FUNCTION = "it is a plain function: looked at in custom operators alone"
RUNS = 4
SANITIZERS_S = 60.0
SHARED_RUNS = 20
# A NaN in every format, and 0.75: what is read past the end cannot be right with both.
FILLINGS = (0xFF, 0x3F)
SEQUENCE = "A0 B0 A1 A0 C0 D9 B0 B1 A2 D9 C1 A0 B0 A1"  # content and slot of every call
PAIRS_FROM = 100  # the first slot of the pairs that are nearly the same


def determinism(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """The same bits in every run, of results and of gradients."""
    operator = example.operator
    inputs = example.inputs
    runs = [runner.run(operator, inputs) for _ in range(RUNS)]
    value, text = changed(outputs, runs, "outputs")
    if not value and example.differentiates:
        first = runner.gradient(operator, inputs, example.seeds)
        second = runner.gradient(operator, inputs, example.seeds)
        value, text = changed(first, [second], "gradients")
    text = text or f"the same bits in {RUNS} runs"
    return example.check("determinism", not value, value, 0.0, text)


def unchanged(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """The inputs, and the gradients that come in, are the same bytes after the call."""
    after = runner.touched(example.operator, example.inputs, ())
    value, text = changed(example.inputs, [after], "inputs, by the call")
    if not value and example.differentiates:
        before = (*example.inputs, *example.seeds)
        after = runner.touched(example.operator, example.inputs, example.seeds)
        value, text = changed(before, [after], "inputs, by the call of the gradient")
    return example.check("inputs", not value, value, 0.0, text)


def sequence(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """A dozen calls, with the same memory and other content, other memory and the same content, and other shapes."""
    slots, contents = _calls_in_turn(runner, example)
    inputs = [content.inputs for content in contents]
    calls = list(zip(slots, inputs, strict=True))
    results = runner.sequence(example.operator, calls)
    answers = zip(contents, results, strict=True)
    for number, (content, readings) in enumerate(answers, 1):
        for when, reading in zip(("", " at the end"), readings, strict=False):
            check = output_check(content, reading, "sequence")
            if check.ok is False:
                which = f"of {len(calls)} calls, number {number} is wrong{when}"
                return _failed(example, check, which)
    return example.check("sequence", True, text=f"{len(calls)} calls in turn")


def _calls_in_turn(runner: Runner, example: Example) -> tuple[list[int], list[Example]]:
    """The slot and the content of every call of a sequence."""
    odd = None
    if not is_ours(example.operator):
        odd = odd_shaped(example)
    if odd is None or not _takes(runner, odd):
        odd = example
    by_letter = {
        "A": example,
        "B": example.other,
        "C": example.rolled,
        "D": odd,
    }
    slots = []
    contents = []
    for call in SEQUENCE.split():
        slots.append(int(call[1]))
        contents.append(by_letter[call[0]])
    for slot, content in enumerate(_near(runner, example), PAIRS_FROM):
        slots.append(slot)
        contents.append(content)
    return slots, contents


def _near(runner: Runner, example: Example) -> Iterator[Example]:
    """Pairs that are easily taken for the same: nearly equal numbers, zeros of both signs, one element of many."""
    zeros = in_named_regime(example, "zeros")
    large = in_named_regime(example, "larger")
    yield example
    yield example.nudged
    if zeros:
        yield zeros
        yield zeros.with_zeros_turned
    if large and not is_ours(example.operator) and _takes(runner, large):
        yield large
        yield large.with_one_changed


def _takes(runner: Runner, example: Example) -> bool:
    """Whether the operator runs with these inputs at all."""
    try:
        runner.run(example.operator, example.inputs)
    except Exception as error:
        raise_if_mistake(error)
        return False
    return True


def _no_code(example: Example) -> str:
    is_function = getattr(example.operator, "is_function", False)
    return PLAIN_FUNCTION if is_function else NO_CODE


def interleaved(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """Two runs before two derivatives: each derivative uses what its own run saved."""
    if not has_own_code(example.operator):
        return example.no_verdict("state", _no_code(example))
    if not example.differentiates:
        return example.no_verdict(
            "state", "it has no derivative in float64 to compare with"
        )
    both = [example, example.other]
    calls = [(content.inputs, content.seeds) for content in both]
    results = runner.interleaved(example.operator, calls)
    for content, result in zip(both, results, strict=True):
        after = result["inputs"]
        value, text = changed(content.inputs, [after], "inputs")
        if value:
            return example.check("state", False, value, 0.0, text)
        for check in (
            output_check(content, result["outputs"], "state"),
            gradient_check(content, result["gradients"], "state"),
        ):
            if check.ok is False:
                return _failed(example, check, "with two runs before two derivatives")
    return example.check("state", True, text="two runs before two derivatives")


def guards(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """Nothing past the ends of its arrays is read or written, and no result is left unwritten."""
    if not has_own_code(example.operator):
        return example.no_verdict("memory", _no_code(example))
    seeds = example.seeds if example.differentiates else ()
    for filling in FILLINGS:
        result = runner.guarded(example.operator, example.inputs, seeds, filling)
        spoilt = 0
        for margin in result["margins"]:
            spoilt += int(np.sum(margin != filling))
        if spoilt:
            text = f"{spoilt} bytes outside of its arrays were written"
            return example.check("memory", False, float(spoilt), 0.0, text)
        checks = [output_check(example, result["outputs"], "memory")]
        if seeds:
            checks.append(gradient_check(example, result["gradients"], "memory"))
        for check in checks:
            if check.ok is False:
                where = f"with bytes 0x{filling:02X} around its arrays, and in what it has to write"
                return _failed(example, check, where)
    return example.check("memory", True)


def strides(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """The same results for arrays that are views of others."""
    operator = example.operator
    inputs = example.inputs
    sizes = [x.size for x in inputs if isinstance(x, np.ndarray)]
    if max(sizes, default=0) <= 1:
        return example.no_verdict("strides", "it has no arrays that could be views")
    for layout in LAYOUTS:
        results = runner.run(operator, inputs, layout)
        checks = [output_check(example, results, "strides")]
        if example.differentiates:
            gradients = runner.gradient(operator, inputs, example.seeds, layout)
            checks.append(gradient_check(example, gradients, "strides"))
        for check in checks:
            if check.ok is False:
                return _failed(example, check, f"with {layout} inputs")
    layouts = " and ".join(LAYOUTS)
    return example.check("strides", True, text=f"with {layouts} inputs")


def _failed(example: Example, check: CheckResult, when: str) -> CheckResult:
    """A failed check of some arrays, as that of the whole promise: the text says when it failed."""
    text = f"{when}: {check.text}"
    return example.check(check.name, False, check.value, check.bound, text)


def device(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """Results are ready in the order of the current stream, written whole, and made without waits or copies."""
    contents = [example.inputs, example.other.inputs]
    faults = runner.device_faults(example.operator, contents)
    if faults:
        return example.check("device", False, text=faults[0])
    text = f"on {runner.device()}: in the order of its stream, without waits or copies"
    return example.check("device", True, text=text)


def threads(runner: Runner, example: Example, outputs: Values) -> CheckResult:
    """Right in every run of inputs so large that threads share the work."""
    if is_ours(example.operator):
        return example.no_verdict("threads", "a framework's own threads are not judged")
    if example.dtype == "float64":
        return example.no_verdict("threads", "in the other dtypes alone")
    large = shared_work(example)
    if large is None or not _takes(runner, large):
        return example.no_verdict("threads", "it has no larger inputs")
    seeds_of_runs: list[Values] = [()]
    if large.differentiates:
        seeds_of_runs.append(large.seeds)
    for seeds in seeds_of_runs:
        if fault := _fault_in_runs(runner, large, seeds):
            return example.check("threads", False, text=fault)
    text = f"{SHARED_RUNS} runs on {large.size} elements"
    return example.check("threads", True, text=text)


def _fault_in_runs(runner: Runner, large: Example, seeds: Values) -> str:
    """What is wrong in any of many runs, with seeds of the gradients; "" if nothing is."""
    kind = "gradients" if seeds else "outputs"
    results = runner.repeated(large.operator, large.inputs, seeds, SHARED_RUNS)
    differ = f", which differ among {SHARED_RUNS} runs" if len(results) > 1 else ""
    for arrays in results:
        fault = _far_off(large, arrays, bool(seeds))
        if fault:
            return f"{kind} for {large.size} elements{differ}: {fault}"
    return ""


def _far_off(example: Example, arrays: Values, derived: bool) -> str:
    """The first error that no order of additions explains, in words; races are far beyond it."""
    fault = _beyond(example, arrays, derived, FEW)
    if fault:  # unless these moves were small by chance
        fault = _beyond(example, arrays, derived, MOST)
    return fault


def _beyond(example: Example, arrays: Values, derived: bool, moves: int) -> str:
    right = example.gradients if derived else example.outputs
    bounds = loose_bounds(example, derived, moves)
    rows = zip(arrays, right, bounds, strict=False)
    for i, (y, want, bound) in enumerate(rows):
        if y is None or want is None or bound is None:
            continue
        name = f"number {i}"
        worst = deviation(name, y, want, bound, example.dtype)
        if worst.fault:
            return worst.fault
    return ""


def sanitizing(runner: Runner, example: Example) -> CheckResult:
    """What the compiler's sanitizers find in a C++ operator."""
    seeds = example.seeds if example.differentiates else ()
    try:
        findings = runner.sanitized(
            example.operator, example.inputs, seeds, SANITIZERS_S
        )
    except Unsupported as error:
        return example.check("sanitize", None, text=one_line(error), decided=False)
    if findings is None:
        return example.no_verdict("sanitize", "it is not in C++")
    count = len(findings)
    if not count:
        text = "no data race, no access out of bounds, nothing undefined"
        return example.check("sanitize", True, 0.0, 0.0, text)
    text = findings[0]
    if count > 1:
        text += f" (and {count - 1} more)"
    return example.check("sanitize", False, float(count), 0.0, text)


def changed(right: Values, runs: Sequence[Values], what: str) -> tuple[float, str]:
    """How many elements have other bits in any run, and the first of them in words."""
    total = 0
    text = ""
    for run in runs:
        pairs = zip(right, run, strict=True)
        for i, (expected, value) in enumerate(pairs):
            if not isinstance(expected, np.ndarray):
                continue
            actual = np.asarray(value)
            if expected.tobytes() == actual.tobytes():
                continue
            count, difference = _difference(expected, actual)
            total += count
            if not text:
                text = f"{what} changed: number {i} {difference}"
    return float(total), text


def _difference(before: Array, after: Array) -> tuple[int, str]:
    """How many elements of two arrays differ, and the first of them in words."""
    if before.shape != after.shape:
        old = list(before.shape)
        new = list(after.shape)
        return max(before.size, 1), f"had the shape {old}, has {new}"
    both_nan = (before != before) & (after != after)
    differs = ~((before == after) | both_nan)
    if not differs.any():
        return 1, "has other bits"
    place = np.argwhere(differs)[0].tolist()
    old = before[tuple(place)]
    new = after[tuple(place)]
    count = int(differs.sum())
    return count, f"at {place} was {old}, became {new}"
