"""Writes a fooled copy of a bundle, as a bundle or as a folder of several."""

from collections.abc import Sequence
from pathlib import Path

from ..errors import Deep500Error
from .draft import draft_of
from .ways import WAYS

MARK = "fooled"


def fool(bundle: Path, way: int, out: Path) -> Sequence[Path]:
    """The bundles that were written; a Deep500Error if the way does not fit this bundle."""
    if way not in WAYS:
        raise Deep500Error(f"there is no way {way}: give one from 1 to {len(WAYS)}")
    if MARK not in out.name:
        raise Deep500Error(
            f"{out.name!r} must contain {MARK!r}: nothing else says that the result is no honest one"
        )
    if out.exists():
        raise Deep500Error(f"{out} exists already: choose another name")
    drafts = WAYS[way](draft_of(bundle))
    written = []
    for name, draft in drafts.items():
        folder = out / f"{MARK}-{name}" if name else out
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft.seal(folder)
        written.append(folder)
    return written


def ways_text() -> str:
    """All ways, one per line."""
    lines = [(function.__doc__ or "").strip() for function in WAYS.values()]
    return "\n".join(lines)
