"""How an operator treats memory, its inputs and what it was called with before; how it uses threads."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import Unsupported, one_line
from .bounds import loose_bounds
from .comparing import deviation, gradient_check, output_check
from .examples import Example
from .memory import LAYOUTS
from .regimes import in_named_regime, odd_shaped, shared_work
from .report import Check
from .subjects import has_own_code, is_ours

NO_CODE = "it is not code on NumPy arrays"
RUNS = 4
SANITIZERS_S = 60.0
SHARED_RUNS = 20
FILLINGS = (
    0xFF,
    0x3F,
)  # a NaN in every format, and 0.75: what is read past the end cannot be right with both
SEQUENCE = "A0 B0 A1 A0 C0 D9 B0 B1 A2 D9 C1 A0 B0 A1"  # content and slot of every call


def determinism(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """The same bits in every run, of results and of gradients."""
    operator, inputs = example.operator, example.inputs
    runs = [dock.run(operator, inputs) for _ in range(RUNS)]
    value, text = changed(got, runs, "outputs")
    if not value and example.differentiates:
        grads = [dock.gradient(operator, inputs, example.seeds) for _ in range(2)]
        value, text = changed(grads[0], grads[1:], "gradients")
    text = text or f"the same bits in {RUNS} runs"
    return example.check("determinism", not value, value, 0.0, text)


def unchanged(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """The inputs, and the gradients that come in, are the same bytes after the call."""
    after = dock.touched(example.operator, example.inputs, ())
    value, text = changed(example.inputs, [after], "inputs, by the call")
    if not value and example.differentiates:
        given = (*example.inputs, *example.seeds)
        after = dock.touched(example.operator, example.inputs, example.seeds)
        value, text = changed(given, [after], "inputs, by the call of the gradient")
    return example.check("inputs", not value, value, 0.0, text)


def sequence(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """A dozen calls, with the same memory and other content, other memory and the same content, and other shapes."""
    odd = None if is_ours(example.operator) else odd_shaped(example)
    if odd is None or not _takes(dock, odd):
        odd = example
    known = {"A": example, "B": example.other, "C": example.rolled, "D": odd}
    letters = [word[0] for word in SEQUENCE.split()]
    slots = [int(word[1]) for word in SEQUENCE.split()]
    order = [(slot, known[letter]) for letter, slot in zip(letters, slots, strict=True)]
    order += [(100 + i, content) for i, content in enumerate(_near(dock, example))]
    made = dock.sequence(
        example.operator, [(slot, content.inputs) for slot, content in order]
    )
    for number, ((_, content), readings) in enumerate(zip(order, made, strict=True), 1):
        for when, outputs in zip(("", " at the end"), readings, strict=False):
            check = output_check(content, outputs, "sequence")
            if check.ok is False:
                text = f"of {len(order)} calls, number {number} is wrong{when}: {check.text}"
                return example.check("sequence", False, check.value, check.bound, text)
    return example.check("sequence", True, text=f"{len(order)} calls in turn")


def _near(dock: Any, example: Example) -> Iterator[Example]:
    """Pairs that are easily taken for the same: nearly equal numbers, zeros of both signs, one element of many."""
    zeros = in_named_regime(example, "zeros")
    large = in_named_regime(example, "larger")
    pairs = [(example, example.nudged)]
    if zeros:
        pairs.append((zeros, zeros.with_zeros_turned))
    if large and not is_ours(example.operator) and _takes(dock, large):
        pairs.append((large, large.with_one_changed))
    for first, second in pairs:
        yield from (first, second)


def _takes(dock: Any, example: Example) -> bool:
    """Whether it runs with these inputs at all."""
    try:
        dock.run(example.operator, example.inputs)
    except Exception:
        return False
    return True


def interleaved(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """Two runs before two derivatives: what the first left behind is its own, and stays."""
    if not has_own_code(example.operator):
        return example.no_verdict("state", NO_CODE)
    if not example.differentiates:
        return example.no_verdict("state", "it has no derivative")
    both = [example, example.other]
    made = dock.interleaved(example.operator, [(e.inputs, e.seeds) for e in both])
    for this, found in zip(both, made, strict=True):
        value, text = changed(this.inputs, [found["inputs"]], "inputs")
        if value:
            return example.check("state", False, value, 0.0, text)
        for check in (
            output_check(this, found["outputs"], "state"),
            gradient_check(this, found["gradients"], "state"),
        ):
            if check.ok is False:
                text = f"with two runs before two derivatives: {check.text}"
                return example.check("state", False, check.value, check.bound, text)
    return example.check("state", True, text="two runs before two derivatives")


def guards(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """Nothing past the ends of its arrays is read or written, and nothing is left unwritten."""
    if not has_own_code(example.operator):
        return example.no_verdict("memory", NO_CODE)
    seeds = example.seeds if example.differentiates else ()
    for filling in FILLINGS:
        made = dock.guarded(example.operator, example.inputs, seeds, filling)
        spoilt = sum(int(np.sum(margin != filling)) for margin in made["margins"])
        if spoilt:
            text = f"{spoilt} bytes outside of its arrays were written"
            return example.check("memory", False, float(spoilt), 0.0, text)
        found = [output_check(example, made["outputs"], "memory")]
        if seeds:
            found.append(gradient_check(example, made["gradients"], "memory"))
        for check in found:
            if check.ok is False:
                text = f"with bytes 0x{filling:02X} around its arrays, and in what it has to write: {check.text}"
                return example.check("memory", False, check.value, check.bound, text)
    return example.check("memory", True)


def strides(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """The same results for arrays that are views of others."""
    if not any(isinstance(x, np.ndarray) and x.size > 1 for x in example.inputs):
        return example.no_verdict("strides", "it has no arrays that could be views")
    for layout in LAYOUTS:
        found = [
            output_check(
                example, dock.run(example.operator, example.inputs, layout), "strides"
            )
        ]
        if example.differentiates:
            made = dock.gradient(
                example.operator, example.inputs, example.seeds, layout
            )
            found.append(gradient_check(example, made, "strides"))
        for check in found:
            if check.ok is False:
                text = f"with {layout} inputs: {check.text}"
                return example.check("strides", False, check.value, check.bound, text)
    return example.check("strides", True, text=f"with {' and '.join(LAYOUTS)} inputs")


def threads(dock: Any, example: Example, got: Sequence[Any]) -> Check:
    """Right every time, where threads share the work."""
    if is_ours(example.operator):
        return example.no_verdict("threads", "a framework's own threads are not judged")
    if example.dtype == "float64":
        return example.no_verdict("threads", "in the other dtypes alone")
    large = shared_work(example)
    if large is None or not _takes(dock, large):
        return example.no_verdict("threads", "it has no larger inputs")
    for seeds in ((), large.seeds) if large.differentiates else ((),):
        made = dock.repeated(large.operator, large.inputs, seeds, SHARED_RUNS)
        for arrays in made:
            fault = _far_off(large, arrays, bool(seeds))
            if fault:
                what = "gradients" if seeds else "outputs"
                return example.check(
                    "threads", False, text=f"{what} for {large.size} elements: {fault}"
                )
    return example.check(
        "threads", True, text=f"{SHARED_RUNS} runs on {large.size} elements"
    )


def _far_off(example: Example, got: Sequence[Any], derived: bool) -> str:
    """What no order of additions explains, in words; races are far beyond it."""
    right = example.gradients if derived else example.outputs
    bounds = loose_bounds(example, derived)
    for i, (y, want, bound) in enumerate(zip(got, right, bounds, strict=False)):
        if y is None or want is None or bound is None:
            continue
        found = deviation(f"number {i}", y, want, bound, example.dtype)
        if found.fault:
            return found.fault
    return ""


def sanitizing(dock: Any, example: Example) -> Check:
    """What the compiler's sanitizers find in a C++ operator."""
    seeds = example.seeds if example.differentiates else ()
    try:
        findings = dock.sanitized(example.operator, example.inputs, seeds, SANITIZERS_S)
    except Unsupported as error:
        return example.check("sanitize", None, text=one_line(error), decided=False)
    if findings is None:
        return example.no_verdict("sanitize", "it is not in C++")
    text = (
        findings[0]
        if findings
        else "no data race, no access out of bounds, nothing undefined"
    )
    if len(findings) > 1:
        text += f" (and {len(findings) - 1} more)"
    return example.check("sanitize", not findings, float(len(findings)), 0.0, text)


def changed(
    right: Sequence[Any], runs: Sequence[Sequence[Any]], what: str
) -> tuple[float, str]:
    """How many elements have other bits in any run, and the first of them in words."""
    total, text = 0, ""
    for run in runs:
        for k, (a, b) in enumerate(zip(right, run, strict=True)):
            if not isinstance(a, np.ndarray) or a.tobytes() == np.asarray(b).tobytes():
                continue
            count, words = _difference(a, np.asarray(b))
            total += count
            text = text or f"{what} changed: number {k} {words}"
    return float(total), text


def _difference(a: np.ndarray, b: np.ndarray) -> tuple[int, str]:
    if a.shape != b.shape:
        return max(a.size, 1), f"had the shape {list(a.shape)}, has {list(b.shape)}"
    differs = ~((a == b) | ((a != a) & (b != b)))
    if not differs.any():
        return 1, "has other bits"
    place = tuple(int(i) for i in np.argwhere(differs)[0])
    return int(differs.sum()), f"at {list(place)} was {a[place]}, became {b[place]}"
