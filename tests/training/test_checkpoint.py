"""A run that stops and goes on ends with the same bits; a file that is no checkpoint is refused in one line."""

import json
import os
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deep500 import registry
from deep500.contracts.metric import History
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework
from deep500.samplers.shuffle_sampler import ShuffleSampler
from deep500.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from deep500.training.events import Event, SaveCheckpoint
from deep500.training.trainer import Trainer

from .softmax_regression import PAIRS, mlp

Make = Callable[..., Trainer]
ABOUT: dict[str, Any] = {
    "format": 2,
    "sections": {"parameters": {}, "sampler": {"definition": "s"}},
    "epoch": 0,
    "batch": 1,
    "seed": 3,
    "counters": {"samples": 16},
    "evaluations": [],
}
RECORD = {
    "epoch": 1,
    "step": 1,
    "seconds": 0.5,
    "validation": {"accuracy": 10.0},
    "test": None,
}
EMPTY = History(0, {"loss": [], "seconds": []})


class Interrupt(Event):
    """Raises after some steps, having saved where the run was if asked to."""

    def __init__(self, steps: int, path: Path | None = None) -> None:
        self.left, self.path = steps, path

    def after_step(self, trainer: Trainer, outputs: dict[str, Any]) -> None:
        self.left -= 1
        if self.left == 0:
            if self.path:
                save_checkpoint(self.path, trainer.checkpoint())
            raise KeyboardInterrupt


def interrupted(run: Trainer) -> None:
    with pytest.raises(KeyboardInterrupt):
        run.run()


def changed(start: Checkpoint, **sections: Any) -> Checkpoint:
    return replace(start, sections={**start.sections, **sections})


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(
        v.dtype == other[n].dtype
        and v.shape == other[n].shape
        and v.tobytes() == other[n].tobytes()
        for n, v in one.items()
    )


@pytest.mark.parametrize("steps", [1, 9, 10, 11, 25, 40])
@pytest.mark.parametrize("pair", PAIRS)
def test_a_resumed_run_ends_with_the_same_bits(
    trainer: Make, tmp_path: Path, pair: str, steps: int
) -> None:
    """Interrupted anywhere, the last batch of an epoch and of the run included."""
    path = tmp_path / "run.safetensors"
    whole = trainer(pair)
    history = whole.run()
    interrupted(trainer(pair, events=[Interrupt(steps, path)]))
    resumed = trainer(pair)
    again = resumed.run(load_checkpoint(path))
    assert same(whole.executor.arrays(), resumed.executor.arrays())
    assert (again.losses, again.steps, again.samples) == (
        history.losses,
        history.steps,
        history.samples,
    )
    assert [e | {"seconds": 0} for e in again.evaluations] == [
        e | {"seconds": 0} for e in history.evaluations
    ]


@pytest.mark.parametrize("pair", PAIRS)
def test_a_run_goes_on_from_the_last_whole_epoch(
    trainer: Make, tmp_path: Path, pair: str
) -> None:
    path = tmp_path / "run.safetensors"
    whole = trainer(pair)
    whole.run()
    interrupted(trainer(pair, events=[SaveCheckpoint(path), Interrupt(27)]))
    start = load_checkpoint(path)
    assert (start.epoch, start.batch, start.history.steps) == (2, 0, 20)
    resumed = trainer(pair)
    resumed.run(start)
    assert same(whole.executor.arrays(), resumed.executor.arrays())


@pytest.mark.slow
@pytest.mark.parametrize("name", available_frameworks())
def test_every_framework_ends_with_the_same_bits(
    trainer: Make, tmp_path: Path, name: str
) -> None:
    path, adam = tmp_path / "run.safetensors", registry.find("optimizers", "Adam")()
    framework(name).set_threads(1)
    whole, resumed = (trainer(executor=mlp(name), optimizer=adam) for _ in range(2))
    losses = whole.run().losses
    interrupted(
        trainer(executor=mlp(name), optimizer=adam, events=[Interrupt(25, path)])
    )
    assert resumed.run(load_checkpoint(path)).losses == losses
    assert same(whole.executor.arrays(), resumed.executor.arrays())


@pytest.mark.parametrize("pair", PAIRS)
def test_what_a_checkpoint_holds_matters(
    trainer: Make, tmp_path: Path, pair: str
) -> None:
    """Each part, were it forgotten, would be noticed by the test above."""
    path = tmp_path / "run.safetensors"
    whole = trainer(pair)
    whole.run()
    interrupted(trainer(pair, events=[Interrupt(25, path)]))
    start = load_checkpoint(path)
    parameters, optimizer = start.sections["parameters"], start.sections["optimizer"]
    zeros = {name: np.zeros_like(value) for name, value in optimizer.items()}
    forgetful = [
        changed(start, parameters={n: np.zeros_like(v) for n, v in parameters.items()}),
        changed(start, optimizer=optimizer | {"step": np.zeros((), np.float32)}),
        changed(start, optimizer=zeros | {"step": optimizer["step"]}),
        replace(start, epoch=1),
        replace(start, batch=4),
    ]
    for wrong in forgetful:
        resumed = trainer(pair)
        resumed.run(wrong)
        assert not same(whole.executor.arrays(), resumed.executor.arrays())


def test_a_finished_run_is_only_tested(trainer: Make, tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    history = trainer(events=[SaveCheckpoint(path)]).run()
    again = trainer().run(load_checkpoint(path))
    assert (again.series, again.evaluations) == (history.series, history.evaluations)


def test_a_checkpoint_in_memory_is_a_copy(trainer: Make) -> None:
    kept: list[Checkpoint] = []

    class Keep(Event):
        def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> None:
            kept.append(trainer.checkpoint())

    trainer(events=[Keep()]).run()
    first = trainer(epochs=1)
    first.run()
    assert (
        same(kept[0].sections["parameters"], first.executor.arrays())
        and kept[0].history.steps == 10
    )


arrays = st.dictionaries(
    st.text(max_size=8),
    st.sampled_from(["float32", "float64", "float16", "int64", "bool"]).flatmap(
        lambda dtype: st.lists(st.integers(0, 3), max_size=3).map(
            lambda shape: np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
        )
    ),
    max_size=3,
)


@given(params=arrays, state=arrays, losses=st.lists(st.floats(width=64), max_size=4))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_saved_is_loaded(
    tmp_path: Path, params: dict, state: dict, losses: list[float]
) -> None:
    path = tmp_path / "any.safetensors"
    series = {"loss": losses, "seconds": [0.1] * len(losses), "rate": [0.5]}
    history = History(3, series, {"samples": 12, "tokens": 99}, [RECORD | {"step": 0}])
    sections = {
        "parameters": params,
        "communication": state,
        "sampler": {"of": [1, "text"]},
    }
    save_checkpoint(path, Checkpoint(sections, 0, len(losses), history))
    found = load_checkpoint(path)
    assert same(found.sections["parameters"], params)
    assert same(found.sections["communication"], state)
    assert found.sections["sampler"] == {"of": [1, "text"]}
    assert np.array_equal(found.history.losses, losses, equal_nan=True)
    assert found.history.series["rate"] == [0.5]
    assert replace(found.history, series={}) == replace(history, series={})


def test_arrays_that_do_not_lie_in_order_are_saved_right(tmp_path: Path) -> None:
    path, value = tmp_path / "t.safetensors", np.arange(6.0).reshape(2, 3).T
    save_checkpoint(
        path, Checkpoint({"parameters": {"w": value, "v": value[:, 1]}}, 0, 0, EMPTY)
    )
    found = load_checkpoint(path).sections["parameters"]
    assert np.array_equal(found["w"], value) and np.array_equal(found["v"], value[:, 1])


def test_a_save_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.safetensors"
    save_checkpoint(path, Checkpoint({"parameters": {"w": np.ones(3)}}, 0, 0, EMPTY))
    before = path.read_bytes()

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        Deep500Error, match="cannot be written: No space left on device"
    ):
        save_checkpoint(
            path, Checkpoint({"parameters": {"w": np.zeros(3)}}, 0, 0, EMPTY)
        )
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_missing_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        Deep500Error, match="cannot be written: No such file or directory"
    ):
        save_checkpoint(tmp_path / "no" / "x", Checkpoint({}, 0, 0, EMPTY))


def test_another_network_optimizer_or_sampler_is_refused(
    trainer: Make, tmp_path: Path
) -> None:
    path = tmp_path / "run.safetensors"
    trainer(epochs=1, events=[SaveCheckpoint(path)]).run()
    start = load_checkpoint(path)
    parameters, optimizer = start.sections["parameters"], start.sections["optimizer"]
    w, sampler = parameters["w"], {"definition": "other"}
    no_step = {name: value for name, value in optimizer.items() if name != "step"}
    wrong_step = optimizer | {"step": np.zeros(1, np.float32)}
    cases = {
        "parameters 'w' is not in the checkpoint": changed(
            start, parameters={"b": parameters["b"]}
        ),
        "parameters 'odd' is in the checkpoint only": changed(
            start, parameters=parameters | {"odd": w}
        ),
        "'w' is float32\\[10, 64\\] in it, and float32\\[64, 10\\] here": changed(
            start, parameters=parameters | {"w": w.T}
        ),
        "parameters 'w' is float64": changed(
            start, parameters=parameters | {"w": w.astype(np.float64)}
        ),
        "optimizer 'step' is not in": changed(start, optimizer=no_step),
        "optimizer 'step' is float32\\[1\\]": changed(start, optimizer=wrong_step),
        "made with 'other', and this run has 'ShuffleSampler\\(batch_size=16, seed=7\\)'": changed(
            start, sampler=sampler
        ),
        "has a section 'velocity', and this run has none": changed(start, velocity={}),
        "has no section 'optimizer'; it has: parameters, sampler": replace(
            start,
            sections={"parameters": parameters, "sampler": start.sections["sampler"]},
        ),
        "has seen 5 epochs, and this run has 4": replace(start, epoch=5),
    }
    for text, wrong in cases.items():
        run = trainer()
        before = run.executor.arrays()
        with pytest.raises(Deep500Error, match=text) as caught:
            run.run(wrong)
        assert "\n" not in str(caught.value)
        assert same(before, run.executor.arrays())
    with pytest.raises(Deep500Error, match="seed=7"):
        trainer(sampler=ShuffleSampler(16, seed=8)).run(start)


def packed(
    about: Any, tensors: dict[str, tuple[str, list[int], bytes]] | None = None
) -> bytes:
    """A safetensors file by hand: `about` as its metadata, tensors as (dtype, shape, bytes)."""
    if tensors is None:
        tensors = {
            "history/loss": ("F64", [1], bytes(8)),
            "history/seconds": ("F64", [1], bytes(8)),
        }
    header: dict[str, Any] = {
        "__metadata__": {
            "deep500": about if isinstance(about, str) else json.dumps(about)
        }
    }
    data = b""
    for name, (dtype, shape, some) in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(some)],
        }
        data += some
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


GOOD = packed(ABOUT)
HISTORY = {
    "history/loss": ("F64", [1], bytes(8)),
    "history/seconds": ("F64", [1], bytes(8)),
}
BAD = {
    "empty": b"",
    "text": b"hello, this is not a checkpoint at all",
    "cut": GOOD[:-1],
    "longer": GOOD + b"x",
    "huge header": struct.pack("<Q", 2**62) + GOOD[8:],
    "no metadata": struct.pack("<Q", 2) + b"{}",
    "metadata not JSON": packed("{"),
    "metadata nested": packed("[" * 100_000),
    "metadata a list": packed([1]),
    "metadata a number": packed("3"),
    "another format": packed(ABOUT | {"format": 1}),
    "a key twice": packed('{"format": 2, "format": 2}'),
    "no epoch": packed({k: v for k, v in ABOUT.items() if k != "epoch"}),
    "negative epoch": packed(ABOUT | {"epoch": -1}),
    "epoch too late": packed(ABOUT | {"epoch": 7}),
    "batch huge": packed(ABOUT | {"batch": 10**30}),
    "batch no integer": packed(ABOUT | {"batch": True}),
    "seed a text": packed(ABOUT | {"seed": "3"}),
    "evaluations a number": packed(ABOUT | {"evaluations": 3}),
    "evaluation a number": packed(ABOUT | {"evaluations": [3]}),
    "evaluation without qualities": packed(
        ABOUT | {"evaluations": [RECORD | {"validation": None}]}
    ),
    "sections a list": packed(ABOUT | {"sections": []}),
    "section a number": packed(ABOUT | {"sections": {"sampler": 3}}),
    "a counter of text": packed(ABOUT | {"counters": {"samples": "many"}}),
    "evaluation without step": packed(ABOUT | {"evaluations": [{"epoch": 1}]}),
    "evaluation of text": packed(
        ABOUT | {"evaluations": [RECORD | {"validation": {"accuracy": "good"}}]}
    ),
    "evaluation of the future": packed(ABOUT | {"evaluations": [RECORD | {"step": 9}]}),
    "no history": packed(ABOUT, {}),
    "uneven history": packed(
        ABOUT, HISTORY | {"history/loss": ("F64", [2], bytes(16))}
    ),
    "history of another type": packed(
        ABOUT, HISTORY | {"history/loss": ("I64", [1], bytes(8))}
    ),
    "a foreign tensor": packed(ABOUT, HISTORY | {"odd": ("F32", [1], bytes(4))}),
    "a type NumPy lacks": packed(
        ABOUT, HISTORY | {"parameters/w": ("F8_E4M3", [4], bytes(4))}
    ),
}


def test_the_file_made_by_hand_is_good(tmp_path: Path) -> None:
    path = tmp_path / "good.safetensors"
    path.write_bytes(GOOD)
    history = History(3, {"loss": [0.0], "seconds": [0.0]}, {"samples": 16}, [])
    assert load_checkpoint(path) == Checkpoint(ABOUT["sections"], 0, 1, history)
    path.write_bytes(packed(ABOUT | {"evaluations": [RECORD]}))
    assert load_checkpoint(path).history.evaluations == [RECORD]


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.safetensors"
    path.write_bytes(data)
    with pytest.raises(Deep500Error, match="is not a checkpoint of Deep500") as caught:
        load_checkpoint(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@given(data=st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_changed_anywhere_is_read_or_refused(
    tmp_path: Path, data: st.DataObject
) -> None:
    path, changed = (
        tmp_path / "bad.safetensors",
        bytearray(packed(ABOUT | {"evaluations": [RECORD]})),
    )
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(
            st.integers(0, 255)
        )
    path.write_bytes(changed)
    try:
        assert isinstance(load_checkpoint(path), Checkpoint)
    except Deep500Error as error:
        assert "\n" not in str(error)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Deep500Error, match="there is no checkpoint"):
        load_checkpoint(tmp_path / "none")
    with pytest.raises(
        Deep500Error, match="is not a checkpoint of Deep500: No such device"
    ):
        load_checkpoint(tmp_path)
