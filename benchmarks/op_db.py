"""Operators against PyTorch on PyTorch's own test samples (op_db): forward and gradient, in float64.

    python benchmarks/op_db.py [--framework jax] [--only matmul] [--samples 200] [--json FILE]

Every function of op_db that maps one to one onto an ONNX operator is compared on its samples, as the framework runs
the operator. Values go in as a user passes them: torch's tensors, lists, tuples, sizes and numbers of the sample, then
the same as lists and as NumPy's arrays and scalars, which must give the same. The table counts the samples that agree
and lists the others; samples whose values ONNX writes differently (pads, strides) are counted apart, as "adapted", and
so are those without a counterpart in ONNX or without a kernel in the framework, with the reason.
The goal is agreement on at least 99 % of the samples. Needs expecttest (part of the dev extra).
"""

import argparse
import itertools
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _translations import TRANSLATIONS, Call, translate

from deep500 import registry
from deep500.contracts.framework import Framework
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import available_frameworks, framework

GOAL = 0.99
# in float64; gradients through ill-conditioned points lose up to eight digits
TOLERANCE = 1e-7
# float64 for all others
TYPES = {"bitwise": torch.int64, "logical": torch.bool, "one_hot": torch.int64}


REASONS = {  # why samples of these functions disagree
    "nn.functional.one_hot": "ONNX Runtime takes no scalar of indices",
    "nn.functional.pad/circular": "ONNX Runtime wraps no empty tensor",
    "squeeze/multiple": "an empty list of axes is none for ONNX Runtime, and so all",
    "nn.functional.grid_sample": "beyond a border ONNX moves the place to be sampled, torch each of the 16 neighbours",
}


@dataclass
class Tally:
    """What became of the samples of one function; `adapted` ones are among those that agree or do not."""

    agree: int = 0
    gradients: int = 0
    adapted: int = 0
    adapted_faults: int = 0
    faults: list[str] = field(default_factory=list)
    left_out: Counter = field(default_factory=Counter)


def judge(info: Any, name: str, limit: int, target: Framework) -> Tally:
    dtype = next((kind for word, kind in TYPES.items() if word in name), torch.float64)
    differentiable = dtype.is_floating_point and info.supports_autograd
    tally = Tally()
    samples = info.sample_inputs("cpu", dtype, requires_grad=differentiable)
    for number, sample in enumerate(itertools.islice(samples, limit)):
        call = translate(name, sample)
        if isinstance(call, str):
            tally.left_out[call] += 1
            continue
        try:
            fault, checked = disagreement(info, sample, call, target)
        except Unsupported as error:
            tally.left_out[str(error)[:120]] += 1
            continue
        tally.gradients += checked
        tally.adapted += call.adapted
        if fault:
            tally.adapted_faults += call.adapted
            tally.faults.append(f"sample {number}: {fault}")
        else:
            tally.agree += 1
    return tally


def disagreement(
    info: Any, sample: Any, call: Call, target: Framework
) -> tuple[str, bool]:
    """Where the target differs from PyTorch, if it does; and whether a gradient was compared."""
    right = call.result(info.op(sample.input, *sample.args, **sample.kwargs))
    right = [right] if torch.is_tensor(right) else list(right)
    try:
        operator = operator_of(call)
        outputs = target.evaluate(operator, list(call.inputs))
        for output, r in zip(outputs, right, strict=False):
            if fault := distance("output", output, array(r)):
                return fault, False
        if fault := form_fault(call, operator, outputs, target):
            return fault, False
        return gradient_disagreement(operator, call, right, target)
    except Unsupported:
        raise
    except Deep500Error as error:
        return str(error)[:200], False


def operator_of(call: Call, form: Callable[[Any], Any] = lambda value: value) -> Any:
    attributes = {name: form(value) for name, value in call.attributes.items()}
    return registry.find("operators", call.operator)(**attributes)


def form_fault(call: Call, operator: Any, outputs: list[Any], target: Framework) -> str:
    """What is wrong if the same values come as lists, or as NumPy's arrays and scalars."""
    for form in (as_list, as_numpy):
        same = operator_of(call, form)
        if same != operator or hash(same) != hash(operator):
            return f"{same} is not {operator}"
        names = operator.input_names(len(call.inputs))
        inputs = []
        for name, value in zip(names, call.inputs, strict=True):
            inputs.append(form(value) if name in operator.static else array(value))
        for output, again in zip(outputs, target.evaluate(same, inputs), strict=True):
            if not np.array_equal(output, again, equal_nan=output.dtype.kind == "f"):
                return f"other results with static inputs given by {form.__name__}"
    return ""


def as_list(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def as_numpy(value: Any) -> Any:
    plain = value is None or isinstance(value, str)
    return value if plain else np.asarray(value)[()]


def gradient_disagreement(
    operator: Any, call: Call, right: list[Any], target: Framework
) -> tuple[str, bool]:
    leaves = [x for x in call.inputs if torch.is_tensor(x) and x.requires_grad]
    smooth = [r for r in right if r.dtype.is_floating_point and r.requires_grad]
    if not leaves or not smooth or not operator.differentiable:
        return "", False
    draw = torch.Generator().manual_seed(0)
    seeds = [
        torch.randn(r.shape, generator=draw, dtype=r.dtype) if r.requires_grad else None
        for r in right
    ]
    used = [i for i, r in enumerate(right) if r.requires_grad]
    # PyTorch's gradient is by the sample's own tensors, ours by what was made from them: both are carried to the roots.
    roots = roots_of(leaves)
    want = torch.autograd.grad(
        [right[i] for i in used],
        roots,
        [seeds[i] for i in used],
        retain_graph=True,
        allow_unused=True,
    )
    found = target.gradient(operator, list(call.inputs), seeds)
    pairs = [
        (x, torch.from_numpy(np.array(g)))
        for x, g in zip(call.inputs, found, strict=False)
        if g is not None and torch.is_tensor(x) and x.requires_grad
    ]
    if not pairs:
        return "no gradient is declared", True
    have = torch.autograd.grad(
        [x for x, _ in pairs],
        roots,
        [g for _, g in pairs],
        retain_graph=True,
        allow_unused=True,
    )
    for h, w in zip(have, want, strict=True):
        if w is not None and (
            fault := distance(
                "gradient", array(torch.zeros_like(w) if h is None else h), array(w)
            )
        ):
            return fault, True
    return "", True


def roots_of(tensors: list[Any]) -> list[Any]:
    """The tensors of the sample that these were made from."""
    found: dict[int, Any] = {}
    todo = [(x.grad_fn, x) for x in tensors]
    while todo:
        function, tensor = todo.pop()
        if function is None:
            found[id(tensor)] = tensor
        elif hasattr(function, "variable"):
            found[id(function.variable)] = function.variable
        else:
            todo += [(f, None) for f, _ in function.next_functions if f is not None]
    return list(found.values())


def array(x: Any) -> Any:
    return x.detach().resolve_conj().numpy().copy() if torch.is_tensor(x) else x


def distance(what: str, got: np.ndarray, right: np.ndarray) -> str:
    if got.shape != right.shape:
        return f"{what} has the shape {got.shape} for {right.shape}"
    if right.dtype.kind != "f":
        return "" if np.array_equal(got, right) else f"{what} differs"
    scale = np.max(np.abs(right), initial=0, where=np.isfinite(right))
    if np.allclose(
        got, right, TOLERANCE, TOLERANCE * max(scale, 1) * 1e-2, equal_nan=True
    ):
        return ""
    return f"{what} is off by up to {np.nanmax(np.abs(got - right)):.3g} where values go to {scale:.3g}"


def functions(only: str) -> list[tuple[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    named = {f"{i.name}/{i.variant_test_name}".rstrip("/"): i for i in op_db}
    if lost := TRANSLATIONS.keys() - named.keys():
        sys.exit(f"this PyTorch's op_db has no {', '.join(sorted(lost))}")
    return [(name, named[name]) for name in sorted(TRANSLATIONS) if only in name]


def report(tallies: dict[str, Tally]) -> str:
    """The table, and one line that sums it up."""
    lines = []
    for name, tally in tallies.items():
        judged = tally.agree + len(tally.faults)
        lines.append(
            f"{name:48} {tally.agree} of {judged} agree ({tally.gradients} with gradient)"
        )
        lines += [f"    {fault}" for fault in tally.faults[:3]]
        if tally.faults:
            lines.append(f"    because: {REASONS.get(name, 'unknown')}")
        lines += [
            f"    {count} left out: {why}" for why, count in tally.left_out.items()
        ]
    return "\n".join(lines)


def summary(name: str, tallies: dict[str, Tally]) -> tuple[str, bool]:
    """The line of a framework, and whether it reaches the goal."""
    agree = sum(tally.agree for tally in tallies.values())
    judged = agree + sum(len(tally.faults) for tally in tallies.values())
    adapted = sum(tally.adapted for tally in tallies.values())
    adapted_agree = adapted - sum(tally.adapted_faults for tally in tallies.values())
    gradients = sum(tally.gradients for tally in tallies.values())
    as_given = f"{agree - adapted_agree} of {judged - adapted} as they are"
    text = (
        f"{name}, {len(tallies)} functions: {agree} of {judged} samples agree ({agree / max(judged, 1):.2%}; "
        f"goal {GOAL:.0%}): {as_given}, {adapted_agree} of {adapted} adapted; {gradients} compared with "
        "gradient too"
    )
    return text, agree >= GOAL * judged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--framework",
        default="reference",
        choices=available_frameworks(),
        help="who computes",
    )
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="functions with this in their name"
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=10**6,
        metavar="N",
        help="at most so many of each",
    )
    parser.add_argument("--json", metavar="FILE", help="write the tallies there")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    target = framework(options.framework)
    tallies = {
        name: judge(info, name, options.samples, target)
        for name, info in functions(options.only)
    }
    text, reached = summary(options.framework, tallies)
    print(f"{report(tallies)}\n\n{text}")
    if options.json:
        contents = {
            name: {**vars(t), "left_out": dict(t.left_out)}
            for name, t in tallies.items()
        }
        Path(options.json).write_text(json.dumps(contents, indent=1) + "\n")
    sys.exit(not reached)


if __name__ == "__main__":
    main()
