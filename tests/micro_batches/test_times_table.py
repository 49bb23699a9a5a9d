"""Times are kept across processes that are killed, and apart by machine, versions and shape."""

import json
from pathlib import Path

import pytest

import deep500 as d5
from deep500.contracts.convolution import ConvolutionProblem
from deep500.contracts.convolution_text import problem_of, problem_text
from deep500.micro_batches import times_table
from deep500.micro_batches.times_table import SEARCH, TimesTable
from deep500.micro_batches.timing import Timing

LINE = {
    "problem": "2x3x8x8,4x3x3",
    "direction": "forward",
    "plan": "2 direct",
    "threads": 1,
    "purpose": SEARCH,
    "seconds": 1e-3,
    "low": 9e-4,
    "high": 2e-3,
    "n": 30,
}
KEY = ("2x3x8x8,4x3x3", "forward", "2 direct", 1, SEARCH)


def test_a_time_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "times.jsonl"
    added = TimesTable(path).add(**LINE)
    assert TimesTable(path).find(*KEY) == added
    assert TimesTable(path).find("2x3x8x8,4x3x3", "data", "2 direct", 1, SEARCH) is None
    assert TimesTable(path).find(*KEY[:3], 2, SEARCH) is None


def test_what_a_killed_process_left_harms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "times.jsonl"
    TimesTable(path).add(**LINE)
    whole = path.read_bytes()
    for length in (1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole + whole[:length])
        table = TimesTable(path)
        assert table.find(*KEY) is not None
        table.add(**{**LINE, "plan": "2 im2col"})
        again = TimesTable(path)
        assert again.find(*KEY) is not None
        assert again.find(*KEY[:2], "2 im2col", 1, SEARCH) is not None


def test_other_machines_and_versions_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "times.jsonl"
    TimesTable(path).add(**LINE)
    for name in ("machine", "versions"):
        with monkeypatch.context() as patch:
            patch.setattr(times_table, name, lambda: "another")
            assert TimesTable(path).find(*KEY) is None
    path.write_text(path.read_text() + json.dumps({"machine": 1}) + "\nnothing\n")
    assert TimesTable(path).find(*KEY) is not None


def test_a_table_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(d5.Deep500Error, match="DEEP500_HOME"):
        TimesTable(tmp_path / "file" / "times.jsonl").add(**LINE)


def test_what_is_known_is_not_measured_again(tmp_path: Path) -> None:
    problem = ConvolutionProblem(2, 3, 8, 8, 4, (3, 3))
    said: list[str] = []
    names = ("direct", "im2col")
    for _ in range(2):
        timing = Timing(TimesTable(tmp_path / "times.jsonl"), 1, said.append)
        kernels = timing.kernels(problem, "forward", [1, 2], names, 1 << 30)
    assert said == [f"timing forward {n}x3x8x8,4x3x3" for n in (1, 2)]
    assert {(k.algorithm, k.examples) for k in kernels} == {
        (name, size) for name in names for size in (1, 2)
    }
    assert all(kernel.seconds > 0 for kernel in kernels)
    none = timing.kernels(problem, "forward", [2], ["im2col"], 0)
    assert none == []


@pytest.mark.parametrize(
    "text",
    [
        "8x64x56x56,128x3x3",
        "1x4x9x8,6x3x1,pad=1x0,stride=2x1,dilation=1x2,groups=2",
        "1x4x9x8,6x3x2,pad=1x0x2x1,dtype=float64",
        "2x3x8x8,4x3x3,pad=1,stride=2",
    ],
)
def test_convolutions_as_text(text: str) -> None:
    problem = problem_of(text)
    assert problem_of(problem_text(problem)) == problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("8x64x56,64x3x3", "is no convolution: write"),
        ("8x64x56x56", "is no convolution"),
        ("8x64x56x56,64x3x3,pad=-1", "is no convolution"),
        ("8x64x56x56,64x3x3,stride=0", "is no convolution"),
        ("8x64x56x56,64x3x3,pads=1", "Did you mean 'pad'"),
        ("8x64x2x2,64x3x3", "larger than the padded input"),
        ("8x64x56x56,64x3x3,groups=3", "do not fall into 3 groups"),
        ("8x64x56x56,64x3x3,dtype=int8", "there are float32 and float64"),
    ],
)
def test_malformed_convolutions_are_refused(text: str, message: str) -> None:
    with pytest.raises(d5.Deep500Error, match=message):
        problem_of(text)
