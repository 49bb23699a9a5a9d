"""Turns what a user names into dossiers: bundles, folders of bundles, claims files, logs of other tools."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..bundle.encoding import CHAIN
from ..contracts.declaration import Declaration
from ..contracts.dossier import Dossier, merged
from ..errors import Deep500Error, visible
from .bundles import bundle_dossier
from .claims_file import read_claims
from .studies import study

MOST_BUNDLES = 1000
CURVES = "events.out.tfevents.*"


@dataclass(frozen=True)
class Source:
    """One source with what it declares."""

    name: str
    dossier: Dossier


def read_sources(names: Sequence[str]) -> list[Source]:
    """The sources of these paths; a folder without a bundle stands for the bundles in it."""
    paths: list[Path] = []
    for name in names:
        paths += _paths(Path(name))
    return [_source(path) for path in paths]


def whole_dossier(sources: Sequence[Source]) -> Dossier:
    """All declarations, each with the name of its source if there are several; and what they say together."""
    if len(sources) == 1:
        return sources[0].dossier
    dossiers = [_prefixed(source) for source in sources]
    return merged([*dossiers, study(dossiers)])


def _paths(path: Path) -> list[Path]:
    if not path.exists():
        raise Deep500Error(
            f"no file or folder {visible(str(path))!r}: give a bundle, a claims file (.toml) or a log"
        )
    if not path.is_dir() or (path / CHAIN).exists():
        return [path]
    inner = sorted(entry for entry in path.iterdir() if is_bundle(entry))
    inner = inner or _curves(path)
    if not inner:
        raise Deep500Error(
            f"{visible(str(path))} is no bundle, and holds none and no curves of TensorBoard"
        )
    if len(inner) > MOST_BUNDLES:
        raise Deep500Error(
            f"{visible(str(path))} holds {len(inner)} bundles; at most {MOST_BUNDLES} are audited at once"
        )
    return inner


def _curves(path: Path) -> list[Path]:
    """TensorBoard's files in a folder of runs, as it writes them: one folder for each run or split."""
    found = [*path.glob(CURVES), *path.glob(f"*/{CURVES}")]
    return sorted(file for file in found if not file.is_symlink())


def is_bundle(path: Path) -> bool:
    """Whether it looks like a bundle, as a folder or as a zip."""
    if path.is_symlink():
        return False
    return path.suffix == ".zip" or (path / CHAIN).is_file()


def _source(path: Path) -> Source:
    if path.is_dir() or path.suffix == ".zip":
        return Source(path.name, bundle_dossier(path))
    if path.suffix == ".toml":
        return Source(path.name, read_claims(path))
    from ..logs import log_dossier

    return Source(path.name, log_dossier(path))


def _prefixed(source: Source) -> Dossier:
    tables: dict[str, Any] = {}
    for table in fields(Dossier):
        declarations = getattr(source.dossier, table.name)
        tables[table.name] = [_named(each, source.name) for each in declarations]
    return Dossier(**tables)


def _named(declaration: Declaration, source: str) -> Declaration:
    origin = declaration.origin
    name = f"{source}, {declaration.name}" if declaration.name else source
    if origin.file != source:
        origin = replace(origin, source=source)
    return replace(declaration, name=name, origin=origin)
