"""The files of a board: the page, the rows for programs, the log, and every bundle with its report."""

import io
import re
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ..bundle.containers import open_container
from ..bundle.records.loading import rendered, report_of
from ..errors import Deep500Error
from ..reports.blocks import Block, Details, Figures, PageOnly, Report, Section
from ..reports.html import html
from . import change_log
from .audits import audit_page
from .building import Built
from .collecting import Candidate
from .exports import board_csv, board_json
from .page import board_page
from .pictures import board_pictures

FOLDERS = ("bundles", "reports", "audits")
OWN_FILE = re.compile(r"[0-9a-f]{16}\.(zip|html)")
BOARD = "board.json"
LONGEST_BUNDLE = 1 << 28  # bytes that are copied
# the earliest date of a zip: two builds give the same bytes
MADE_AT = (1980, 1, 1, 0, 0, 0)


def write_site(folder: Path, built: Built, out: Path) -> None:
    """Write the site into a new or empty folder, or over an earlier one; the same board gives the same bytes."""
    _check_folder(out)
    files = _files(folder, built)
    try:
        for name in FOLDERS:
            (out / name).mkdir(parents=True, exist_ok=True)
        _remove_old(out, files)
        for name, data in files.items():
            (out / name).write_bytes(data)
    except OSError as error:
        raise Deep500Error(f"{out} cannot be written: {error.strerror}") from None


def _check_folder(out: Path) -> None:
    """Raise a Deep500Error if the folder holds something else than a site."""
    if out.exists() and not out.is_dir():
        raise Deep500Error(f"{out} is no folder: give another one with --out")
    is_empty = not out.exists() or not any(out.iterdir())
    if not is_empty and not (out / BOARD).is_file():
        raise Deep500Error(
            f"{out} is not empty, and no board was written there: give another one with --out"
        )


def _files(folder: Path, built: Built) -> dict[str, bytes]:
    """All files of the site by their paths."""
    board = built.board
    page = board_page(board, board_pictures(board))
    files = {
        "index.html": page.encode(),
        BOARD: board_json(board),
        "board.csv": board_csv(board).encode(),
        "board.jsonl": b"",
    }
    log = folder / change_log.LOG
    if log.is_file():
        files["board.jsonl"] = log.read_bytes()
    for candidate in _bundles(built.candidates):
        name = candidate.manifest[:16]
        files[f"bundles/{name}.zip"] = _packed(candidate.path)
        files[f"reports/{name}.html"] = _report(candidate).encode()
        audit = audit_page(candidate.path)
        if audit is not None:
            files[f"audits/{name}.html"] = audit
    return files


def _bundles(candidates: Sequence[Candidate]) -> list[Candidate]:
    """One candidate of every bundle."""
    return [*{candidate.manifest: candidate for candidate in candidates}.values()]


def _remove_old(out: Path, files: Mapping[str, bytes]) -> None:
    """Remove what an earlier board has written and this one does not have."""
    for name in FOLDERS:
        for path in (out / name).iterdir():
            is_ours = OWN_FILE.fullmatch(path.name) and not path.is_dir()
            if is_ours and f"{name}/{path.name}" not in files:
                path.unlink()


def _packed(path: Path) -> bytes:
    """The files of a bundle as a zip, which depends on nothing but their contents."""
    packed = io.BytesIO()
    with closing(open_container(path)) as source:
        size = sum(source.sizes.values())
        if size > LONGEST_BUNDLE:
            raise Deep500Error(
                f"{path} has {size} bytes: a board copies at most {LONGEST_BUNDLE} of one bundle"
            )
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as target:
            for name in sorted(source.sizes):
                entry = zipfile.ZipInfo(name, MADE_AT)
                target.writestr(entry, source.read(name))
    return packed.getvalue()


def _report(candidate: Candidate) -> str:
    """The report of a bundle without its pictures, which take a second each: `d5 report` draws them."""
    # where the organiser keeps it is nobody's business: the site has a copy
    copy = f"bundles/{candidate.manifest[:16]}.zip"
    report = report_of(replace(candidate.record, bundle=copy))
    plain = Report(
        report.kicker, report.title, _undrawn(report.blocks), report.problems
    )
    return rendered(html, plain)


def _undrawn(blocks: Sequence[Block]) -> list[Block]:
    kept: list[Block] = []
    for block in blocks:
        match block:
            case Figures():
                continue
            case Section(title, inner, quiet):
                block = Section(title, _undrawn(inner), quiet)
            case Details(summary, inner, long):
                block = Details(summary, _undrawn(inner), long)
            case PageOnly(inner):
                block = PageOnly(_undrawn(inner))
        kept.append(block)
    return kept
