"""Benchmarks of data sets: the page cache is as it is said, every container holds the same, wrong ones are found."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import PIL.Image
import pytest

import deep500 as d5
from deep500 import cli
from deep500.bench import trials
from deep500.bench.dataset_benchmark import DatasetBenchmark
from deep500.bench.datasets import page_cache
from deep500.bench.datasets import subject as subjects
from deep500.bench.datasets.containers import maps_of, write_containers
from deep500.bench.datasets.jobs import CONTAINERS, ITS_OWN, DatasetJob
from deep500.bench.datasets.page_cache import evict, resident_share
from deep500.bench.datasets.subject import DatasetSubject, examples_of
from deep500.bench.notes import Notes
from deep500.bench.pipeline import benchmark_plan
from deep500.errors import Deep500Error, Unsupported


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    for label in "ab":
        (folder / label).mkdir(parents=True)
        for number in range(12):
            pixels = np.full((8, 8, 3), 10 * number + (label == "b"), np.uint8)
            PIL.Image.fromarray(pixels).save(folder / label / f"{number}.jpg")
    return folder


def test_the_page_cache_is_told_and_emptied(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    assert path.read_bytes()
    share = resident_share([path])
    if share is None:
        pytest.skip("mincore is not there")
    assert share == 1
    evict([path])
    after = resident_share([path])
    if after == 1:
        pytest.skip("this file system keeps its pages")
    assert after < 0.1
    (tmp_path / "empty").touch()
    assert resident_share([tmp_path / "empty"]) is None


def test_pages_of_a_memory_map_are_evicted_too(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((64, 4096)))
    np.save(tmp_path / "label.npy", np.ones(64))
    split = d5.datasets.load("numpy_files", folder=str(tmp_path))["train"]
    split.batch(slice(None))
    evict([tmp_path / "x.npy"], maps_of(split))
    assert len(maps_of(split)) == 2
    assert split.batch(slice(None))["x"].min() == 1
    evict([tmp_path / "x.npy"], maps_of(split))
    share = resident_share([tmp_path / "x.npy"])
    if share == 1:
        pytest.skip("this file system keeps its pages")
    assert share is None or share < 0.1


def test_files_are_evicted_before_calls_and_not_after(tmp_path: Path) -> None:
    evicting = page_cache.EvictsBeforeCalls()
    evicting.paths.add(str(tmp_path / "not there"))
    with pytest.raises(OSError):
        evicting()  # before a call
    evicting.before = False
    evicting()  # after it: nothing is done
    assert evicting.before


def job(folder: Path, **changes: object) -> DatasetJob:
    settings = {"size": 100}
    values = {
        "dataset": "synthetic_images",
        "attributes": settings,
        "container": ITS_OWN,
        "decoder": "",
        "workers": 0,
        "mode": "a pass",
        "batch": 8,
        "examples": 30,
        "folder": str(folder),
    }
    return DatasetJob(**values | changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("mode", ["one batch", "a pass"])
def test_every_container_holds_the_same(
    tmp_path: Path, container: str, mode: str
) -> None:
    task = job(tmp_path, container=container, mode=mode)
    write_containers(tmp_path, examples_of(task), CONTAINERS)
    subject = DatasetSubject(task)
    subject.check()
    subject.run()
    subject.check_again()
    assert len(subject.split) == 30
    subject.last["x"] = subject.last["x"] + 0.01
    with pytest.raises(
        Deep500Error, match="'x' differs by 0.01 from what the data set has"
    ):
        subject.check_again()


def test_a_container_with_other_data_is_found(tmp_path: Path) -> None:
    task = job(tmp_path, container="npy")
    write_containers(tmp_path, examples_of(task), ["npy"])
    labels = np.load(tmp_path / "label.npy")
    np.save(tmp_path / "label.npy", labels[::-1])
    with pytest.raises(Deep500Error, match="'label' differs"):
        task.checked_subject()


def test_a_plan_has_every_combination_with_its_state(
    pictures: Path, tmp_path: Path
) -> None:
    benchmark = DatasetBenchmark(
        "image_folder",
        {"folder": str(pictures)},
        (ITS_OWN, "memory"),
        workers=(0, 1),
        batch=8,
        examples=16,
    )
    with benchmark.prepared(Notes()) as prepared:
        plan = benchmark_plan(prepared, budget_s=1.0)
    names = [entry.name for entry in plan.entries]
    assert len(names) == len(set(names)) == 2 * 2 * 2 + 2 * 2
    assert (
        "its own (pillow), 1 workers, a pass" in names
        and "memory, 0 workers, one batch" in names
    )
    about = plan.about
    assert about["page_cache"][ITS_OWN]["state"] == "warm"
    assert about["page_cache"]["memory"]["state"] == "no files"
    assert about["examples"]["memory, 0 workers, a pass"] == 16
    assert about["digest"] == benchmark.definition().load()["train"].digest()


def test_a_cold_plan_leaves_out_what_cannot_be_cold(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"folder": str(pictures)}
    benchmark = DatasetBenchmark(
        "image_folder",
        settings,
        (ITS_OWN, "memory"),
        ("pillow",),
        (0, 1),
        4,
        8,
        cold=True,
    )
    monkeypatch.setattr(trials, "isolated_each", in_this_process)
    monkeypatch.setattr(subjects, "resident_share", lambda paths: 0.0)
    with benchmark.prepared(Notes()) as prepared:
        plan = benchmark_plan(prepared, budget_s=1.0)
    assert [entry.levels["read"] for entry in plan.entries] == ["one batch", "a pass"]
    assert plan.about["page_cache"][ITS_OWN] == {"state": "cold", "resident": 0.0}
    reasons = " ".join(plan.about["left_out"].values())
    assert "workers read ahead" in reasons and "has no files" in reasons
    monkeypatch.setattr(subjects, "resident_share", lambda paths: 0.8)
    with (
        benchmark.prepared(Notes()) as prepared,
        pytest.raises(Deep500Error, match="cannot be emptied here: 80% of the pages"),
    ):
        benchmark_plan(prepared, budget_s=1.0)


def in_this_process(
    function: str, calls: Sequence[dict], timeout_s: float
) -> list[dict[str, Any]]:
    """Stands for the process of the trials, so that what it asks the system can be planted."""
    return [trials.attempt(**call, progress=lambda text: None) for call in calls]


def test_the_verb_leaves_a_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DEEP500_CACHE", str(tmp_path / "cache"))
    words = ["bench", "dataset", "synthetic_images", "--container", "its own", "npy"]
    words += [
        "--workers",
        "0",
        "1",
        "--examples",
        "64",
        "--batch",
        "16",
        "--budget",
        "1",
        "--json",
    ]
    assert cli.main([*words, "--out", str(tmp_path / "out")]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["kind"] == "dataset_bench" and len(data["examples_per_second"]) == 8
    rate, entry = data["examples_per_second"][0], data["entries"][0]
    assert rate["value"] == pytest.approx(16 / entry["median"])
    assert cli.main(["verify", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert cli.main(["show", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "examples/s" in shown and "page cache, npy: warm" in shown
    assert list((tmp_path / "cache").iterdir()) == []  # the containers are gone


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["synthetic_image"], "Did you mean 'SyntheticImages'"),
        (["synthetic_images", "--container", "tape"], "no container is named 'tape'"),
        (["synthetic_images", "--workers", "-1"], "-1 workers cannot be"),
        (["synthetic_images", "--batch", "0"], "give 1 or more"),
        (["synthetic_images", "--set", "colour=1"], "cannot be made"),
        (["image_folder", "--set", "folder=/no/where"], "is not there or is no folder"),
    ],
)
def test_bad_requests_are_one_line(
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch,
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DEEP500_CACHE", str(tmp_path / "cache"))
    assert cli.main(["bench", "dataset", *words]) == 2
    complaint = capsys.readouterr().err
    assert message in complaint and complaint.count("\n") == 1


def test_hdf5_in_one_piece_is_a_memory_map(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((50, 4))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = values
        file.create_dataset("packed", data=values, compression="gzip")
    from deep500.datasets.hdf5_file import Hdf5Column

    plain, packed = (
        Hdf5Column(str(tmp_path / "a.h5"), name) for name in ("x", "packed")
    )
    assert plain.mapped is not None and packed.mapped is None
    rows = np.array([7, 3, 3, 49])
    assert np.array_equal(plain[rows], values[rows]) and np.array_equal(
        packed[rows], values[rows]
    )


def test_evicting_needs_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.posix_fadvise")
    with pytest.raises(Unsupported, match="has no posix_fadvise"):
        evict([])
    assert d5.Unsupported is Unsupported
