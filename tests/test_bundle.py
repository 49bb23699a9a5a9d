"""A bundle gives back what was put in, notices every change, and survives being killed."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep500 import bundle
from deep500.bundle import encoding, reading
from deep500.errors import Deep500Error

PLAN = {
    "plan.json": {"entries": [{"name": "a"}], "level": 0.95},
    "environment.json": {"cpu": "é ☃"},
}
BLOCKS = [{"process": i, "calls": [3], "ns": [[i, 10**12]]} for i in range(5)]
FILES = {"weights.safetensors": bytes(range(256)), "empty.bin": b""}


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    return make(tmp_path / "finished")


def make(folder: Path, finish: bool = True) -> Path:
    writer = bundle.create(folder, PLAN)
    for block in BLOCKS:
        writer.append(block)
    if finish:
        writer.finish({"derived.json": {"n": 5}}, FILES)
    writer.close()
    return folder


def wrong(path: Path) -> bool:
    """Whether reading says that something does not hold."""
    try:
        return bool(bundle.read(path).problems)
    except Deep500Error:
        return True


def test_what_goes_in_comes_out(finished: Path) -> None:
    found = bundle.read(finished)
    manifest = found.documents.pop("manifest.json")
    assert found.documents == PLAN | {"derived.json": {"n": 5}}
    assert (found.blocks, found.problems, found.finished, found.kind) == (
        BLOCKS,
        [],
        True,
        "bench",
    )
    assert found.lost_bytes == 0 and found.leftovers == []
    assert {name: found.load(name) for name in found.files} == FILES
    assert (
        isinstance(manifest, dict)
        and manifest["hash"] == found.hash
        and manifest["head"] == found.head
    )
    assert manifest["blocks"] == 5 and set(manifest["files"]) == set(
        os.listdir(finished)
    ) - {"manifest.json"}


def test_the_chain_is_what_the_format_says_byte_for_byte(finished: Path) -> None:
    previous = "0" * 64
    lines = (finished / "samples.jsonl").read_bytes().splitlines(keepends=True)
    for line in lines:
        block = line[len(b'{"chain":"') + 64 + len(b'","block":') : -2]
        assert (
            block
            == json.dumps(
                json.loads(block), sort_keys=True, separators=(",", ":")
            ).encode()
        )
        previous = hashlib.sha256(previous.encode() + block).hexdigest()
        assert (
            line == b'{"chain":"' + previous.encode() + b'","block":' + block + b"}\n"
        )
    header = json.loads(lines[0])["block"]
    documents = {
        name: hashlib.sha256((finished / name).read_bytes()).hexdigest()
        for name in PLAN
    }
    assert (
        header["format"] == 1
        and header["kind"] == "bench"
        and header["documents"] == documents
    )
    manifest = json.loads((finished / "manifest.json").read_bytes())
    stated = manifest.pop("hash")
    assert (
        hashlib.sha256(
            (json.dumps(manifest, sort_keys=True, indent=1) + "\n").encode()
        ).hexdigest()
        == stated
    )


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(json_values)
def test_documents_round_trip_and_have_one_spelling(document: object) -> None:
    data = bundle.canonical(document)
    assert encoding.parse(data) == document
    assert bundle.canonical(encoding.parse(data)) == data


@settings(max_examples=50)
@given(
    st.lists(
        st.dictionaries(st.text(max_size=5), json_values, max_size=3),
        min_size=1,
        max_size=5,
    ),
    st.data(),
)
def test_hashes_chain(blocks: list[dict[str, object]], data: st.DataObject) -> None:
    head, links = encoding.ZERO, []
    for block in blocks:
        links.append((head, *encoding.link(head, block)))
        head = links[-1][1]
    assert [encoding.unlink(before, line) for before, _, line in links] == [
        (after, block) for (_, after, _), block in zip(links, blocks, strict=True)
    ]
    before, _, line = data.draw(st.sampled_from(links))
    place, bit = data.draw(st.integers(0, len(line) - 1)), data.draw(st.integers(0, 7))
    with pytest.raises(Deep500Error):
        encoding.unlink(before, flipped(line, place, 1 << bit))
    with pytest.raises(Deep500Error):
        encoding.unlink("1" * 64, line)


def flipped(data: bytes, place: int, mask: int) -> bytes:
    return data[:place] + bytes([data[place] ^ mask]) + data[place + 1 :]


def flips(folder: Path, rounds: list[tuple[str, int, int]]) -> int:
    """How many of these one-byte changes are noticed."""
    found = 0
    for name, place, mask in rounds:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(flipped(whole, place, mask))
        found += wrong(folder)
        (folder / name).write_bytes(whole)
    assert not wrong(folder)
    return found


def places(folder: Path) -> list[tuple[str, int]]:
    return [
        (path.name, i)
        for path in sorted(folder.iterdir())
        for i in range(path.stat().st_size)
    ]


@pytest.mark.parametrize("where", ["", "manifest.json"])
def test_a_hundred_flipped_bytes_are_found(finished: Path, where: str) -> None:
    draw = random.Random(500)
    chosen = [place for place in places(finished) if where in place[0]]
    assert (
        flips(
            finished,
            [(*draw.choice(chosen), draw.randrange(1, 256)) for _ in range(100)],
        )
        == 100
    )


@pytest.mark.slow
def test_every_flipped_byte_is_found(finished: Path) -> None:
    rounds = [(name, place, 1 << place % 8) for name, place in places(finished)]
    assert flips(finished, rounds) == len(rounds)


def test_missing_added_renamed_truncated_and_swapped_files_are_named(
    finished: Path, tmp_path: Path
) -> None:
    names = sorted(path.name for path in finished.iterdir())
    for number, name in enumerate(names):
        for change in ("missing", "renamed", "truncated", "longer"):
            copy = tmp_path / f"{number}{change}"
            shutil.copytree(finished, copy)
            if change == "missing":
                (copy / name).unlink()
            elif change == "renamed":
                (copy / name).rename(copy / f"x{name}")
            elif change == "truncated":
                if not (size := (copy / name).stat().st_size):
                    continue
                os.truncate(copy / name, size - 1)
            else:
                (copy / name).write_bytes((copy / name).read_bytes() + b"\n")
            problems = bundle.read(copy).problems
            assert problems and all(
                "\n" not in line and ": " in line for line in problems
            )
            if name != "manifest.json":
                assert any(line.startswith(f"{name}: ") for line in problems), (
                    change,
                    name,
                    problems,
                )
    (finished / "notes.txt").write_text("mine")
    assert bundle.read(finished).problems == [
        "notes.txt: no part of the bundle, its manifest does not name it"
    ]


def test_all_damage_is_listed_and_nothing_damaged_is_handed_out(finished: Path) -> None:
    (finished / "plan.json").write_text("{}\n")
    (finished / "derived.json").unlink()
    (finished / "empty.bin").write_bytes(b"x")
    found = bundle.read(finished)
    assert [line.partition(":")[0] for line in found.problems] == [
        "derived.json",
        "empty.bin",
        "plan.json",
    ]
    assert set(found.documents) == {"environment.json", "manifest.json"} and set(
        found.files
    ) == {"weights.safetensors"}


def test_a_file_changed_after_reading_is_not_handed_out(finished: Path) -> None:
    found = bundle.read(finished)
    (finished / "weights.safetensors").write_bytes(b"other")
    with pytest.raises(Deep500Error, match="changed"):
        found.load("weights.safetensors")
    with pytest.raises(Deep500Error, match="not one of its files"):
        found.load("../finished/plan.json")


def test_a_zip_reads_like_the_folder(finished: Path, tmp_path: Path) -> None:
    want = bundle.read(finished)
    for prefix in ("", "result/"):
        packed = tmp_path / f"{len(prefix)}.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            if prefix:
                archive.mkdir(prefix)
            for path in finished.iterdir():
                archive.write(path, prefix + path.name)
        found = bundle.read(packed)
        assert (found.documents, found.blocks, found.files, found.problems) == (
            want.documents, want.blocks, want.files, [],
        )  # fmt: skip
        assert found.load("weights.safetensors") == FILES["weights.safetensors"]
        with pytest.raises(Deep500Error):
            bundle.resume(packed)


def test_an_unfinished_bundle_binds_its_documents(tmp_path: Path) -> None:
    folder = make(tmp_path / "b", finish=False)
    found = bundle.read(folder)
    assert (found.documents, found.blocks, found.finished, found.problems) == (
        PLAN,
        BLOCKS,
        False,
        [],
    )
    assert found.hash is None
    (folder / "plan.json").write_bytes(bundle.canonical({"other": 1}))
    assert bundle.read(folder).problems == [
        "plan.json: its content is not what its hash says"
    ]
    with pytest.raises(Deep500Error, match="plan.json"):
        bundle.resume(folder)


@pytest.mark.parametrize("cut", [1, 20, 70])
def test_resume_cuts_the_torn_line_and_continues(tmp_path: Path, cut: int) -> None:
    folder = make(tmp_path / "b", finish=False)
    chain = folder / "samples.jsonl"
    os.truncate(chain, chain.stat().st_size - cut)
    torn = bundle.read(folder)
    assert torn.problems == [] and torn.blocks == BLOCKS[:-1] and torn.lost_bytes > 0
    writer = bundle.resume(folder)
    writer.append(BLOCKS[-1])
    digest = writer.finish({"derived.json": {}})
    found = bundle.read(folder)
    assert (found.blocks, found.problems, found.hash, found.created) == (
        BLOCKS,
        [],
        digest,
        torn.created,
    )


def test_resume_refuses_finished_broken_and_busy(tmp_path: Path) -> None:
    with pytest.raises(Deep500Error, match="finished"):
        bundle.resume(make(tmp_path / "finished"))
    with pytest.raises(Deep500Error, match="No such file"):
        bundle.resume(tmp_path / "nothing")
    broken = make(tmp_path / "broken", finish=False)
    (broken / "samples.jsonl").write_bytes(
        (broken / "samples.jsonl").read_bytes().replace(b"1000", b"1001", 1)
    )
    with pytest.raises(Deep500Error, match="line 2"):
        bundle.resume(broken)
    writer = bundle.create(tmp_path / "busy", PLAN)
    with pytest.raises(Deep500Error, match="another process"):
        bundle.resume(tmp_path / "busy")
    writer.append(BLOCKS[0])  # the refused one did no harm
    writer.finish({})
    assert bundle.read(tmp_path / "busy").problems == []


def test_a_finish_that_was_killed_leaves_an_unfinished_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stop at every rename of finish() in turn, as a kill would."""
    real = os.replace
    for last in range(4):
        folder = make(tmp_path / str(last), finish=False)
        writer = bundle.resume(folder)
        left = [last]

        def replace(source: Path, target: Path, left: list[int] = left) -> None:
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            writer.finish({"derived.json": {}}, FILES)
        monkeypatch.undo()
        writer.close()
        found = bundle.read(folder)
        assert (found.finished, found.problems, found.blocks, found.documents) == (
            False,
            [],
            BLOCKS,
            PLAN,
        )
        assert len(found.leftovers) == 4
        bundle.resume(folder).finish({"derived.json": {}})
        assert bundle.read(folder).problems == [] and len(os.listdir(folder)) == 5


def test_what_cannot_be_written_leaves_nothing_half(tmp_path: Path) -> None:
    for documents in (
        {"a.json": float("nan")},
        {"a.json": object()},
        {"a.json": {1: 0, "b": 0}},
        {"a.json": 10**5000},
    ):
        with pytest.raises(
            Deep500Error, match="a.json: this cannot be written as JSON"
        ):
            bundle.create(tmp_path / "b", {"fine.json": 1, **documents})
    for name in (
        "../a.json",
        "a/b.json",
        "/a.json",
        "",
        ".a.json",
        "a\0.json",
        "manifest.json",
        "a.txt",
        "a\\b.json",
    ):
        with pytest.raises(Deep500Error, match="cannot name a document"):
            bundle.create(tmp_path / "b", {name: 1})
    with pytest.raises(Deep500Error, match="kind"):
        bundle.create(tmp_path / "b", {}, kind="a b")
    assert not (tmp_path / "b").exists()

    writer = bundle.create(tmp_path / "b", PLAN)
    size = (tmp_path / "b" / "samples.jsonl").stat().st_size
    with pytest.raises(Deep500Error, match="JSON"):
        writer.append({"x": float("inf")})
    contents: list[Any] = [
        ({"d.json": float("nan")}, {}),
        ({"plan.json": 1}, {}),
        ({}, {"x.json": b""}),
        ({}, {"..": b""}),
    ]
    for arguments in contents:
        with pytest.raises(Deep500Error):
            writer.finish(*arguments)
    assert sorted(os.listdir(tmp_path / "b")) == [
        "environment.json",
        "plan.json",
        "samples.jsonl",
    ]
    assert (tmp_path / "b" / "samples.jsonl").stat().st_size == size
    writer.finish({})
    for use in (lambda: writer.append({}), lambda: writer.finish({})):
        with pytest.raises(Deep500Error, match="closed"):
            use()
    assert bundle.read(tmp_path / "b").problems == []


def test_folders_that_cannot_be_used_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    for path in (
        "file",
        "full",
        "file/below",
        "nul\0",
        "x" * 300,
        "\udcff" + "y" * 300,
    ):
        with pytest.raises(Deep500Error) as caught:
            bundle.create(tmp_path / path, PLAN)
        assert "\n" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["file", "full"] and os.listdir(
        tmp_path / "full"
    ) == ["mine"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_line_and_leaves_the_chain_clean(tmp_path: Path) -> None:
    writer = bundle.create(tmp_path / "b", PLAN)
    good = os.dup(writer._fd)
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, writer._fd)
    with pytest.raises(Deep500Error, match="No space left"):
        writer.append(BLOCKS[0])
    os.dup2(good, writer._fd)
    os.close(good)
    os.close(full)
    writer.append(BLOCKS[0])
    writer.close()
    assert bundle.read(tmp_path / "b").blocks == BLOCKS[:1]


def test_discard_removes_what_was_made_and_only_that(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for folder in (tmp_path / "there", tmp_path / "new" / "er" / "b"):
        writer = bundle.create(folder, PLAN)
        writer.append(BLOCKS[0])
        writer.discard()
    assert os.listdir(tmp_path) == ["there"] and os.listdir(tmp_path / "there") == []
    writer = bundle.create(tmp_path / "b", PLAN)
    (tmp_path / "b" / "mine.txt").write_text("x")
    writer.discard()
    assert os.listdir(tmp_path / "b") == ["mine.txt"]
    writer = bundle.create(tmp_path / "c", PLAN)
    writer.finish({})
    writer.discard()
    assert bundle.read(tmp_path / "c").finished


def test_a_relative_folder_survives_a_change_of_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    writer = bundle.create("b", PLAN)
    monkeypatch.chdir("/")
    writer.append(BLOCKS[0])
    writer.finish({})
    assert bundle.read(tmp_path / "b").problems == []


def test_a_newer_format_is_refused_and_an_older_one_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = make(tmp_path / "old"), tmp_path / "new"
    for finish in (False, True):
        monkeypatch.setattr("deep500.bundle.writing.FORMAT", 7)
        make(new, finish)
        monkeypatch.undo()
        with pytest.raises(
            Deep500Error,
            match=r"^bundle format 7 is newer than this Deep500 reads \(1\): upgrade",
        ):
            bundle.read(new)
        shutil.rmtree(new)

    def rename(
        documents: encoding.Documents, blocks: encoding.Blocks
    ) -> tuple[encoding.Documents, encoding.Blocks]:
        return {**documents, "plan.json": "migrated"}, [
            {"worker": block["process"]} for block in blocks
        ]

    monkeypatch.setattr(reading, "FORMAT", 2)
    monkeypatch.setitem(reading._MIGRATIONS, 1, rename)
    found = bundle.read(old)
    assert (
        found.documents["plan.json"] == "migrated"
        and found.blocks[3] == {"worker": 3}
        and not found.problems
    )
    (old / "plan.json").write_text("{}\n")
    assert bundle.read(old).problems  # what is damaged is not migrated
    monkeypatch.delitem(reading._MIGRATIONS, 1)


_LOOP = """
import sys
from deep500 import bundle
writer = bundle.resume(sys.argv[1]) if sys.argv[2] == "resume" else bundle.create(sys.argv[1], {"plan.json": {"a": 1}})
print("begun", flush=True)
for i in range(writer.blocks, 10**9):
    writer.append({"i": i, "ns": [i] * int(sys.argv[3])})
"""


def kill_appending(folder: Path, how: str, wait: float, width: int) -> None:
    command = [sys.executable, "-c", _LOOP, str(folder), how, str(width)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"begun\n"
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("rounds", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_kill_9_leaves_a_clean_prefix_and_resume_goes_on(
    tmp_path: Path, rounds: int
) -> None:
    draw = random.Random(9)
    before = 0
    for number in range(rounds):
        how = "resume" if number % 5 else "create"
        folder = tmp_path / str(number // 5)
        kill_appending(
            folder, how, wait=draw.uniform(0, 0.03), width=draw.choice([1, 3000])
        )
        found = bundle.read(folder)
        assert found.problems == [] and not found.finished
        assert [block["i"] for block in found.blocks] == list(range(len(found.blocks)))
        assert len(found.blocks) >= (before if how == "resume" else 0)
        before = len(found.blocks)
        tail = (folder / "samples.jsonl").read_bytes().rpartition(b"\n")[2]
        assert found.lost_bytes == len(tail)
    bundle.resume(folder).finish({})
    assert bundle.read(folder).problems == []


def test_the_commands_of_the_format_page_check_a_bundle_by_hand(finished: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "bundle-format.md").read_text()
    script = page.partition("```bash\n")[2].partition("```")[0]

    def holds() -> bool:
        return (
            subprocess.run(
                ["bash", "-c", script], cwd=finished, capture_output=True
            ).returncode
            == 0
        )

    assert holds()
    for name, old, new in [
        ("weights.safetensors", b"\x07", b"\x08"),
        ("manifest.json", b'"blocks": 5', b'"blocks": 6'),
        ("samples.jsonl", b'"process":2', b'"process":3'),
    ]:
        whole = (finished / name).read_bytes()
        (finished / name).write_bytes(whole.replace(old, new))
        assert not holds(), name
        (finished / name).write_bytes(whole)
    assert holds()
    chain, manifest = (
        finished / "samples.jsonl",
        json.loads((finished / "manifest.json").read_bytes()),
    )
    chain.write_bytes(chain.read_bytes().replace(b'"process":2', b'"process":3'))
    manifest["files"]["samples.jsonl"] = encoding.sha256(chain.read_bytes())
    manifest.pop("hash")
    manifest["hash"] = encoding.sha256(bundle.canonical(manifest))
    (finished / "manifest.json").write_bytes(bundle.canonical(manifest))
    assert not holds() and wrong(finished)  # only the chain says so now
