"""The architecture promises: imports point down, sources are clean, public names stay, importing is cheap."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "deep500"

# From the bottom up. A module may import itself and what is in lower rows; modules of one row are strangers.
LAYERS = [
    "import_path",
    "errors canonical",
    "own_modules schema",
    "progress home supervision user_files",
    "import_address",
    "bundle registry reports",
    "limited_files",
    "measure",
    "definition namespace",
    "hashing",
    "contracts graph",
    "custom definition_text",
    "onnx",
    "convolutions",
    "operators networks optimizers schedules losses initializers datasets samplers frameworks metrics tasks"
    " augmentations precisions claims audit logs elementary noises",
    "formats costs testing",
    "micro_batches",
    "transformations",
    "topologies reductions",
    "codecs collectives transports fixed",
    "schemes cluster",
    "training",
    "distributed",
    "check",
    "results",
    "bundle/records",
    "bench rerun instrumentation board dossiers fooling exports papers",
    "contest",
    "cli pytest_plugin",
    "notebooks",
]
# Two rooms of one layer: the network contract is built on the graph, and the graph is made of operators, a contract.
TOGETHER = {"contracts", "graph"}
STATISTICS = "measure/statistics/"  # pure functions of samples
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names.split()}
FRAMEWORKS = {
    "torch": "pytorch",
    "jax": "jax",
    "tensorflow": "tensorflow",
    "onnxruntime": "onnxruntime",
}
HEAVY = {
    "matplotlib",
    "mpi4py",
    "numpy",
    "onnx",
    "convolutions",
    "onnxscript",
    "rich",
    "scipy",
    "spox",
    *FRAMEWORKS,
}

# The files that import by a name which is known only when they run, or compare names of modules, and why they may.
BY_NAME = {
    "cli/__init__.py": "imports the verb that was typed, and no other",
    "registry.py": "finds definitions and adapters by the names of their files",
    "contracts/framework.py": "imports a framework when it is first used",
    "contracts/calls.py": "asks whether an operator is one of ours, and imports nothing",
    "user_files.py": "loads a file that the user names",
    "import_address.py": "loads what another process names",
    "measure/candidates.py": "imports what the user names",
    "training/recipe_files.py": "runs a recipe that the user names",
    "supervision/launch.py": "runs, in a child process, the module that the parent named",
    "check/operators/subjects.py": "runs what the user names",
    "check/conformance/suite.py": "imports every file of ONNX's own test suite",
    "supervision/isolation.py": "imports, in a child process, the function that the parent named",
}
IMPORTERS = {
    "__import__",
    "import_module",
    "module_from_spec",
    "resolve_name",
    "run_module",
    "run_path",
    "spec_from_file_location",
}


def nodes(root: Path) -> Iterator[tuple[str, ast.AST]]:
    """Every piece of syntax in the package at `root`, with its file; its own __init__ is above all rows."""
    for path in sorted(set(root.rglob("*.py")) - {root / "__init__.py"}):
        file = path.relative_to(root).as_posix()
        for node in walked(path.read_text()):
            yield file, node


@cache
def walked(source: str) -> list[ast.AST]:
    """Every piece of syntax of a source: several tests walk through the same ones."""
    return [*ast.walk(ast.parse(source))]


def targets(file: str, node: ast.AST) -> list[str]:
    """The modules that an import statement names: "numpy.linalg", or ".bundle" for one of ours."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(level=0, module=module):
            return [str(module)]
        case ast.ImportFrom(level=level, module=module, names=names):
            source = file.split("/")[:-level]
            if not module:
                return ["." + ".".join([*source, alias.name]) for alias in names]
            source.append(module)
            return sorted({_imported(source, alias.name) for alias in names})
    return []


def _imported(source: list[str], name: str) -> str:
    """The module that `from source import name` names: `source`, or the room in it of that name."""
    inner_room = [*source, name] if "/".join([*source, name]) in RANK else source
    return "." + ".".join(inner_room)


def layer(file: str) -> str:
    """The room of a file; a room within a room may have a row of its own."""
    parts = file.removesuffix(".py").split("/")
    inner = "/".join(parts[:2])
    return inner if inner in RANK else parts[0]


def import_fault(root: Path, file: str, target: str) -> str | None:
    own, top = layer(file), target.lstrip(".").split(".")[0]
    if top in FRAMEWORKS and not file.startswith(f"frameworks/{FRAMEWORKS[top]}"):
        return f"only frameworks/{FRAMEWORKS[top]} imports {top}"
    if top == "deep500":
        return "imports inside the package are relative"
    if target.startswith(".") and not (
        (root / top).is_dir() or (root / f"{top}.py").is_file()
    ):
        return (
            f"nothing inside imports the package root, and {top!r} is no module of it"
        )
    room = layer(target.lstrip(".").replace(".", "/"))
    above = room != own and RANK.get(room, 0) >= RANK.get(own, 0)
    if target.startswith(".") and above and {own, room} != TOGETHER:
        return f"imports point down only, and {room} is not below {own}"
    if (
        file.startswith(STATISTICS)
        and target.startswith(".measure")
        and not _is_statistics(target)
    ):
        return "statistics never measure: they import nothing of measure but each other"
    return None


def _is_statistics(target: str) -> bool:
    return target.lstrip(".").replace(".", "/").startswith(STATISTICS.rstrip("/"))


def by_name_fault(root: Path, file: str, node: ast.AST) -> str | None:
    """What is wrong with an import by name, or with a string that names one of our modules."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in IMPORTERS:
            return "imports by name: let the registry find it, or hand it in"
        case ast.ImportFrom(names=names) if {alias.name for alias in names} & IMPORTERS:
            return "imports by name: let the registry find it, or hand it in"
        case ast.Assign(value=ast.Name(id="__package__" | "__name__")):
            return "an alias of __package__ or __name__ hides what is made of it"
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="registry"), attr="package"),
            args=[ast.Constant(value=str(kind)), *_],
        ) if file != f"{kind}/__init__.py":
            return f"only {kind}/__init__.py asks the registry for packages of {kind}"
        case ast.Constant(value=str(text)) if re.match(NAMED, text):
            return string_fault(root, file, text)
        case ast.JoinedStr(values=[ast.Constant(value=str(start)), *_]) if (
            start.startswith("deep500.")
        ):
            return "a module's name is made of parts that only a run knows"
        case (
            ast.JoinedStr()
            | ast.BinOp()
            | ast.Call(func=ast.Attribute(value=ast.Constant()))
        ):
            return made_name_fault(root, file, node)
    return None


NAMED = r"(?:from |import )?deep500(?:\.\w+)+(?::\w+)?(?: import .*)?$"


def made_name_fault(root: Path, file: str, node: ast.expr) -> str | None:
    """The same for a string that is made of __package__ or __name__."""
    own = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & {
        "__package__",
        "__name__",
    }
    if not own:
        return None
    module = ".".join(["deep500", *file.removesuffix(".py").split("/")])
    package = module.rpartition(".")[0]
    names = {"__package__": package, "__name__": module.removesuffix(".__init__")}
    try:
        text = eval(
            compile(ast.Expression(node), file, "eval"), {"__builtins__": {}, **names}
        )
    except NameError:
        return "a module's name is made of parts that only a run knows"
    return string_fault(root, file, str(text))


def string_fault(root: Path, file: str, text: str) -> str | None:
    """A string that names modules of ours may name those that its file may import."""
    for target in re.findall(r"deep500((?:\.\w+)+)", text):
        top = target.split(".")[1]
        exists = (root / top).is_dir() or (root / f"{top}.py").is_file()
        reason = import_fault(root, file, target) if exists else None
        if reason:
            return f"{text!r}: {reason}"
    return None


def source_fault(file: str, node: ast.AST) -> str | None:
    match node:
        case ast.Module() if layer(file) not in RANK:
            return f"unknown module {layer(file)!r}: add it to a row of LAYERS in tests/test_architecture.py"
        case ast.Call(func=ast.Name(id="print")) if not file.startswith(
            ("cli/", "reports/")
        ):
            return "print outside cli/ and reports/"
        case ast.Call(func=ast.Name(id="eval")):
            return "eval"
        case ast.Call(func=ast.Name(id="exec" | "compile")) if (
            file != "measure/candidates.py"
        ):
            return "exec or compile outside measure/candidates.py"
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return "star import"
        case ast.ExceptHandler(type=None):
            return "bare except"
    if {"pickle", "marshal", "shelve"} & set(targets(file, node)):
        return "a format that runs code when it is read"
    return None


def faults(root: Path) -> list[str]:
    return [
        f"{file}:{getattr(node, 'lineno', 0)}: {reason}"
        for file, node in nodes(root)
        for reason in [
            source_fault(file, node),
            *(import_fault(root, file, t) for t in targets(file, node)),
            by_name_fault(root, file, node) if file not in BY_NAME else None,
        ]
        if reason
    ]


def test_imports_point_down_and_sources_are_clean() -> None:
    assert faults(ROOT) == []


def first_imports(root: Path, rooms: set[str]) -> dict[str, set[str]]:
    """The modules of these rooms that each of their modules imports as soon as it is imported itself."""
    files = [path for room in sorted(rooms) for path in (root / room).rglob("*.py")]
    modules = {".".join(path.relative_to(root).with_suffix("").parts) for path in files}
    imports: dict[str, set[str]] = {}
    for path in files:
        file = path.relative_to(root).as_posix()
        named: set[str] = set()
        for statement in ast.parse(path.read_text()).body:
            sources = [target.lstrip(".") for target in targets(file, statement)]
            named.update(sources)
            if isinstance(statement, ast.ImportFrom) and statement.module:
                [source] = sources
                named.update(f"{source}.{alias.name}" for alias in statement.names)
        imports[file.removesuffix(".py").replace("/", ".")] = named & modules
    return imports


def circle(imports: dict[str, set[str]]) -> list[str]:
    """The modules that import each other in a circle, directly or not."""
    remaining = dict(imports)
    while True:
        free = [
            name for name, needed in remaining.items() if not needed & set(remaining)
        ]
        if not free:
            return sorted(remaining)
        for name in free:
            del remaining[name]


def test_contracts_and_graph_have_no_circle() -> None:
    assert circle(first_imports(ROOT, TOGETHER)) == []


def test_a_circle_of_contracts_and_graph_is_found(tmp_path: Path) -> None:
    files = {
        "contracts/network.py": "from ..graph.graph import Node",
        "contracts/loss.py": "from . import network",
        "graph/graph.py": "from ..contracts.operator import Operator",
        "contracts/operator.py": "def f():\n    from ..contracts.network import Network",
    }
    plant(tmp_path, files)
    assert circle(first_imports(tmp_path, TOGETHER)) == []
    plant(tmp_path, {"graph/graph.py": "from ..contracts import network"})
    assert circle(first_imports(tmp_path, TOGETHER)) == [
        "contracts.loss",
        "contracts.network",
        "graph.graph",
    ]


@pytest.mark.parametrize(
    ("file", "code", "reason"),
    [
        ("errors.py", "from . import bundle", "bundle is not below errors"),
        ("errors.py", "from .bundle import save", "bundle is not below errors"),
        (
            "measure/clock.py",
            "from ..bundle.records.html import page",
            "bundle/records is not below measure",
        ),
        (
            "bundle/reading.py",
            "from . import records",
            "bundle/records is not below bundle",
        ),
        (
            "measure/clock.py",
            "from ..bundle import records, save",
            "bundle/records is not below measure",
        ),
        ("measure/clock.py", "from ..cli import main", "cli is not below measure"),
        (
            "measure/statistics/effects.py",
            "from ..clock import now",
            "statistics never measure",
        ),
        (
            "measure/statistics/effects.py",
            "from .. import running",
            "statistics never measure",
        ),
        (
            "measure/clock.py",
            "def f():\n    from ..cli.verbs import show",
            "cli is not below measure",
        ),
        ("measure/deep/er.py", "from ...cli import main", "cli is not below measure"),
        ("measure/__init__.py", "from ..cli import main", "cli is not below measure"),
        (
            "operators/relu.py",
            "from ..frameworks import pytorch",
            "frameworks is not below operators",
        ),
        (
            "cli/verbs.py",
            "from .. import measure, __version__",
            "nothing inside imports the package root",
        ),
        ("cli/verbs.py", "import deep500", "imports inside the package are relative"),
        (
            "cli/verbs.py",
            "from deep500.measure import run",
            "imports inside the package are relative",
        ),
        ("cli/verbs.py", "import torch.nn", "only frameworks/pytorch imports torch"),
        (
            "frameworks/jax.py",
            "from torch import nn",
            "only frameworks/pytorch imports torch",
        ),
        ("novelty.py", "", "unknown module 'novelty': add it to a row of LAYERS"),
        ("bundle.py", "print(1)", "print outside"),
        ("bundle.py", "eval('1')", "eval"),
        ("bundle.py", "exec('1')", "exec or compile outside"),
        ("bundle.py", "compile('1', 'f', 'eval')", "exec or compile outside"),
        ("bundle.py", "import os, pickle", "runs code when it is read"),
        ("bundle.py", "from marshal import loads", "runs code when it is read"),
        ("bundle.py", "from os import *", "star import"),
        ("bundle.py", "try:\n    f()\nexcept:\n    raise", "bare except"),
        ("contracts/network.py", "importlib.import_module('json')", "imports by name"),
        (
            "contracts/network.py",
            "from importlib import import_module as f",
            "imports by name",
        ),
        ("operators/relu.py", "json = __import__('json')", "imports by name"),
        ("custom/operators.py", "runpy.run_module('json')", "imports by name"),
        ("custom/operators.py", "from runpy import run_path", "imports by name"),
        (
            "custom/operators.py",
            "util.spec_from_file_location('x', 'x.py')",
            "imports by name",
        ),
        (
            "contracts/network.py",
            "registry.package('frameworks', 'jax')",
            "only frameworks/__init__.py asks the registry",
        ),
        (
            "measure/clock.py",
            "TARGET = 'deep500.cli.verbs:show'",
            "cli is not below measure",
        ),
        (
            "measure/clock.py",
            "CODE = 'from deep500.cli import main'",
            "cli is not below measure",
        ),
        (
            "measure/clock.py",
            "TARGET = f\"{__package__.partition('.')[0]}.cli.verbs:show\"",
            "cli is not below measure",
        ),
        (
            "measure/clock.py",
            "TARGET = __name__.removesuffix('measure.clock') + 'cli.verbs'",
            "cli is not below measure",
        ),
        ("measure/clock.py", "'{}.x'.format(__package__, where)", "only a run knows"),
        ("measure/clock.py", "TARGET = f'{__package__}.{where}'", "only a run knows"),
        ("measure/clock.py", "TARGET = f'deep500.{where}'", "only a run knows"),
        ("measure/clock.py", "package = __package__", "an alias of __package__"),
    ],
)
def test_a_planted_fault_is_found(
    tmp_path: Path, file: str, code: str, reason: str
) -> None:
    good = {
        "bundle/__init__.py": "import re\nre.compile('x')",
        "cli/check.py": "TARGET = f\"{__package__.rpartition('.')[0]}.measure.worker:serve\"",
        "cli/verbs.py": "print(1)",
        "custom/python.py": "DOMAIN = 'deep500.custom'\nKEY = 'deep500.trainable'",
        "frameworks/__init__.py": "registry.package('frameworks', name)",
        "frameworks/pytorch.py": "import torch",
        "measure/fresh.py": "TARGET = f'{__package__}.worker'",
        "registry.py": "import importlib\nimportlib.import_module(f'{__package__}.{kind}')",
        "measure/__init__.py": "from ..bundle import save\nfrom . import candidates",
        "measure/candidates.py": "exec(compile('1', 'f', 'exec'))",
        "measure/statistics/groups.py": "from ...errors import Refused\nfrom .effects import shift",
        "errors.py": "",
        "bundle/records/html.py": "from ... import measure\nfrom ...measure.clock import now\nfrom .. import save",
    }
    plant(tmp_path, good)
    assert faults(tmp_path) == []
    plant(tmp_path, {file: code})
    assert len(found := faults(tmp_path)) == 1
    assert found[0].startswith(f"{file}:") and reason in found[0]


def test_every_file_that_may_import_by_name_does() -> None:
    importing = {file for file, node in nodes(ROOT) if by_name_fault(ROOT, file, node)}
    assert importing & set(BY_NAME) == set(BY_NAME)


def plant(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def python(code: str) -> str:
    """What a fresh Python prints for `code`."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PUBLIC = """
import importlib, json, pkgutil, types
faults = []
packages = [importlib.import_module(name) for name in NAMES]
before = {(p, name): getattr(p, name) for p in packages for name in p.__all__}
for package in packages:
    if list(package.__all__) != sorted(package.__all__):
        faults.append(f"{package.__name__}.__all__ is not sorted")
    for name in {module.name for module in pkgutil.iter_modules(package.__path__)} & set(package.__all__):
        if not isinstance(before[package, name], types.ModuleType):
            faults.append(f"{package.__name__}.{name} is also a submodule's name")
for package in packages:
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
for (package, name), value in before.items():
    if getattr(package, name) is not value:
        faults.append(f"{package.__name__}.{name} became another thing")
print(json.dumps(faults))
"""


def test_public_names_stay_what_they_are() -> None:
    assert (
        json.loads(python(PUBLIC.replace("NAMES", '["deep500", "deep500.measure"]')))
        == []
    )


def test_a_shadowed_public_name_is_found(tmp_path: Path) -> None:
    lazy = "__all__ = ['run', 'go']\ndef __getattr__(name):\n    return len if name in __all__ else [][0]\n"
    plant(tmp_path, {"planted/__init__.py": lazy, "planted/run.py": ""})
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n" + PUBLIC.replace(
        "NAMES", '["planted"]'
    )
    clash = [
        "planted.run is also a submodule's name",
        "planted.run became another thing",
    ]
    assert json.loads(python(code)) == ["planted.__all__ is not sorted", *clash]


HELP = "from deep500.cli import main; sys.argv = ['d5', '--help']; main()"


@pytest.mark.parametrize(
    "code", ["import deep500", "from deep500 import measure", HELP]
)
def test_importing_is_cheap(code: str) -> None:
    assert heavy_imports(code) == []


def test_a_heavy_import_is_found() -> None:
    assert heavy_imports("import numpy.linalg") == ["numpy"]


def heavy_imports(code: str) -> list[str]:
    run = f"import contextlib, sys\nwith contextlib.suppress(SystemExit):\n    {code}\n"
    return (
        python(f"{run}print('heavy:', *sorted(set(sys.modules) & {HEAVY}))")
        .split("heavy:")[1]
        .split()
    )


# Folders whose classes are chosen by name within their folder: `d5.codecs.TopK` is not `d5.operators.TopK`
INSTANCES = {
    "codecs",
    "collectives",
    "convolutions",
    "elementary",
    "exports",
    "frameworks",
    "initializers",
    "networks",
    "operators",
    "optimizers",
    "precisions",
    "reductions",
    "results",
    "schedules",
    "schemes",
    "topologies",
}


def ambiguous_classes(root: Path) -> list[str]:
    """Class names that stand for two things, but for definitions of different folders."""
    places: dict[str, set[Path]] = {}
    for path in sorted(root.rglob("*.py")):
        for node in walked(path.read_text()):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, set()).add(path)
    ambiguous = []
    for name, paths in places.items():
        others = [path for path in paths if not is_definition(path, name, root)]
        if len(others) > 1 or (
            others and len(paths) > 1 and name not in NAMES_OF_DEFINITIONS
        ):
            ambiguous.append(name)
    return ambiguous


# Classes that share the name of an operator of ONNX, a kind of result, a format or a scheme on purpose
NAMES_OF_DEFINITIONS = {"AllReduce", "Asv", "Recipe", "Split", "Suite"}


def is_definition(path: Path, name: str, root: Path) -> bool:
    """Whether a class is the one that its file is named after, or an optimizer of a framework's own."""
    folder = path.relative_to(root).parts[0]
    own_name = path.stem.replace("_", "") == name.lower()
    return folder in INSTANCES and (own_name or name.endswith("Optimizer"))


def test_a_class_has_a_name_of_its_own() -> None:
    assert ambiguous_classes(ROOT) == []


def test_a_class_with_the_name_of_another_is_found(tmp_path: Path) -> None:
    files = {
        "codecs/ring.py": "class Ring: ...",
        "topologies/ring.py": "class Ring: ...",
        "training/case.py": "class Case: ...",
        "contracts/case.py": "class Case: ...",
        "operators/sum.py": "class Sum: ...",
        "contracts/codec.py": "class Sum: ...",
    }
    plant(tmp_path, files)
    assert sorted(ambiguous_classes(tmp_path)) == ["Case", "Sum"]
