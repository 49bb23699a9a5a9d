"""Ways to spoil a bundle, with and without hashes that hold again; each is drawn from a random generator."""

import copy
import json
import os
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deep500 import bundle
from deep500.bundle import encoding

FORGED = 987654.321
HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    0.5,
    1e299,
    -1e-300,
    10**40,
    10**4000,
    2**62 - 1,
    "",
    "nan",
    "x" * 100_000,
    "<b>\x1b[31m\n\u202e|`",
    "../../../etc/passwd",
    [],
    [[]],
    [None] * 1000,
    {},
    {"": {"x": []}},
    FORGED,
)
LINKS = ("/etc/hostname", "nowhere", ".", "../secret.json")


class Mutation:
    """A copy of a bundle's files that is changed in one way and written to a folder (or a zip)."""

    def __init__(self, original: Path, folder: Path, draw: random.Random) -> None:
        self.folder, self.draw = folder, draw
        shutil.copytree(original, folder)
        self.names = sorted(path.name for path in folder.iterdir())
        self.documents = [name for name in self.names if name.endswith(".json")]

    def file(self) -> Path:
        return self.folder / self.draw.choice(self.names)

    def read(self, name: str) -> Any:
        return json.loads((self.folder / name).read_bytes())

    def write(self, name: str, document: object) -> None:
        (self.folder / name).write_bytes(bundle.canonical(document))

    def lines(self) -> list[Any]:
        data = (self.folder / "samples.jsonl").read_bytes()
        return [json.loads(line)["block"] for line in data.splitlines()]

    def seal(self, **changes: object) -> None:
        """Write a manifest that fits the files as they are now."""
        manifest = self.read("manifest.json") | changes
        del manifest["hash"]
        for name in manifest["files"]:
            if (self.folder / name).is_file():
                manifest["files"][name] = encoding.sha256(
                    (self.folder / name).read_bytes()
                )
        self.write(
            "manifest.json",
            manifest | {"hash": encoding.sha256(bundle.canonical(manifest))},
        )

    def chain(self, lines: list[Any]) -> None:
        """Write these blocks as a chain, and a manifest that fits it."""
        head, data = encoding.ZERO, b""
        for block in lines:
            head, line = encoding.link(head, block)
            data += line
        (self.folder / "samples.jsonl").write_bytes(data)
        header = lines[0]
        self.seal(
            head=head,
            blocks=len(lines) - 1,
            kind=header["kind"],
            format=header["format"],
        )

    def bind(self) -> None:
        """Let the header name the documents as they are now, and chain everything again."""
        header, *blocks = self.lines()
        for name in header["documents"]:
            header["documents"][name] = encoding.sha256(
                (self.folder / name).read_bytes()
            )
        self.chain([header, *blocks])


def places(value: object) -> list[tuple]:
    """Where the values inside a JSON value are; of a long list only some."""
    if isinstance(value, dict):
        items = list(value.items())
    else:
        items = list(enumerate(value))[:3] if isinstance(value, list) else []
    found: list[tuple] = []
    for key, inner in items:
        found += [(key,), *((key, *rest) for rest in places(inner))]
    return found


def changed(document: Any, draw: random.Random, numbers_only: bool = False) -> Any:
    """The document with one value replaced, removed, doubled or moved."""
    document = copy.deepcopy(document)
    where = [p for p in places(document) if not numbers_only or _is_number(document, p)]
    if not where:
        return draw.choice(HOSTILE)
    *path, key = draw.choice(where)
    holder = document
    for step in path:
        holder = holder[step]
    if numbers_only:
        holder[key] = draw.choice([FORGED, holder[key] * 2 + 1])
        return document
    match draw.randrange(5):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        case 2 if isinstance(holder, dict):
            holder[f"{key}2"] = holder.pop(key)
        case _:
            holder[key] = copy.deepcopy(draw.choice(HOSTILE))
    return document


def _is_number(document: Any, place: tuple) -> bool:
    for step in place:
        document = document[step]
    return type(document) in (int, float)


def flip(m: Mutation) -> None:
    path = m.file()
    data = bytearray(path.read_bytes())
    for _ in range(m.draw.choice([1, 3])):
        data[m.draw.randrange(len(data))] ^= 1 << m.draw.randrange(8)
    path.write_bytes(data)


def truncate(m: Mutation) -> None:
    path = m.file()
    os.truncate(path, m.draw.randrange(path.stat().st_size))


def remove(m: Mutation) -> None:
    for _ in range(m.draw.choice([1, 2])):
        m.file().unlink(missing_ok=True)


def swap(m: Mutation) -> None:
    a, b = m.draw.sample(m.names, 2)
    os.rename(m.folder / a, m.folder / "between")
    os.rename(m.folder / b, m.folder / a)
    os.rename(m.folder / "between", m.folder / b)


def double(m: Mutation) -> None:
    name = m.draw.choice(
        ["copy.json", ".hidden", "-rf", "a\x1b[31m", "plan.json.partial", "\n"]
    )
    shutil.copy(m.file(), m.folder / name)


def link(m: Mutation) -> None:
    path = m.file()
    path.unlink()
    os.symlink(m.draw.choice(LINKS), path)


def strange_file(m: Mutation) -> None:
    path = m.file()
    path.unlink()
    m.draw.choice([os.mkfifo, os.mkdir])(path)


def garbage(m: Mutation) -> None:
    text = m.draw.choice(
        [b"", b"[" * 10**5, b"{}", b"\xff\xfe", b"9" * 10**5, b"1e999999", b"NaN"]
    )
    m.file().write_bytes(text)


def edit(m: Mutation) -> None:
    """Change a document and leave its hash as it was."""
    name = m.draw.choice(m.documents)
    m.write(name, changed(m.read(name), m.draw))


def forge(m: Mutation) -> None:
    """Change numbers of derived.json and seal it: the samples say something else."""
    for _ in range(m.draw.choice([1, 2, 5])):
        m.write(
            "derived.json", changed(m.read("derived.json"), m.draw, numbers_only=True)
        )
    m.seal()


def reseal(m: Mutation) -> None:
    """Change a document that only the manifest binds, and seal it."""
    name = m.draw.choice([n for n in ("derived.json", "sensors.json") if n in m.names])
    m.write(name, changed(m.read(name), m.draw))
    m.seal()


def manifest(m: Mutation) -> None:
    """Change what the manifest says of itself, under a hash that fits."""
    document = changed(m.read("manifest.json"), m.draw)
    if isinstance(document, dict):
        document.pop("hash", None)
        document["hash"] = encoding.sha256(bundle.canonical(document))
    m.write("manifest.json", document)


def rebind(m: Mutation) -> None:
    """Change the plan or the environment, and chain everything anew."""
    name = m.draw.choice(["plan.json", "plan.json", "environment.json"])
    m.write(name, changed(m.read(name), m.draw))
    m.bind()


def resample(m: Mutation) -> None:
    """Change a block, and chain everything anew."""
    header, *blocks = m.lines()
    at = m.draw.randrange(len(blocks))
    block = changed(blocks[at], m.draw)
    blocks[at] = block if isinstance(block, dict) else {"block": block}
    m.chain([header, *blocks])


def reorder(m: Mutation) -> None:
    header, *blocks = m.lines()
    m.draw.shuffle(blocks)
    blocks = blocks[: m.draw.randrange(len(blocks) + 1)]
    m.chain([header, *blocks, *blocks[: m.draw.randrange(3)]])


def relabel(m: Mutation) -> None:
    """Another kind, another version, or something else in the header."""
    header, *blocks = m.lines()
    kinds = ("bench", "recipe", "check", "elementary", "conformance", "doctor", "novel")
    if m.draw.random() < 0.7:
        header["kind"] = m.draw.choice(kinds)
    else:
        header["format"] = m.draw.choice([0, 2, 99, 10**30])
    m.chain([header, *blocks])


def enlarge(m: Mutation) -> None:
    """A document with very many or very deep parts, whose hash holds."""
    parts: tuple[Any, ...] = (
        [[]] * 30_000,
        "x" * 10**6,
        dict.fromkeys(map(str, range(9999)), 1),
    )
    name = m.draw.choice(["plan.json", "derived.json", "environment.json"])
    document = m.read(name)
    document[m.draw.choice(list(document))] = m.draw.choice(parts)
    m.write(name, document)
    m.bind()


def unfinish(m: Mutation) -> None:
    """As if the run had been killed, with or without what was written at the end."""
    (m.folder / "manifest.json").unlink()
    for name in ("derived.json", "sensors.json"):
        if m.draw.random() < 0.8:
            (m.folder / name).unlink(missing_ok=True)
    flip_or_not = m.draw.choice([flip_chain, lambda m: None])
    flip_or_not(m)


def flip_chain(m: Mutation) -> None:
    path = m.folder / "samples.jsonl"
    os.truncate(path, m.draw.randrange(path.stat().st_size))


def pack(m: Mutation) -> None:
    """A zip of it that leads elsewhere, holds something twice, or is damaged."""
    packed = m.folder.with_suffix(".zip")
    prefix = m.draw.choice(["", "run/", "../", "/", "a/b/"])
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in m.names:
            archive.write(m.folder / name, prefix + name)
        if m.draw.random() < 0.3:
            archive.writestr(m.draw.choice(["../evil", "bomb"]), bytes(2**22))
    data = bytearray(packed.read_bytes())
    data[m.draw.randrange(len(data))] ^= 1 << m.draw.randrange(8)
    packed.write_bytes(data)
    shutil.rmtree(m.folder)
    m.folder = packed


MUTATIONS: tuple[Callable[[Mutation], None], ...] = (
    flip,
    truncate,
    remove,
    swap,
    double,
    link,
    strange_file,
    garbage,
    edit,
    forge,
    forge,
    reseal,
    manifest,
    rebind,
    rebind,
    rebind,
    resample,
    resample,
    reorder,
    relabel,
    enlarge,
    unfinish,
    pack,
)
