"""Modules beside a user's files: `import helper` finds the helper.py of the folder of the file that imports it.

Python keeps one module of a name. Two recipes or operators in two folders may each have a helper.py, so that such a
module gets a name of its own, and is never in sys.modules as plain `helper`. A package keeps its name, by which its
modules import each other: of two packages of one name, each is in sys.modules while files of its folder are imported.
"""

import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType

from .import_path import PACKAGE_FOLDERS, add_import_folder

Load = Callable[[Path], ModuleType]

# packages by the folder of theirs, while those of another folder have their names
_ASIDE: dict[str, dict[str, ModuleType]] = {}


class OwnModuleFinder(MetaPathFinder):
    """Finds a module in the folder of the file that imports it, if that is a user's and nothing installed has the name.

    `load` imports a file under a name of its own.
    """

    def __init__(self, load: Load):
        self.load = load
        self.folders: set[str] = set()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if "." in fullname:
            return None
        folder = _importing_folder()
        if folder not in self.folders:
            return None
        if fullname in _packages(Path(folder)) and not _is_installed(fullname):
            return PathFinder.find_spec(fullname, [folder])
        file = Path(folder) / f"{fullname}.py"
        if not file.is_file() or _is_installed(fullname):
            return None
        module = self.load(file)
        return ModuleSpec(module.__name__, _Loaded(module), origin=str(file))


class _Loaded(Loader):
    """Hands out a module that is there already."""

    def __init__(self, module: ModuleType):
        self.module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to do."""


@contextmanager
def own_modules(folder: Path, load: Load) -> Iterator[None]:
    """While a file of this folder is imported, and later in its functions, the modules beside it are its own."""
    add_import_folder(folder)
    finder = _finder(load)
    place = os.path.abspath(folder)
    finder.folders.add(place)
    other_packages = _other_packages(Path(place))
    hidden = {**_others(Path(place)), **other_packages}
    for name in hidden:
        del sys.modules[name]
    sys.modules.update(_ASIDE.get(place, {}))
    try:
        yield
    finally:
        if other_packages:
            _ASIDE[place] = _taken_out(set(map(_root, other_packages)))
        sys.modules.update(hidden)


def _finder(load: Load) -> OwnModuleFinder:
    for finder in sys.meta_path:
        if isinstance(finder, OwnModuleFinder):
            return finder
    first = OwnModuleFinder(load)
    sys.meta_path.insert(0, first)
    return first


def _others(folder: Path) -> dict[str, ModuleType]:
    """The modules that a script has imported from elsewhere and that have the name of a file in this folder."""
    others = {}
    for file in folder.glob("*.py"):
        module = sys.modules.get(file.stem)
        place = getattr(module, "__file__", None)
        if module is None or place is None or Path(place) == file:
            continue
        if not _is_installed(file.stem):
            others[file.stem] = module
    return others


def _other_packages(folder: Path) -> dict[str, ModuleType]:
    """The packages that were imported from elsewhere and have the name of one in this folder, with their modules."""
    roots = set()
    for name in _packages(folder):
        places = getattr(sys.modules.get(name), "__path__", None)
        if places is None or str(folder / name) in places:
            continue
        if not _is_installed(name):
            roots.add(name)
    return _modules_of(roots)


def _packages(folder: Path) -> list[str]:
    """The names of the packages in a folder."""
    return [file.parent.name for file in folder.glob("*/__init__.py")]


def _taken_out(roots: set[str]) -> dict[str, ModuleType]:
    """The modules of these packages, which are no longer in sys.modules."""
    modules = _modules_of(roots)
    for name in modules:
        del sys.modules[name]
    return modules


def _modules_of(roots: set[str]) -> dict[str, ModuleType]:
    modules = {}
    for name, module in [*sys.modules.items()]:
        if _root(name) in roots:
            modules[name] = module
    return modules


def _root(name: str) -> str:
    return name.partition(".")[0]


def _is_installed(name: str) -> bool:
    """Whether the standard library or an installed package has a module of this name."""
    if name in sys.stdlib_module_names:
        return True
    installed = [*sysconfig.get_paths().values()]
    places = []
    for folder in sys.path:
        if folder in installed or Path(folder).name in PACKAGE_FOLDERS:
            places.append(folder)
    return PathFinder.find_spec(name, places) is not None


def _importing_folder() -> str:
    """The folder of the file whose code imports something now; empty if it has none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        names = frame.f_globals
        module = str(names.get("__name__", ""))
        if module != __name__ and not module.startswith("importlib"):
            file = names.get("__file__")
            return os.path.dirname(os.path.abspath(file)) if file else ""
        frame = frame.f_back
    return ""
