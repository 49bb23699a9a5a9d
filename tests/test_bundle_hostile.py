"""Whatever a stranger puts into a bundle ends in one line: an error or a problem, never a traceback, never a leak."""

import json
import os
import socket
import stat
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deep500 import bundle
from deep500.bundle import containers, encoding
from deep500.errors import Deep500Error

DOCUMENTS: dict[str, object] = {"plan.json": {"a": [1, 2.5]}}
NAMES = ["plan.json", "samples.jsonl", "derived.json", "weights.bin", "manifest.json"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path / "bundle")


def make(folder: Path) -> Path:
    writer = bundle.create(folder, DOCUMENTS)
    writer.append({"ns": [1, 2, 3]})
    writer.finish({"derived.json": {"b": None}}, {"weights.bin": b"\x00\x01"})
    return folder


def complaint(path: Path) -> str:
    """The one line that reading gives: the error, or the first problem."""
    try:
        problems = bundle.read(path).problems
    except Deep500Error as error:
        problems = [str(error)]
    assert problems, "nothing was noticed"
    assert all(line.isprintable() for line in problems)
    return problems[0]


def reseal(folder: Path, change: Callable[[dict], object]) -> None:
    """Change the manifest as a forger would, with a hash that fits again."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest.pop("hash")
    change(manifest)
    manifest.setdefault("hash", encoding.sha256(bundle.canonical(manifest)))
    (folder / "manifest.json").write_bytes(bundle.canonical(manifest))


def replaced(key: str, value: object) -> Callable[[dict], object]:
    return lambda manifest: manifest.update({key: value})


def rehash(folder: Path, name: str, digest: object) -> None:
    """Say in the manifest that this file has this hash."""
    reseal(folder, lambda manifest: manifest["files"].update({name: digest}))


def rechain(folder: Path, header: object, *blocks: object) -> None:
    """An unfinished bundle with these values in a chain whose hashes fit."""
    head, lines = encoding.ZERO, []
    for block in (header, *blocks):
        head, line = encoding.link(head, block)  # type: ignore[arg-type]
        lines.append(line)
    (folder / "samples.jsonl").write_bytes(b"".join(lines))
    for name in ("manifest.json", "derived.json", "weights.bin"):
        (folder / name).unlink(missing_ok=True)


DEEP = b"[" * 10**6 + b"]" * 10**6
BAD_JSON = [
    b"", b" ", b"{", b"NaN", b'{"a": Infinity}', b'{"a": -Infinity}', b"1e999", b'{"a": 1, "a": 2}', DEEP,
    b'{"a":' * 10**5, b"9" * 5000, b'"\xff"', b"\xef\xbb\xbf{}", b"\0", b"{} {}", b"'a'", "{}".encode("utf-16"),
]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["plan.json", "derived.json", "manifest.json", "samples.jsonl"]
)
def test_bad_json_is_one_line_in_every_file(folder: Path, name: str) -> None:
    for data in BAD_JSON:
        (folder / name).write_bytes(data)
        # let it pass the hashes: the parser must say no
        if name in ("plan.json", "derived.json"):
            rehash(folder, name, encoding.sha256(data))
        complaint(folder)
        assert any(
            line.startswith(f"{name}: ") for line in bundle.read(folder).problems
        )


def test_bad_json_in_a_chain_whose_hashes_fit(folder: Path) -> None:
    lines = (folder / "samples.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "manifest.json").unlink()
    (folder / "derived.json").unlink()
    (folder / "weights.bin").unlink()
    head = json.loads(lines[0])["chain"]
    for data in [*BAD_JSON, b"[1]", b"3", b"null", b"{}}", b"{}x}"]:
        block = (
            data
            if data.startswith(b"{") and data.endswith(b"}")
            else b'{"a":' + data + b"}"
        )
        line = b'{"chain":"%s","block":%s}\n' % (
            encoding.sha256(head.encode() + block).encode(),
            block,
        )
        (folder / "samples.jsonl").write_bytes(lines[0] + line)
        try:
            json.loads(block, parse_constant=lambda text: 1 / 0)
            fine = data in (b"[1]", b"3", b"null")
        except (ValueError, RecursionError, ZeroDivisionError):
            fine = False
        assert (bundle.read(folder).problems == []) == fine, data[:50]
        if not fine:
            assert complaint(folder).startswith("samples.jsonl: line 2: ")


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -1, 1.5, "x", [], {}, ["x"], {"x": 1}, "../../etc/passwd", 10**30],
)
def test_wrong_types_in_manifest_and_header(folder: Path, value: object) -> None:
    (folder / "manifest.json").write_bytes(bundle.canonical(value))
    assert "manifest.json" in complaint(folder)
    make(folder.parent / "again")
    (folder / "manifest.json").write_bytes(
        (folder.parent / "again" / "manifest.json").read_bytes()
    )
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for key in manifest:
        reseal(folder, replaced(key, value))
        assert complaint(folder)
        (folder / "manifest.json").write_bytes(bundle.canonical(manifest))
    for name in ("../evil.json", "/etc/passwd", "a/b", "a\0b", "plan.json"):
        rehash(folder, name, value)
        assert complaint(folder)
    header = json.loads((folder / "samples.jsonl").read_bytes().splitlines()[0])[
        "block"
    ]
    for key in header:
        rechain(folder, header | {key: value}, {"ns": []})
        if not (key == "kind" and value == "x") and not (
            key == "documents" and value == {}
        ):
            assert complaint(folder)
        else:
            bundle.read(folder)


def test_a_manifest_cannot_make_it_read_elsewhere(folder: Path) -> None:
    (folder.parent / "secret.json").write_text('"secret"')
    digest = encoding.sha256(b'"secret"')
    for name in ("../secret.json", str(folder.parent / "secret.json")):
        rehash(folder, name, digest)
        assert "names with hashes" in complaint(folder)
    os.symlink("../secret.json", folder / "linked.json")
    reseal(
        folder, lambda m: [m["files"].pop(n) for n in list(m["files"]) if "secret" in n]
    )
    reseal(folder, lambda m: m["files"].update({"linked.json": digest}))
    assert complaint(folder) == "linked.json: a symbolic link"
    assert "linked.json" not in bundle.read(folder).documents


@pytest.mark.parametrize("name", [*NAMES, "extra"])
@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder", "socket", "dangling"])
def test_links_pipes_sockets_and_folders_are_not_opened(
    folder: Path, name: str, kind: str, monkeypatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / name).unlink(missing_ok=True)
    if kind == "symlink":
        os.symlink("/etc/hostname", name)
    elif kind == "dangling":
        os.symlink("nowhere", name)
    elif kind == "fifo":
        os.mkfifo(name)
    elif kind == "folder":
        os.mkdir(name)
    else:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(name)
    assert any(line.startswith(f"{name}: ") for line in bundle.read(folder).problems)
    if name == "samples.jsonl":
        with pytest.raises(Deep500Error):
            bundle.resume(folder)


def test_opening_never_follows_a_link_that_appears_after_the_listing(
    folder: Path,
) -> None:
    source = containers.open_container(folder)
    (folder / "plan.json").unlink()
    os.symlink("/etc/hostname", folder / "plan.json")
    (folder / "derived.json").unlink()
    os.mkfifo(folder / "derived.json")
    for name in ("plan.json", "derived.json"):
        with pytest.raises(Deep500Error, match="cannot be read"):
            source.read(name)
    source.close()


def test_names_that_could_harm_a_terminal_are_escaped(folder: Path) -> None:
    for name in (b"\x1b[31mred", b"a\nb", b"\xff\xfe", "☃".encode(), b"-rf"):
        (folder / os.fsdecode(name)).write_bytes(b"")
    assert len(bundle.read(folder).problems) == 5
    complaint(folder)


def test_what_is_no_bundle(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("hello")
    os.mkfifo(tmp_path / "pipe")
    os.symlink("loop", tmp_path / "loop")
    for name in (
        "empty",
        "text",
        "pipe",
        "loop",
        "missing",
        "nul\0",
        "text/below",
        "x" * 300,
    ):
        with pytest.raises(Deep500Error):
            bundle.read(tmp_path / name)


def test_sizes_are_checked_before_reading(folder: Path) -> None:
    os.truncate(folder / "weights.bin", 2**30 + 1)
    with pytest.raises(
        Deep500Error, match=r"weights.bin has 1073741825 bytes, more than 1073741824"
    ):
        bundle.read(folder)
    os.truncate(folder / "weights.bin", 2**30)
    for number in range(4):
        with open(folder / f"x{number}", "wb") as file:
            file.truncate(2**30)
    with pytest.raises(Deep500Error, match="in all"):
        bundle.read(folder)


def test_long_lines_and_documents_are_not_parsed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("reading", "writing"):
        monkeypatch.setattr(f"deep500.bundle.{module}.PARSE_LIMIT", 10_000)
    with pytest.raises(Deep500Error, match="bytes"):
        bundle.create(folder / "x", {"plan.json": "x" * 10_000})
    writer = bundle.create(folder.parent / "y", {})
    with pytest.raises(Deep500Error, match="bytes"):
        writer.append({"x": "x" * 10_000})
    writer.close()
    with open(folder / "samples.jsonl", "ab") as file:
        file.write(b"x" * 10_000)
    assert "longer than" in complaint(folder)


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    [
        ("BLOCK_LIMIT", 3, "more than 3 blocks"),
        ("CHAIN_LIMIT", 2000, "more than 2000 bytes"),
        ("VALUE_LIMITS", {b"[": 5}, "more values than are kept"),
    ],
)
def test_a_chain_that_is_too_much_is_refused_by_writer_and_reader(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: object,
    said: str,
) -> None:
    def write(folder: Path) -> None:
        writer = bundle.create(folder, {})
        for _ in range(20):
            writer.append({"ns": [1, 2, 3]})
        writer.close()

    write(tmp_path / "large")
    monkeypatch.setattr(encoding, limit, value)
    # the size of the file is looked at before the first line
    if limit == "CHAIN_LIMIT":
        monkeypatch.setattr("deep500.bundle.reading.CHAIN_LIMIT", value)
    with pytest.raises(Deep500Error, match=f"refused: samples.jsonl has {said}"):
        bundle.read(tmp_path / "large")
    with pytest.raises(Deep500Error, match=f"is full: samples.jsonl has {said}"):
        write(tmp_path / "larger")


def test_very_many_small_parts_are_not_parsed(folder: Path) -> None:
    data = b"[" + b"[]," * 1_000_000 + b"[]]"
    (folder / "derived.json").write_bytes(data)
    rehash(folder, "derived.json", encoding.sha256(data))
    assert complaint(folder) == (
        "derived.json: more than the 1000000 lists and objects that are read"
    )


def pack(
    path: Path,
    entries: Sequence[tuple[str | zipfile.ZipInfo, bytes]],
    method: int = zipfile.ZIP_DEFLATED,
) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return path


def contents(folder: Path) -> list[tuple[str | zipfile.ZipInfo, bytes]]:
    return [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../evil", "leads elsewhere"), ("/etc/passwd", "leads elsewhere"), ("a/b", "leads elsewhere"),
        ("a\\b", "leads elsewhere"), ("..", "leads elsewhere"), ("C:evil", "leads elsewhere"), ("plan.json", "twice"),
        ("a\0b", "leads elsewhere"), ("sub/", "regular file"), ("\x1b[31m", "leads elsewhere"),
    ],
)  # fmt: skip
def test_zip_entries_that_lead_elsewhere(folder: Path, name: str, reason: str) -> None:
    entry: str | zipfile.ZipInfo = name
    if "\0" in name:
        entry = zipfile.ZipInfo("axb")
        packed = pack(folder.parent / "b.zip", [*contents(folder), (entry, b"")])
        packed.write_bytes(packed.read_bytes().replace(b"axb", b"a\0b"))
    else:
        packed = pack(folder.parent / "b.zip", [*contents(folder), (entry, b"")])
    assert reason in complaint(packed)


def test_zip_links_bombs_and_odd_packing(folder: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "regular file" in complaint(
        pack(folder.parent / "link.zip", [*contents(folder), (link, b"/etc/passwd")])
    )
    assert "200 times" in complaint(
        pack(folder.parent / "bomb.zip", [*contents(folder), ("x", bytes(2**21))])
    )
    assert "deflate" in complaint(
        pack(folder.parent / "lzma.zip", contents(folder), zipfile.ZIP_LZMA)
    )
    outside = [(f"../{name}", data) for name, data in contents(folder)]
    assert "leads elsewhere" in complaint(pack(folder.parent / "out.zip", outside))
    rooted = [(f"/{name}", data) for name, data in contents(folder)]
    assert "leads elsewhere" in complaint(pack(folder.parent / "root.zip", rooted))
    good = pack(folder.parent / "good.zip", contents(folder))
    assert bundle.read(good).problems == []
    huge = good.read_bytes()
    at = huge.index(b"PK\x01\x02")
    # an entry that claims 2 GiB
    huge = huge[: at + 24] + (2**31).to_bytes(4, "little") + huge[at + 28 :]
    (folder.parent / "huge.zip").write_bytes(huge)
    assert "refused" in complaint(folder.parent / "huge.zip")


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(NAMES), finished=st.booleans(), data=st.data())
def test_arbitrary_bytes_in_any_file_never_raise_anything_else(
    folder: Path, name: str, finished, data
) -> None:
    whole = {path.name: path.read_bytes() for path in folder.iterdir()}
    cut = data.draw(st.integers(0, len(whole[name])))
    garbage = data.draw(
        st.binary(max_size=200)
        | st.sampled_from([b"{", b"[]", b'{"a":1}\n', b"\n", b"null\n"])
    )
    before, after = whole[name][:cut], whole[name][cut:]
    changed = data.draw(
        st.sampled_from([garbage, before + garbage, before + garbage + after])
    )
    try:
        (folder / name).write_bytes(changed)
        if not finished:
            (folder / "manifest.json").unlink()
        try:
            problems = bundle.read(folder).problems
        except Deep500Error as error:
            problems = [str(error)]
        assert all(line.isprintable() for line in problems)
        assert problems or changed == whole[name] or not finished
    finally:
        for original, content in whole.items():
            (folder / original).write_bytes(content)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)),
        min_size=1,
        max_size=4,
    )
)
def test_a_damaged_zip_never_raises_anything_else(
    folder: Path, places: list[tuple[float, int]]
) -> None:
    packed = folder.parent / "b.zip"
    if not packed.exists():
        pack(packed, contents(folder))
    data = bytearray(packed.read_bytes())
    for where, mask in places:
        data[int(where * len(data))] ^= mask
    broken = folder.parent / "broken.zip"
    broken.write_bytes(data)
    try:
        found = bundle.read(broken)
        # or only the wrapping was touched
        assert found.problems or found.blocks == [{"ns": [1, 2, 3]}]
    except Deep500Error as error:
        assert str(error).isprintable()
