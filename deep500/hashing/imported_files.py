"""The user's files that a Python file imports, directly or not: found by reading them, without running anything."""

import ast
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..import_path import is_users_path

_OUR_RECIPES = f"{Path(__file__).parents[2]}/recipes/"
# the name by which a file is recorded, and where it is
Files = Mapping[str, Path]


def import_closure(start: Iterable[Path], folder: Path) -> dict[str, Path]:
    """These files and all that they import from the user's folders, by their names relative to `folder`."""
    found: dict[Path, None] = {}
    waiting = [path.resolve() for path in start]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found[path] = None
        waiting += imported_by(path)
    by_name: dict[str, Path] = {}
    for path in sorted(found):
        name = _name(path, folder)
        while name in by_name:  # two folders may have files of one name
            name = f"other/{name}"
        by_name[name] = path
    return by_name


def file_hashes(files: Files) -> dict[str, str]:
    """The SHA-256 of every file, by its name."""
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in files.items()
    }


def imported_by(path: Path) -> set[Path]:
    """The user's files that one file imports itself, at its top or inside of functions."""
    files: set[Path] = set()
    loaded = _loaded_names()
    for node in ast.walk(syntax_tree(path)):
        for module in _modules(node, path):
            files |= module_files(module, path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            # what importlib.import_module may be given
            files |= _loaded_files(node.value)
            files |= _loaded_beside(node.value, path, loaded)
    return files - {path}


def bound_modules(path: Path) -> tuple[dict[str, set[str]], set[str]]:
    """The names that a file's imports bind, with their modules; and the modules of which it imports everything."""
    bound: dict[str, set[str]] = {}
    everything: set[str] = set()
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                bound.setdefault(name, set()).add(alias.name)
        elif isinstance(node, ast.ImportFrom):
            modules = {*_modules(node, path)}
            for alias in node.names:
                if alias.name == "*":
                    everything |= modules
                bound.setdefault(alias.asname or alias.name, set()).update(modules)
    return bound, everything


def syntax_tree(path: Path) -> ast.AST:
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def module_files(module: str, importer: Path) -> set[Path]:
    """The user's files of a dotted module, its packages included; empty if it is installed, ours or unknown."""
    top, *rest = module.split(".")
    if not top or top in sys.stdlib_module_names:
        return set()
    loaded = _loaded_files(top)
    if top in sys.modules and not loaded:
        return set()  # installed, or of no file
    bases = [importer.parent]  # modules beside a file are its own
    bases += [path.parent.parent for path in loaded if path.stem == "__init__"]
    bases += [path.parent for path in loaded if path.stem != "__init__"]
    bases += _user_folders()
    for base in bases:
        files = _in_folder(base, [top, *rest])
        if files:
            return files
    return set()


def _in_folder(base: Path, parts: list[str]) -> set[Path]:
    """The files of a dotted module below one folder, as far as they are there."""
    files: set[Path] = set()
    for part in parts:
        package = base / part / "__init__.py"
        module = base / f"{part}.py"
        if package.is_file():
            files.add(package.resolve())
        elif module.is_file():
            files.add(module.resolve())
            break
        elif not (base / part).is_dir():
            break
        base = base / part
    return {path for path in files if _is_users(path)}


def _modules(node: ast.AST, path: Path) -> Iterator[str]:
    """The dotted names of the modules that a statement may import."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level:
            module = _absolute(node.level, module, path)
        for alias in node.names:
            yield f"{module}.{alias.name}".strip(".")


def _absolute(level: int, module: str, path: Path) -> str:
    """A module that is named relative to the package of a file."""
    packages: list[str] = []
    folder = path.parent
    while (folder / "__init__.py").is_file():
        packages.insert(0, folder.name)
        folder = folder.parent
    kept = packages[: len(packages) - level + 1]
    return ".".join([*kept, module]).strip(".")


def _loaded_files(module: str) -> set[Path]:
    """The file of a module that is loaded under this name, if it is a user's."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if not file or not str(file).endswith(".py"):
        return set()
    path = Path(file).resolve()
    return {path} if _is_users(path) else set()


def _loaded_names() -> set[str]:
    """The files of all modules that are loaded."""
    modules = [*sys.modules.values()]
    return {str(getattr(module, "__file__", None)) for module in modules}


def _loaded_beside(module: str, importer: Path, loaded: set[str]) -> set[Path]:
    """The file beside the importer that has this name, if it is loaded; it is then a module of another name."""
    if not module.isidentifier():
        return set()
    file = importer.with_name(f"{module}.py")
    return {file} if str(file) in loaded and _is_users(file) else set()


def _user_folders() -> list[Path]:
    folders = []
    for entry in sys.path:
        folder = Path(entry or ".").resolve()
        if folder.is_dir() and _is_users(folder):
            folders.append(folder)
    return folders


def _is_users(path: Path) -> bool:
    """Whether a file or folder is the user's; the recipes of a checkout are ours."""
    name = f"{path}/"
    return is_users_path(name) and not name.startswith(_OUR_RECIPES)


def _name(path: Path, folder: Path) -> str:
    """The path relative to a folder above it: the recipe's, or one that modules are imported from."""
    for base in (folder.resolve(), *_user_folders()):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return os.path.basename(path)
