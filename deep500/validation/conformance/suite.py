"""The cases of ONNX's suite: models with inputs and the outputs that are right. Nothing is downloaded."""

import importlib
import os
import pkgutil
import random
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

KINDS = ("node", "real", "simple", "pytorch-converted", "pytorch-operator")
RANDOM = re.compile(
    r"test_bernoulli|test_training_dropout(?!_zero_ratio)"
)  # only shape and dtype can be compared


@dataclass(frozen=True)
class Case:
    """One test; every data set is its inputs, in the order of the model's, and its outputs."""

    name: str
    kind: str  # "expanded" for the body of a function in the place of its node, or one of KINDS
    operator: str  # of a model with one node, as the suite means it
    model: onnx.ModelProto
    data: tuple[tuple[list[Any], list[Any]], ...]
    rtol: float
    atol: float

    @property
    def random(self) -> bool:
        return RANDOM.match(self.name) is not None


def load() -> list[Case]:
    """All cases, by kind and name."""
    for module in _node_modules():
        _import(module)
    return sorted(
        [*_node_cases(), *_stored_cases()], key=lambda case: (case.kind, case.name)
    )


def sample(count: int, seed: int, operators: Iterable[str]) -> list[Case]:
    """Some cases of these operators, and some of whole models; only what they need is generated."""
    rng, wanted = random.Random(seed), {operator.lower() for operator in operators}
    modules = [
        m for m in _node_modules() if m.rpartition(".")[2].replace("_", "") in wanted
    ]
    rng.shuffle(modules)
    stored = sorted(
        _stored_cases(("simple", "pytorch-converted", "pytorch-operator")),
        key=lambda case: case.name,
    )
    found = rng.sample(stored, count // 5)
    for module in modules:
        if len(found) >= count:
            break
        before = {case.name for case in _node_cases()}
        _import(module)
        fresh = [case for case in _node_cases() if case.name not in before]
        found += rng.sample(fresh, min(3, len(fresh)))
    return found


def _node_modules() -> list[str]:
    import onnx.backend.test.case.node as package

    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return sorted(module.name for module in found if not module.ispkg)


def _import(module: str) -> None:
    """Importing makes the cases; some compute with infinities on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module(module)


def _node_cases() -> list[Case]:
    from onnx.backend.test.case.node import _NodeTestCases

    return [
        Case(
            case.name,
            "expanded" if "_expanded" in case.name else "node",
            _operator(case),
            case.model,
            tuple(([*map(_value, i)], [*map(_value, o)]) for i, o in case.data_sets),
            case.rtol,
            case.atol,
        )
        for case in _NodeTestCases
    ]


def _operator(case: Any) -> str:
    return "" if "_expanded" in case.name else case.model.graph.node[0].op_type


def _value(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def _stored_cases(kinds: Iterable[str] = KINDS[1:]) -> list[Case]:
    from onnx.backend.test.loader import load_model_tests

    found = []
    for case in (case for kind in kinds for case in load_model_tests(kind=kind)):
        if case.url is None:
            folder = Path(case.model_dir or "")
            model = onnx.load(folder / "model.onnx")
            data = [
                (
                    _stored(path, "input", model.graph.input),
                    _stored(path, "output", model.graph.output),
                )
                for path in sorted(folder.glob("test_data_set*"))
            ]
        else:
            path = Path(onnx.__file__).parents[1] / case.url
            model = onnx.load(path)
            data = [
                (
                    _ramps(model),
                    [
                        _read(path.with_name(f"{path.stem}_output_{i}.pb"), output.type)
                        for i, output in enumerate(model.graph.output)
                    ],
                )
            ]
        found.append(
            Case(case.name, case.kind, "", model, tuple(data), case.rtol, case.atol)
        )
    return found


def _stored(folder: Path, what: str, infos: Any) -> list[Any]:
    count = len(list(folder.glob(f"{what}_*.pb")))
    return [_read(folder / f"{what}_{i}.pb", infos[i].type) for i in range(count)]


def _read(path: "os.PathLike[str]", kind: onnx.TypeProto) -> Any:
    content = Path(path).read_bytes()
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def _ramps(model: onnx.ModelProto) -> list[np.ndarray]:
    """What the suite feeds to models without stored inputs."""
    weights, found = {weight.name for weight in model.graph.initializer}, []
    for info in model.graph.input:
        if info.name not in weights:
            shape = tuple(
                d.dim_value if d.HasField("dim_value") else 1
                for d in info.type.tensor_type.shape.dim
            )
            size = int(np.prod(shape))
            found.append((np.arange(size).reshape(shape) / size).astype(np.float32))
    return found
