"""The cases of ONNX's suite: models with inputs and expected outputs. Nothing is downloaded."""

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

from .verdicts import CaseName

KINDS = ("node", "real", "simple", "pytorch-converted", "pytorch-operator")
# cases of which only shape and dtype can be compared
RANDOM = re.compile(r"test_bernoulli|test_training_dropout(?!_zero_ratio)")
DataSet = tuple[list[Any], list[Any]]  # inputs and expected outputs


@dataclass(frozen=True)
class SuiteCase(CaseName):
    """One test: a model and data sets of its inputs and expected outputs, in the order of the model's."""

    model: onnx.ModelProto
    data: tuple[DataSet, ...]
    rtol: float
    atol: float

    @property
    def random(self) -> bool:
        return RANDOM.match(self.name) is not None


def load() -> list[SuiteCase]:
    """All cases, by kind and name."""
    for module in _node_modules():
        _import(module)
    cases = [*_node_cases(), *_stored_cases()]
    return sorted(cases, key=lambda case: (case.kind, case.name))


def sample(count: int, seed: int, operators: Iterable[str]) -> list[SuiteCase]:
    """Some cases of these operators, and some of whole models; only the modules of these operators are imported."""
    rng = random.Random(seed)
    operator_names = {operator.lower() for operator in operators}
    modules = []
    for module in _node_modules():
        file_name = module.rpartition(".")[2]
        if file_name.replace("_", "") in operator_names:
            modules.append(module)
    rng.shuffle(modules)
    stored = _stored_cases(("simple", "pytorch-converted", "pytorch-operator"))
    stored.sort(key=lambda case: case.name)
    cases = rng.sample(stored, count // 5)
    for module in modules:
        if len(cases) >= count:
            break
        before = {case.name for case in _node_cases()}
        _import(module)
        fresh = [case for case in _node_cases() if case.name not in before]
        cases += rng.sample(fresh, min(3, len(fresh)))
    return cases


def _node_modules() -> list[str]:
    import onnx.backend.test.case.node as package

    modules = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return sorted(module.name for module in modules if not module.ispkg)


def _import(module: str) -> None:
    """Import a module, which creates its cases; some warn because they compute with infinities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module(module)


def _node_cases() -> list[SuiteCase]:
    from onnx.backend.test.case.node import _NodeTestCases

    return [_node_case(case) for case in _NodeTestCases]


def _node_case(case: Any) -> SuiteCase:
    kind = "node"
    operator = ""
    if "_expanded" in case.name:
        kind = "expanded"
    else:
        operator = case.model.graph.node[0].op_type
    data = []
    for inputs, outputs in case.data_sets:
        input_values = list(map(_value, inputs))
        output_values = list(map(_value, outputs))
        data.append((input_values, output_values))
    return SuiteCase(
        case.name, kind, operator, case.model, tuple(data), case.rtol, case.atol
    )


def _value(value: Any) -> Any:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, np.generic):
        return np.asarray(value)
    return value


def _stored_cases(kinds: Iterable[str] = KINDS[1:]) -> list[SuiteCase]:
    """The cases of these kinds, whose models are files of the onnx package."""
    from onnx.backend.test.loader import load_model_tests

    cases = []
    for kind in kinds:
        for test in load_model_tests(kind=kind):
            cases.append(_stored_case(test))
    return cases


def _stored_case(test: Any) -> SuiteCase:
    if test.url is None:
        folder = Path(test.model_dir or "")
        model = onnx.load(folder / "model.onnx")
        data = _data_sets(folder, model)
    else:
        path = Path(onnx.__file__).parents[1] / test.url
        model = onnx.load(path)
        data = [(_ramps(model), _outputs_beside(path, model))]
    return SuiteCase(test.name, test.kind, "", model, tuple(data), test.rtol, test.atol)


def _data_sets(folder: Path, model: onnx.ModelProto) -> list[DataSet]:
    """The data sets that are stored in subfolders beside the model."""
    data = []
    for path in sorted(folder.glob("test_data_set*")):
        inputs = _stored(path, "input", model.graph.input)
        outputs = _stored(path, "output", model.graph.output)
        data.append((inputs, outputs))
    return data


def _outputs_beside(path: Path, model: onnx.ModelProto) -> list[Any]:
    """The outputs that are stored in files beside the model."""
    outputs = []
    for i, output in enumerate(model.graph.output):
        file = path.with_name(f"{path.stem}_output_{i}.pb")
        outputs.append(_read(file, output.type))
    return outputs


def _stored(folder: Path, prefix: str, infos: Any) -> list[Any]:
    """The values in the files input_0.pb, input_1.pb, … (or output_…) of a data set."""
    files = list(folder.glob(f"{prefix}_*.pb"))
    values = []
    for i in range(len(files)):
        file = folder / f"{prefix}_{i}.pb"
        values.append(_read(file, infos[i].type))
    return values


def _read(path: "os.PathLike[str]", kind: onnx.TypeProto) -> Any:
    content = Path(path).read_bytes()
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def _ramps(model: onnx.ModelProto) -> list[np.ndarray]:
    """The inputs that the suite uses for models without stored inputs."""
    weights = {weight.name for weight in model.graph.initializer}
    inputs = []
    for info in model.graph.input:
        if info.name in weights:
            continue
        shape = []
        for dim in info.type.tensor_type.shape.dim:
            shape.append(dim.dim_value if dim.HasField("dim_value") else 1)
        size = int(np.prod(shape))
        ramp = np.arange(size).reshape(shape) / size
        inputs.append(ramp.astype(np.float32))
    return inputs
