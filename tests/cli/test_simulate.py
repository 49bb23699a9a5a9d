"""`d5 simulate`: golden values of a GOAL file, intervals over seeds, bundles that are verified and resumed."""

import json
import shutil

import pytest

from deep500.bundle.records.verification import verify
from deep500.cli import main
from deep500.cluster.goal import write_goal
from deep500.cluster.patterns import dissemination

NOISE = "RandomDetours(every=1e-5, lasting=5e-6)"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


def simulated(capsys, *words):
    assert main(["simulate", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def goal(tmp_path):
    file = tmp_path / "x.goal"
    write_goal(dissemination(16), file, binary=False)
    return file


def test_a_goal_file(goal, capsys):
    numbers = simulated(capsys, goal)
    assert numbers["nanoseconds"] == [22000] * 16
    assert numbers["seconds"]["value"] == 22e-6
    assert numbers["seconds"]["exact"]
    assert numbers["path"]["activities"]["latency"] == 10000
    assert simulated(capsys, goal, "-L", 1000)["nanoseconds"][0] == 16000


def test_binary_is_the_same(goal, tmp_path, capsys):
    binary = tmp_path / "x.bin"
    simulated(capsys, goal, "--goal", binary)
    assert simulated(capsys, binary)["nanoseconds"] == [22000] * 16


def test_a_collective_over_seeds_of_noise(capsys):
    words = "Ring()", "--ranks", 8, "--size", "1KiB"
    quiet = simulated(capsys, *words)["seconds"]["value"]
    time = simulated(capsys, *words, "--noise", NOISE, "--seeds", 9)["seconds"]
    assert quiet < time["low"] <= time["value"] <= time["high"]
    assert time["n"] == 9
    few = simulated(capsys, *words, "--noise", NOISE, "--seeds", 3)["seconds"]
    assert few["low"] is None


def test_a_bundle_is_verified_shown_and_resumed(tmp_path, capsys):
    words = ["Ring()", "--noise", NOISE, "--seeds", "8"]
    whole = tmp_path / "whole"
    expected = simulated(capsys, *words, "--out", whole)
    assert not verify(whole).problems
    assert main(["show", str(whole)]) == 0
    assert "virtual ranks" in capsys.readouterr().out
    # killed behind three seeds: the fourth line is cut
    part = tmp_path / "part"
    part.mkdir()
    for name in ("plan.json", "environment.json"):
        shutil.copy(whole / name, part / name)
    lines = (whole / "samples.jsonl").read_bytes().splitlines(keepends=True)
    (part / "samples.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:20])
    for name in ("chain.json", "bundle.json"):
        if (whole / name).exists():
            shutil.copy(whole / name, part / name)
    resumed = simulated(capsys, *words, "--out", part, "--resume")
    assert resumed["seconds"] == expected["seconds"]


def test_a_forged_block_is_refused(tmp_path, capsys):
    folder = tmp_path / "a"
    simulated(capsys, "Ring()", "--out", folder)
    samples = folder / "samples.jsonl"
    text = samples.read_text()
    makespan = json.loads(text.splitlines()[0])
    assert makespan
    samples.write_text(text.replace('"makespan":', '"makespan":1', 1))
    assert verify(folder).problems


def test_a_page(tmp_path, capsys):
    folder = tmp_path / "a"
    simulated(capsys, "Ring()", "--noise", NOISE, "--out", folder, "--report")
    page = folder.with_name("a.html").read_text()
    assert "Timeline of the ranks" in page
    assert "Where the time went" in page


@pytest.mark.parametrize(
    "words, expected",
    [
        (["nothing"], "is no GOAL file, no collective and no recipe"),
        (["nothing.goal"], "No such file"),
        (["Ring()", "--ranks", "-3"], "--ranks -3"),
        (["Ring()", "-L", "-5"], "L=-5 of a network"),
        (["Ring()", "-L", "1.5"], "whole number"),
        (["Ring()", "-G", "nan"], "finite"),
        (["Ring()", "--size", "x"], "no size"),
        (["Ring()", "--noise", "Periodc()"], "Periodic"),
        (["Ring()", "--noise", "Periodic(every=1e-9)"], "work between them"),
        (["Ring()", "--speed", "99=2"], "ranks from 0 to 7"),
        (["Ring()", "--speed", "1=-2"], "speed of rank 1"),
        (["Ring()", "--stragglers", "2=2"], "share from 0 to 1"),
        (["Ring()", "--kill", "3=0"], "rank 3 died"),
        (["Ring()", "--near", "8:Q=3"], "--near 8:Q=3"),
        (["Ring()", "--near", "8:L=1", "--near", "2:L=1"], "ascending"),
        (["Ring()", "--seeds", "0"], "--seeds 0"),
        (["Ring()", "--resume"], "needs --out"),
        (["Ring()", "--network", "nothing"], "no such bundle"),
        (["digits_mlp", "--ranks", "100"], "100"),
        (["SparCML()"], "without its data"),
        (["Ring()", "--compute", "0"], "--compute is for a recipe"),
        (["digits_mlp", "--size", "4"], "--size is for a collective"),
    ],
)
def test_bad_input_is_one_line(words, expected, capsys):
    assert main(["simulate", *words]) == 2
    said = capsys.readouterr().err
    assert expected in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.parametrize("option", ["--ranks", "--size", "--steps"])
def test_a_goal_file_has_no_such_option(option, goal, capsys):
    assert main(["simulate", str(goal), option, "4"]) == 2
    said = capsys.readouterr().err
    assert f"{option} is for a " in said and "x.goal is a GOAL file" in said


def test_few_seeds_give_a_time_without_an_interval(capsys):
    words = ["Ring()", "--noise", NOISE, "--seeds"]
    assert main(["simulate", *words, "3"]) == 0
    said = capsys.readouterr().out
    assert "s (no interval: the median of 3 seeds)" in said.splitlines()[0]


def test_slow_ranks_that_compute_nothing_are_noted(goal, capsys):
    note = "No rank computes here"
    assert main(["simulate", "Ring()", "--speed", "3=2"]) == 0
    assert note in capsys.readouterr().out
    goal.write_text("num_ranks 1\nrank 0 {\na: calc 5\n}\n")
    assert main(["simulate", str(goal), "--speed", "0=2"]) == 0
    assert note not in capsys.readouterr().out


def test_a_recipe_learns_what_it_learns_on_virtual_ranks(capsys):
    words = "digits_logistic", "--ranks", 4, "--steps", 20, "--framework", "reference"
    numbers = simulated(
        capsys, *words, "--compute", 1e-6, "--noise", NOISE, "--seeds", 6
    )
    training = numbers["training"]
    assert training["losses"][-1] < training["losses"][0]
    assert training["qualities"]["accuracy"] > 50
    assert numbers["shares"]["work"] > 0
    assert numbers["seconds"]["low"] > 0
