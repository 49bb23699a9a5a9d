"""Promises of loaders: the same batches for every number of workers, nothing left behind, no wait without an end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.augmentation import Spec
from deep500.contracts.dataset import Column
from deep500.errors import Deep500Error
from deep500.training.loading import Loader
from deep500.training.loading.ring import SharedRing

X = np.random.default_rng(0).random((103, 3, 8, 8), np.float32)
SPLIT = d5.Split({"x": X, "label": np.arange(103) % 10})
NORMALISED = SPLIT.transformed(
    d5.augmentations.RandomFlip(),
    d5.augmentations.Normalise(mean=(0.1, 0.2, 0.3)),
    seed=1,
)
AUGMENTED = SPLIT.transformed(
    d5.augmentations.RandomCrop(padding=2), d5.augmentations.MixUp(), seed=4
)
SAMPLER = d5.ShuffleSampler(16, seed=2)


class Behaving(Column):
    """Numbers, and something that happens when number 50 is read in another process than the first."""

    def __init__(self, behaviour: Callable[[], object]):
        self.shape, self.dtype = (100,), np.dtype(np.int64)
        self.behaviour, self.process = behaviour, os.getpid()

    def read(self, indices: np.ndarray, out: np.ndarray) -> None:
        if 50 in indices and os.getpid() != self.process:
            self.behaviour()
        out[:] = indices

    def digest(self) -> str:
        return ""


def fives(count: int = 100) -> list[np.ndarray]:
    return [np.arange(start, start + 5) for start in range(0, count, 5)]


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def children() -> set[int]:
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return {int(word) for word in path.read_text().split()}


@pytest.mark.parametrize(
    "split", [SPLIT, AUGMENTED, NORMALISED], ids=["plain", "augmented", "normalised"]
)
@pytest.mark.parametrize(
    ("workers", "kind"), [(1, "processes"), (3, "processes"), (2, "threads")]
)
def test_the_number_of_workers_changes_no_bit(
    split: d5.Split, workers: int, kind: str
) -> None:
    with Loader(split, workers, kind) as loader:  # type: ignore[arg-type]
        for epoch in range(3):
            wanted = [split.batch(rows, epoch) for rows in SAMPLER.epoch(103, epoch)]
            batches = list(loader.batches(SAMPLER.epoch(103, epoch), epoch))
            assert len(batches) == 7 and len(batches[-1]["x"]) == 103 % 16
            assert all(same(a, b) for a, b in zip(batches, wanted, strict=True))


def test_batches_lie_in_shared_memory_and_stay_what_they_are() -> None:
    with Loader(SPLIT, 2) as loader:
        kept = []
        for number, batch in enumerate(loader.batches(fives())):
            if number % 4 == 1:
                kept.append((number, batch))
            if number > 1:
                assert batch["x"].flags.writeable
        shared = [batch for _, batch in kept if not batch["x"].flags.owndata]
        assert shared  # those are no copies
        for number, batch in kept:
            assert same(batch, SPLIT.batch(np.arange(5 * number, 5 * number + 5)))
        again = list(loader.batches(fives()))
        assert all(
            same(batch, SPLIT.batch(rows))
            for batch, rows in zip(again, fives(), strict=True)
        )


def test_a_slot_is_used_again_and_nothing_is_copied_where_nothing_is_kept() -> None:
    with Loader(SPLIT, 1) as loader:
        addresses = set()
        for batch in loader.batches(fives()):
            assert not batch["x"].flags.owndata
            assert batch["x"].ctypes.data % 64 == 0
            addresses.add(batch["x"].ctypes.data)
        assert len(addresses) <= 4


def test_an_iterator_that_is_left_early_disturbs_no_other() -> None:
    with Loader(SPLIT, 2) as loader:
        for _ in range(5):
            first = loader.batches(fives())
            next(first)
            second = loader.batches(reversed(fives()))
            assert same(next(second), SPLIT.batch(np.arange(95, 100)))
            with pytest.raises(Deep500Error, match="this iterator cannot go on"):
                list(first)
        loader.close()
        with pytest.raises(Deep500Error, match="its loader was closed"):
            next(second)


def test_batches_may_grow_and_be_empty() -> None:
    sizes = [4, 4, 0, 9, 9, 30, 2]
    ends = np.cumsum([0, *sizes])
    rows = [np.arange(a, b) for a, b in pairwise(ends)]
    with Loader(SPLIT, 2) as loader:
        batches = list(loader.batches(rows))
    assert [len(batch["x"]) for batch in batches] == sizes
    assert all(
        same(batch, SPLIT.batch(some))
        for batch, some in zip(batches, rows, strict=True)
    )


def test_nothing_is_left_behind() -> None:
    before = children(), len(os.listdir("/proc/self/fd")), set(os.listdir("/dev/shm"))
    for _ in range(3):
        with Loader(SPLIT, 2) as loader:
            next(loader.batches(fives()))
            assert len(children() - before[0]) == 2
    loader = Loader(SPLIT, 2)
    next(loader.batches(fives()))
    del loader
    assert children() == before[0]
    assert len(os.listdir("/proc/self/fd")) == before[1]
    ours = [
        name
        for name in set(os.listdir("/dev/shm")) - before[2]
        if str(os.getpid()) in name
    ]
    assert ours == []


def fail() -> None:
    raise ValueError("number 50\nis bad")


def refuse() -> None:
    raise Deep500Error("picture.jpg cannot be decoded: it is truncated")


DEATHS: dict[str, tuple[Callable[[], object], str]] = {
    "killed": (lambda: os.kill(os.getpid(), signal.SIGKILL), "was ended by SIGKILL"),
    "ended": (lambda: os._exit(7), "was ended with exit code 7"),
    "stuck": (lambda: time.sleep(600), "has not answered for 3 s"),
    "error": (
        fail,
        "worker . of the loader cannot read a batch: ValueError: number 50 is bad",
    ),
    "refused": (refuse, "^picture.jpg cannot be decoded: it is truncated$"),
}


@pytest.mark.parametrize("death", DEATHS)
def test_what_happens_to_a_worker_is_told_within_the_deadline(death: str) -> None:
    behaviour, message = DEATHS[death]
    before = children()
    begin = time.monotonic()
    timeout_s = 3.0 if death == "stuck" else 60.0
    with Loader(d5.Split({"x": Behaving(behaviour)}), 2, timeout_s=timeout_s) as loader:
        seen = []
        with pytest.raises(Deep500Error, match=message) as caught:
            for batch in loader.batches(fives()):
                seen.append(int(batch["x"][0]))
        assert "\n" not in str(caught.value)
        assert seen == list(range(0, 50, 5))  # those before are right, and in order
    assert children() == before
    assert time.monotonic() - begin < 60


def test_a_loader_goes_on_after_a_batch_that_could_not_be_read() -> None:
    with Loader(d5.Split({"x": Behaving(refuse)}), 2) as loader:
        with pytest.raises(Deep500Error):
            list(loader.batches(fives()))
        assert [int(batch["x"][0]) for batch in loader.batches(fives(50))] == list(
            range(0, 50, 5)
        )


def test_threads_have_a_deadline_too() -> None:
    column = Behaving(lambda: time.sleep(2))
    column.process = 0
    loader = Loader(d5.Split({"x": column}), 1, "threads", timeout_s=0.2)
    with pytest.raises(
        Deep500Error, match="a thread of the loader has not answered for 0.2 s"
    ):
        list(loader.batches(fives()))


SCRIPT = """
import os, sys, time
import numpy as np
import deep500 as d5
from deep500.training.loading import Loader
loader = Loader(d5.Split({"x": np.arange(100)}), 2)
try:
    while True:
        for batch in loader.batches([np.arange(50)] * 10):
            workers = [str(worker.process.pid) for worker in loader._processes]
            print(*workers, flush=True)
            time.sleep(0.05)
except KeyboardInterrupt:
    loader.close()
    sys.exit(130)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_their_parent(number: signal.Signals) -> None:
    """Ctrl-C goes to the whole group, as from a terminal; kill -9 to the parent alone."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    workers = [int(word) for word in process.stdout.readline().split()]
    assert len(workers) == 2
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.kill()
    _, errors = process.communicate(timeout=60)
    assert (
        process.returncode == (130 if number == signal.SIGINT else -9) and errors == ""
    )
    deadline = time.monotonic() + 60
    while any(is_running(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


EARLY_CTRL_C = """
import os, signal
import numpy as np
import deep500 as d5
from deep500.training.loading import Loader
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT))
with Loader(d5.Split({"x": np.arange(100)}), 2) as loader:
    print(sum(int(batch["x"].sum()) for batch in loader.batches([np.arange(100)] * 4)))
"""


def test_worker_is_not_hit_by_a_ctrl_c_in_its_first_moment() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EARLY_CTRL_C], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "19800\n", "")


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": -1}, "workers is -1"),
        ({"workers": 1000}, "workers is 1000"),
        ({"workers": 1, "kind": "goblins"}, "not 'goblins'"),
        ({"workers": 1, "timeout_s": 0}, "timeout_s is 0"),
    ],
)
def test_bad_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        Loader(SPLIT, **settings)


def test_objects_are_not_handed_over() -> None:
    split = d5.Split({"x": np.array([{}, {}], object)})
    with pytest.raises(Deep500Error, match="holds Python objects"):
        list(Loader(split, 1).batches([np.arange(2)]))


def trainer(framework: str, workers: int, events: tuple = ()) -> d5.Trainer:
    splits = {name: AUGMENTED for name in ("train", "validation", "test")}
    network = d5.networks.Mlp((8,)).build((3, 8, 8), 10, seed=0)
    executor = d5.framework(framework).from_model(network, threads=1)
    optimizer = d5.optimizers.Momentum(0.05)
    return d5.Trainer(
        executor,
        optimizer,
        splits=splits,
        sampler=SAMPLER,
        epochs=3,
        events=events,
        workers=workers,
    )


@pytest.mark.parametrize("framework", ["reference", "pytorch", "jax"])
def test_a_run_with_workers_is_the_same_to_the_last_bit(framework: str) -> None:
    before = children()
    plain, ahead = trainer(framework, 0), trainer(framework, 2)
    assert plain.run().series["loss"] == ahead.run().series["loss"]
    weights = plain.executor.arrays()
    assert same(weights, ahead.executor.arrays())
    assert children() == before


class StopAt(d5.events.Event):
    """Ends a run within an epoch, and keeps a checkpoint of it."""

    def __init__(self, step: int):
        self.step = step

    def after_step(self, trainer: d5.Trainer, outputs: object) -> str | None:
        if trainer.steps != self.step:
            return None
        self.checkpoint = trainer.checkpoint()
        return "stopped for a test"


def test_a_run_is_resumed_within_an_epoch_with_another_number_of_workers() -> None:
    whole = trainer("reference", 0)
    whole.run()
    stop = StopAt(10)
    trainer("reference", 3, (stop,)).run()
    assert stop.checkpoint.batch == 3
    resumed = trainer("reference", 2, (StopAt(-1),))
    history = resumed.run(stop.checkpoint)
    assert history.series["loss"] == whole.history().series["loss"]
    assert same(whole.executor.arrays(), resumed.executor.arrays())


@pytest.mark.parametrize("packing", [None, "gzip"])
def test_workers_read_hdf5_files_for_themselves(
    tmp_path: Path, packing: str | None
) -> None:
    import h5py

    with h5py.File(tmp_path / "data.h5", "w") as file:
        file.create_dataset("x", data=X, compression=packing)
    dataset = d5.datasets.Hdf5File("data.h5", ("x",), str(tmp_path))
    split = dataset.load()["train"]
    split.batch(slice(0, 3))  # the parent has opened it before the workers start
    rows = [np.arange(start, start + 10) for start in range(0, 80, 10)]
    with Loader(split, 2) as loader:
        batches = list(loader.batches(rows))
    assert all(
        same(batch, split.batch(some))
        for batch, some in zip(batches, rows, strict=True)
    )


def test_workers_decode_pictures(tmp_path: Path) -> None:
    import PIL.Image

    for number in range(20):
        folder = tmp_path / str(number % 2)
        folder.mkdir(exist_ok=True)
        pixels = np.full((8, 8, 3), 10 * number, np.uint8)
        PIL.Image.fromarray(pixels).save(folder / f"{number}.jpg")
    split = d5.datasets.load("image_folder", folder=str(tmp_path))["train"]
    rows = [np.arange(start, start + 4) for start in range(0, 16, 4)]
    with Loader(split, 2) as loader:
        batches = list(loader.batches(rows))
        assert all(
            same(batch, split.batch(r)) for batch, r in zip(batches, rows, strict=True)
        )
        path = split.columns["x"].paths[5]
        Path(path).write_bytes(b"no picture")
        with pytest.raises(Deep500Error, match=f"^{path} cannot be decoded"):
            list(loader.batches(rows))


def test_no_python_code_runs_when_a_batch_is_dropped() -> None:
    """A Ctrl-C that comes in the middle of a weak reference's callback is lost: nothing must be interruptible there."""
    specs = {"x": Spec((3,), np.dtype("float32"))}
    ring = SharedRing(specs, capacity=4, slots=2)
    batch = ring.lend(ring.free.popleft(), 4)
    calls: list[str] = []
    sys.setprofile(lambda frame, event, argument: calls.append(event))
    del batch
    sys.setprofile(None)
    assert "call" not in calls
    assert sorted(ring.free) == [0, 1]
