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

_HEADER_FIELDS = {
    "format": int,
    "kind": str,
    "created": str,
    "documents": dict,
}
_MANIFEST_FIELDS = {
    "format": int,
    "kind": str,
    "created": str,
    "finished": str,
    "files": dict,
    "head": str,
    "blocks": int,
    "hash": str,
}

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
    # the manifest's own: it names this result and every byte of it
    hash: str | None = None
    head: str = ZERO
    documents: Documents = field(default_factory=dict)
    blocks: Blocks = field(default_factory=list)  # without the header
    # all others: name -> sha256; load() reads one
    files: dict[str, str] = field(default_factory=dict)
    # SHA-256 of the documents that were given at creation
    hashes: dict[str, str] = field(default_factory=dict)
    # signatures and time stamps of the manifest; read_attestations() reads them
    attestations: list[str] = field(default_factory=list)
    lost_bytes: int = 0  # the torn last line of an unfinished bundle
    # what a killed finish() left; resume() removes it
    leftovers: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally, repr=False, compare=False)

    def load(self, name: str) -> bytes:
        """The bytes of one of `files`, checked again."""
        with closing(open_container(self.path)) as source:
            data = b""
            if name in source.sizes:
                data = source.read(name)
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
        for name, kind in sorted(source.strange.items()):
            bundle.problems.append(f"{show(name)}: {kind}")
        manifest = _read_manifest(source, bundle)
        _read_chain(source, bundle)
        promised = bundle.hashes
        if manifest:
            _match(bundle, manifest)
            promised = manifest["files"]
        _read_files(source, bundle, promised)
        if manifest or not bundle.finished:
            extras = source.sizes.keys() - promised.keys()
            extras -= {CHAIN, MANIFEST}
            _read_extras(source, bundle, extras)
    if not bundle.problems:
        _migrate(bundle)
    return bundle


def _migrate(bundle: Bundle) -> None:
    """Bring the documents and blocks of an older format to the present one."""
    for number in range(bundle.format, FORMAT):
        migration = _MIGRATIONS[number]
        migrated = migration(bundle.documents, bundle.blocks)
        bundle.documents, bundle.blocks = migrated


def read_attestations(
    path: str | os.PathLike[str],
) -> tuple[bytes, dict[str, bytes]]:
    """The manifest of a finished bundle as it is stored, and what is said about it by file; no hash is checked.

    A file that is too long to be a signature or a time stamp is empty here.
    """
    with closing(open_container(Path(path))) as source:
        attestations: dict[str, bytes] = {}
        if MANIFEST not in source.sizes:
            return b"", attestations
        for name in sorted(filter(ATTESTATION.fullmatch, source.sizes)):
            attestations[name] = b""
            if source.sizes[name] <= ATTESTATION_LIMIT:
                attestations[name] = source.read(name, ATTESTATION_LIMIT)
        return source.read(MANIFEST, PARSE_LIMIT), attestations


def _read_manifest(source: Container, bundle: Bundle) -> dict[str, Any]:
    """The manifest, or an empty dictionary if there is none or it is damaged."""
    if MANIFEST not in source.sizes:
        return {}
    try:
        data = source.read(MANIFEST, PARSE_LIMIT)
        manifest = _checked(parse(data), _MANIFEST_FIELDS, "files")
        if _recoded(manifest) != data:
            raise Damage("not in canonical form, it was changed")
        content = dict(manifest)
        promised_hash = content.pop("hash")
        bundle.hash = sha256(_recoded(content))
        if bundle.hash != promised_hash:
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


def _checked(document: object, fields: dict[str, type], hashes: str) -> dict[str, Any]:
    """The document, if it is an object with exactly these fields; a plain Deep500Error if it is too new."""
    if not isinstance(document, dict):
        raise Damage("not an object")
    number = document.get("format")
    if type(number) is int and number > FORMAT:
        version = str(number)[:20]
        raise Deep500Error(
            f"bundle format {version} is newer than this Deep500 reads ({FORMAT}): upgrade deep500-bench"
        )
    types = {name: type(value) for name, value in document.items()}
    if types != fields or document["format"] < 1:
        raise Damage("its fields, or their types, are not those of a bundle")
    for name, digest in document[hashes].items():
        is_hash = isinstance(digest, str) and HASH.fullmatch(digest)
        if not NAME.fullmatch(name) or not is_hash:
            raise Damage(f"its {hashes} are not names with hashes")
    try:
        for moment in document.keys() & {"created", "finished"}:
            datetime.fromisoformat(document[moment])
    except ValueError:
        raise Damage("its times are not times") from None
    return document


def _read_chain(source: Container, bundle: Bundle) -> None:
    if CHAIN not in source.sizes:
        if CHAIN not in source.strange:
            bundle.problems.append(f"{CHAIN}: missing")
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
    documents = header["documents"]
    are_documents = all(map(is_document, documents))
    if not NAME.fullmatch(header["kind"]) or not are_documents:
        raise Damage("not the header of a bundle")
    bundle.format = header["format"]
    bundle.kind = header["kind"]
    bundle.created = header["created"]
    bundle.hashes = documents


def _match(bundle: Bundle, manifest: dict[str, Any]) -> None:
    """Record a problem if the manifest does not match the chain."""
    chain = {
        "format": bundle.format,
        "kind": bundle.kind,
        "created": bundle.created,
        "head": bundle.head,
        "blocks": len(bundle.blocks),
    }
    wrong = [name for name, value in chain.items() if manifest[name] != value]
    files = manifest["files"]
    has_documents = bundle.hashes.items() <= files.items()
    if not wrong and (not has_documents or CHAIN not in files):
        wrong = ["files"]
    if wrong:
        names = ", ".join(wrong)
        bundle.problems.append(f"{MANIFEST}: it does not fit {CHAIN} ({names})")


def _read_files(source: Container, bundle: Bundle, promised: dict[str, str]) -> None:
    for name, digest in sorted(promised.items()):
        if name in source.strange:
            continue
        try:
            _read_file(source, bundle, name, digest)
        except Damage as error:
            bundle.problems.append(f"{name}: {error}")


def _read_file(source: Container, bundle: Bundle, name: str, digest: str) -> None:
    if name not in source.sizes:
        raise Damage("missing")
    if is_document(name):
        data = source.read(name, PARSE_LIMIT)
        actual = sha256(data)
    else:
        actual = source.digest(name)
    if digest != actual:
        raise Damage("its content is not what its hash says")
    if is_document(name):
        bundle.documents[name] = parse(data)
    elif name != CHAIN:
        bundle.files[name] = digest


def _read_extras(source: Container, bundle: Bundle, extras: Set[str]) -> None:
    """Files that nothing vouches for: what a killed finish() left is no problem, anything else is."""
    pending: object = None
    if not bundle.finished and temporary(MANIFEST) in extras:
        try:  # it was complete on disk before the first file got its name
            pending = parse(source.read(temporary(MANIFEST), PARSE_LIMIT))
        except Damage:
            pending = None  # it was not: then no file had got its name
    files = None
    if isinstance(pending, dict):
        files = pending.get("files")
    begun: Set[str] = set()
    if isinstance(files, dict):
        begun = files.keys()
    for name in sorted(extras):
        is_leftover = name in begun or TEMPORARY.fullmatch(name)
        if not bundle.finished and is_leftover:
            bundle.leftovers.append(name)
        elif bundle.finished and ATTESTATION.fullmatch(name):
            bundle.attestations.append(name)
        else:
            bundle.problems.append(
                f"{show(name)}: no part of the bundle, its manifest does not name it"
            )
