"""Read and check a bundle that may be damaged, unfinished, newer, or made to do harm."""

import os
from collections.abc import Callable, Set
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import Deep500Error
from .containers import (
    Container,
    Damage,
    open_container,
    show,
)
from .encoding import (
    ATTESTATION,
    ATTESTATION_LIMIT,
    CHAIN,
    CHAIN_LIMIT,
    FORMAT,
    HASH,
    MANIFEST,
    NAME,
    PARSE_LIMIT,
    TEMPORARY,
    ZERO,
    Blocks,
    Documents,
    Tally,
    canonical,
    is_document,
    parse,
    sha256,
    temporary,
    unlink,
)

_HEADER_FIELDS = {"format": int, "kind": str, "created": str, "documents": dict}
_MANIFEST_FIELDS = {"format": int, "kind": str, "created": str, "finished": str}
_MANIFEST_FIELDS |= {"files": dict, "head": str, "blocks": int, "hash": str}

# Format n -> n + 1: documents and blocks as they were, to what they are now. Chain and manifest never change.
_MIGRATIONS: dict[int, Callable[[Documents, Blocks], tuple[Documents, Blocks]]] = {}


@dataclass
class Bundle:
    """What a bundle holds: only what its hashes vouch for. Whatever else is wrong is a line in `problems`."""

    path: Path
    finished: bool
    kind: str = ""
    format: int = FORMAT
    created: str = ""
    hash: str | None = (
        None  # the manifest's own: it names this result and every byte of it
    )
    head: str = ZERO
    documents: Documents = field(default_factory=dict)
    blocks: Blocks = field(default_factory=list)  # without the header
    files: dict[str, str] = field(
        default_factory=dict
    )  # all others: name -> sha256; load() reads one
    hashes: dict[str, str] = field(
        default_factory=dict
    )  # of the documents that were given at creation
    attestations: list[str] = field(
        default_factory=list
    )  # signatures and time stamps of the manifest; read_attestations() reads them
    lost_bytes: int = 0  # the torn last line of an unfinished bundle
    leftovers: list[str] = field(
        default_factory=list
    )  # what a killed finish() left; resume() removes it
    problems: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally, repr=False, compare=False)

    def load(self, name: str) -> bytes:
        """The bytes of one of `files`, checked again."""
        with closing(open_container(self.path)) as source:
            data = source.read(name) if name in source.sizes else b""
        if sha256(data) != self.files.get(name):
            raise Deep500Error(
                f"{self.path}: {show(name)} is not one of its files, or was changed"
            )
        return data


def read(path: str | os.PathLike[str]) -> Bundle:
    """Read and check a folder or a zip of it; raises only for what is no bundle, too new, or hostile."""
    path = Path(path)
    with closing(open_container(path)) as source:
        names = source.sizes.keys() | source.strange.keys()
        if not names & {CHAIN, MANIFEST}:
            raise Deep500Error(
                f"{path} is no bundle: it holds neither {CHAIN} nor {MANIFEST}"
            )
        bundle = Bundle(path, finished=MANIFEST in names)
        bundle.problems += [
            f"{show(name)}: {what}" for name, what in sorted(source.strange.items())
        ]
        manifest = _read_manifest(source, bundle)
        _read_chain(source, bundle)
        if manifest:
            _match(bundle, manifest)
        promised = manifest["files"] if manifest else bundle.hashes
        _read_files(source, bundle, promised)
        if manifest or not bundle.finished:
            _read_extras(
                source,
                bundle,
                source.sizes.keys() - promised.keys() - {CHAIN, MANIFEST},
            )
    if not bundle.problems:
        for number in range(bundle.format, FORMAT):
            bundle.documents, bundle.blocks = _MIGRATIONS[number](
                bundle.documents, bundle.blocks
            )
    return bundle


def read_attestations(path: str | os.PathLike[str]) -> tuple[bytes, dict[str, bytes]]:
    """The manifest of a finished bundle as it is stored, and what is said about it by file; no hash is checked.

    A file that is too long to be a signature or a time stamp is empty here.
    """
    with closing(open_container(Path(path))) as source:
        said: dict[str, bytes] = {}
        if MANIFEST not in source.sizes:
            return b"", said
        for name in sorted(filter(ATTESTATION.fullmatch, source.sizes)):
            small = source.sizes[name] <= ATTESTATION_LIMIT
            said[name] = source.read(name, ATTESTATION_LIMIT) if small else b""
        return source.read(MANIFEST, PARSE_LIMIT), said


def _read_manifest(source: Container, bundle: Bundle) -> dict[str, Any]:
    """The manifest, or an empty one when there is none that can be believed."""
    if MANIFEST not in source.sizes:
        return {}
    try:
        data = source.read(MANIFEST, PARSE_LIMIT)
        manifest = _checked(parse(data), _MANIFEST_FIELDS, "files")
        if _recoded(manifest) != data:
            raise Damage("not in canonical form, it was changed")
        bundle.hash = sha256(
            _recoded(
                {name: value for name, value in manifest.items() if name != "hash"}
            )
        )
        if bundle.hash != manifest["hash"]:
            raise Damage("its hash is not the hash of its content")
    except Damage as error:
        bundle.problems.append(f"{MANIFEST}: {error}")
        bundle.hash = None
        return {}
    bundle.documents[MANIFEST] = manifest
    return manifest


def _recoded(document: object) -> bytes:
    try:
        return canonical(document)
    except Deep500Error as error:
        raise Damage(str(error)) from None


def _checked(found: object, fields: dict[str, type], hashes: str) -> dict[str, Any]:
    """`found`, if it is an object with exactly these fields; a plain Deep500Error if it is too new."""
    if not isinstance(found, dict):
        raise Damage("not an object")
    number = found.get("format")
    if type(number) is int and number > FORMAT:
        known = f"bundle format {str(number)[:20]} is newer than this Deep500 reads ({FORMAT})"
        raise Deep500Error(f"{known}: upgrade deep500-bench")
    if {name: type(value) for name, value in found.items()} != fields or found[
        "format"
    ] < 1:
        raise Damage("its fields, or their types, are not those of a bundle")
    for name, digest in found[hashes].items():
        if not (
            NAME.fullmatch(name) and isinstance(digest, str) and HASH.fullmatch(digest)
        ):
            raise Damage(f"its {hashes} are not names with hashes")
    try:
        for moment in found.keys() & {"created", "finished"}:
            datetime.fromisoformat(found[moment])
    except ValueError:
        raise Damage("its times are not times") from None
    return found


def _read_chain(source: Container, bundle: Bundle) -> None:
    if CHAIN not in source.sizes:
        bundle.problems += [f"{CHAIN}: missing"] if CHAIN not in source.strange else []
        return
    if source.sizes[CHAIN] > CHAIN_LIMIT:
        raise Deep500Error(
            f"{bundle.path}: refused: {CHAIN} has more than {CHAIN_LIMIT} bytes"
        )
    number = 0
    try:
        for number, line in enumerate(source.lines(CHAIN, PARSE_LIMIT)):
            if too_much := bundle.tally.add(line):
                raise Deep500Error(f"{bundle.path}: refused: {too_much}")
            if not line.endswith(b"\n"):
                bundle.lost_bytes = len(line)
                break
            head, block = unlink(bundle.head, line)
            if number:
                bundle.blocks.append(block)
            else:
                _read_header(bundle, block)
            bundle.head = head
    except Damage as error:
        bundle.problems.append(f"{CHAIN}: line {number + 1}: {error}")
    else:
        if bundle.head == ZERO:
            bundle.problems.append(f"{CHAIN}: it has no header line")
        if bundle.lost_bytes and bundle.finished:
            bundle.problems.append(f"{CHAIN}: its last line has no end")


def _read_header(bundle: Bundle, header: dict[str, Any]) -> None:
    _checked(header, _HEADER_FIELDS, "documents")
    if not NAME.fullmatch(header["kind"]) or not all(
        map(is_document, header["documents"])
    ):
        raise Damage("not the header of a bundle")
    bundle.format, bundle.kind, bundle.created = (
        header["format"],
        header["kind"],
        header["created"],
    )
    bundle.hashes = header["documents"]


def _match(bundle: Bundle, manifest: dict[str, Any]) -> None:
    """What the manifest says against what the chain says."""
    chain = {"format": bundle.format, "kind": bundle.kind, "created": bundle.created}
    chain |= {"head": bundle.head, "blocks": len(bundle.blocks)}
    wrong = [name for name, value in chain.items() if manifest[name] != value]
    if (
        wrong
        or not bundle.hashes.items() <= manifest["files"].items()
        or CHAIN not in manifest["files"]
    ):
        bundle.problems.append(
            f"{MANIFEST}: it does not fit {CHAIN} ({', '.join(wrong or ['files'])})"
        )


def _read_files(source: Container, bundle: Bundle, promised: dict[str, str]) -> None:
    for name, digest in sorted(promised.items()):
        if name in source.strange:
            continue
        try:
            if name not in source.sizes:
                raise Damage("missing")
            data = source.read(name, PARSE_LIMIT) if is_document(name) else b""
            if digest != (sha256(data) if is_document(name) else source.digest(name)):
                raise Damage("its content is not what its hash says")
            if is_document(name):
                bundle.documents[name] = parse(data)
            elif name != CHAIN:
                bundle.files[name] = digest
        except Damage as error:
            bundle.problems.append(f"{name}: {error}")


def _read_extras(source: Container, bundle: Bundle, extras: Set[str]) -> None:
    """Files that nothing vouches for: what a killed finish() left is no problem, anything else is."""
    pending: object = None
    if not bundle.finished and temporary(MANIFEST) in extras:
        try:  # it was complete on disk before the first file got its name
            pending = parse(source.read(temporary(MANIFEST), PARSE_LIMIT))
        except Damage:
            pending = None  # it was not: then no file had got its name
    files = pending.get("files") if isinstance(pending, dict) else None
    begun = files.keys() if isinstance(files, dict) else set()
    for name in sorted(extras):
        if not bundle.finished and (name in begun or TEMPORARY.fullmatch(name)):
            bundle.leftovers.append(name)
        elif bundle.finished and ATTESTATION.fullmatch(name):
            bundle.attestations.append(name)
        else:
            bundle.problems.append(
                f"{show(name)}: no part of the bundle, its manifest does not name it"
            )
