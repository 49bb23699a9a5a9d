"""The red-team corpus: every submission is refused by a named layer, or judged without any gain from what it tries.

The header of each file in cheats/ says what it does. docs/threat-model.md has what nothing here stops.
"""

import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from deep500.bundle.records.verification import verify
from deep500.contest.definition import ContestFolder
from deep500.contest.submissions import submit
from deep500.errors import Deep500Error

from .cup import Outcome, judged, opened

CHEATS = Path(__file__).with_name("cheats")
QUICK = {"metric_patched", "test_labels_read", "calls_home", "weights_are_no_weights"}

# refused before anything runs, by reading the file
READ = {"fixed_in_the_closed_division": "the submission sets FIXED"}

# refused by the judge: the layer, and a part of the reason
REFUSED = {
    "answer_without_end": ("process", "an answer of more than"),
    "calls_home": ("sandbox", "unreachable"),
    "data_replaced": ("sandbox", "Read-only file system"),
    "declares_a_lot": ("contract", "levels"),
    "declares_otherwise": ("contract", "another MUTABLE"),
    "defect_forged": ("process", "a defect"),
    "disk_filled": ("sandbox", "OSError"),
    "fork_bomb": ("limits", "processes"),
    "hangs_in_training": ("limits", "no answer within its time"),
    "hangs_when_loaded": ("limits", "no answer within its time"),
    "junk_declared": ("contract", "the submission"),
    "kills_everybody": ("sandbox", "No such process"),
    "memory_filled": ("sandbox", "MemoryError"),
    "memory_of_many": ("limits", "MiB of memory"),
    "mutable_holds_fixed": ("contract", "'epochs' is FIXED"),
    "network_changed": ("weights", "FIXED has"),
    "package_replaced": ("sandbox", "Read-only file system"),
    "sitecustomize_planted": ("sandbox", "Read-only file system"),
    "test_labels_read": ("sandbox", "FileNotFoundError"),
    "test_split_loaded": ("sandbox", "FileNotFoundError"),
    "weights_are_no_weights": ("weights", "no safetensors"),
}
# those that need another contest
CONTESTS: dict[str, dict[str, Any]] = {
    "hangs_in_training": {"seconds": 2.0},
    "hangs_when_loaded": {"load_seconds": 8.0},
    "seed_remembered": {"seeds": 2},
    "weights_embedded": {"seeds": 2},
}
WORK_S = 0.3  # of each epoch but the first, which these try to do off the clock


def honest_quality(outcome: Outcome) -> None:
    assert outcome.accuracy is not None and 20 < outcome.accuracy < 97
    assert outcome.failed == []


def bad_quality(outcome: Outcome) -> None:
    assert outcome.accuracy is not None and outcome.accuracy < 25
    [metric, *_] = outcome.document("derived.json")["metrics"]
    assert metric["target"] == 20.0


def no_value(outcome: Outcome) -> None:
    """The seed counts as one that reached nothing."""
    assert outcome.accuracy is None and len(outcome.failed) == 1
    assert not outcome.document("derived.json")["acceptable"]


def counted_as_stopped(outcome: Outcome) -> None:
    assert outcome.failed == ["was stopped in epoch 2: not a good seed"]


def all_time_counted(outcome: Outcome) -> None:
    assert outcome.seconds >= 2 * WORK_S


def own_machine(outcome: Outcome) -> None:
    environment = (outcome.bundle or Path()) / "environment.json"
    text = environment.read_text()
    assert "Abacus" not in text and "4096 CPUs" not in text
    assert "/elsewhere" not in text


def organisers_metrics(outcome: Outcome) -> None:
    plan = outcome.document("plan.json")
    assert plan["recipe"]["metrics"][0][1] == 20.0 and plan["epochs"] == 3
    assert "claims" not in plan["recipe"]


def nothing_left_behind(outcome: Outcome) -> None:
    for process in Path("/proc").iterdir():
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        assert b"54321" not in command, process


# judged, without a gain
JUDGED: dict[str, Callable[[Outcome], None]] = {
    "bad_seeds_dropped": no_value,
    "bad_seeds_stopped": counted_as_stopped,
    "clock_patched": all_time_counted,
    "daemon_left_behind": nothing_left_behind,
    "free_hook": all_time_counted,
    "machine_forged": own_machine,
    "metric_patched": honest_quality,
    "metrics_of_its_own": organisers_metrics,
    "optimizer_looks_labels_up": honest_quality,
    "process_after_the_clock": all_time_counted,
    "process_seems_ended": all_time_counted,
    "seed_remembered": honest_quality,
    "sees_the_judge": honest_quality,
    "weights_not_finite": no_value,
    "weights_without_training": bad_quality,
    "work_after_the_clock": all_time_counted,
}
# judged and refused at the end, from all seeds together
AT_THE_END = {"weights_embedded": ("seeds", "the same weights")}
# judged with all of its time, or refused, as it cannot be stopped
EITHER = {"process_hops": "clock"}


def cells(names: Iterable[str]) -> list[Any]:
    """The quick ones are part of every run of the tests."""
    marks = []
    for name in sorted(names):
        slow = () if name in QUICK else (pytest.mark.slow,)
        marks.append(pytest.param(name, marks=slow))
    return marks


def folder_for(name: str, path: Path) -> ContestFolder:
    return opened(path / "cup", **CONTESTS.get(name, {}))


def test_every_cheat_has_its_outcome() -> None:
    files = {path.stem for path in CHEATS.glob("*.py")}
    assert files == {*READ, *REFUSED, *JUDGED, *AT_THE_END, *EITHER}
    assert len(files) >= 40


@pytest.mark.parametrize("name", READ)
def test_refused_by_reading(name: str, tmp_path: Path) -> None:
    folder = folder_for(name, tmp_path)
    with pytest.raises(Deep500Error, match=READ[name]):
        submit(folder, CHEATS / f"{name}.py", name, "closed")


@pytest.mark.parametrize("name", cells(REFUSED | AT_THE_END))
def test_refused_by_a_layer(name: str, tmp_path: Path) -> None:
    layer, reason = (REFUSED | AT_THE_END)[name]
    folder = folder_for(name, tmp_path)
    outcome = judged(folder, CHEATS / f"{name}.py")
    assert not outcome.judgement.accepted
    assert outcome.judgement.layer == layer, outcome.judgement
    assert reason in outcome.judgement.reason
    lines, _ = folder.log.read()
    assert (lines[-1].event, lines[-1].layer) == ("refused", layer)
    assert [*(folder.path / "results").iterdir()] == []
    assert "\x1b" not in outcome.judgement.reason


@pytest.mark.parametrize("name", cells(JUDGED))
def test_judged_without_a_gain(name: str, tmp_path: Path) -> None:
    outcome = judged(folder_for(name, tmp_path), CHEATS / f"{name}.py")
    assert outcome.judgement.accepted, outcome.judgement
    JUDGED[name](outcome)
    assert outcome.bundle is not None and verify(outcome.bundle).ok


@pytest.mark.slow
@pytest.mark.parametrize("name", EITHER)
def test_counted_or_refused(name: str, tmp_path: Path) -> None:
    outcome = judged(folder_for(name, tmp_path), CHEATS / f"{name}.py")
    if outcome.judgement.accepted:
        all_time_counted(outcome)
    else:
        assert outcome.judgement.layer == EITHER[name], outcome.judgement


@pytest.mark.slow
def test_the_judge_and_its_machine_survive_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the worst of them, an honest submission is judged as before, and nothing lies around."""
    from .cup import HONEST

    folder = opened(tmp_path / "cup")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for name in ("fork_bomb", "kills_everybody", "memory_of_many"):
        assert not judged(folder, CHEATS / f"{name}.py").judgement.accepted
    outcome = judged(folder, HONEST)
    honest_quality(outcome)
    assert [*temporary.glob("d5-contest-*")] == []
    assert os.getppid() > 0
