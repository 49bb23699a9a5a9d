"""`d5 doctor --noise` records detours that are there, in a file that the virtual cluster replays."""

import json
import os
import threading

from deep500.cli import main
from deep500.cluster.noise_recording import THRESHOLD, record_noise
from deep500.contracts.noise_trace import read_noise_trace


def test_a_trace_is_recorded_and_replayed(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    file = tmp_path / "noise.txt"
    assert main(["doctor", "--noise", str(file), "--budget", "0.3", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    trace = read_noise_trace(file)
    assert said["detours"] == len(trace.starts) - 1
    assert trace.period >= 0.3e9
    lengths = (trace.ends - trace.starts)[1:]
    assert all(lengths >= THRESHOLD)
    words = ["simulate", "Ring()", "--seeds", "3", "--json"]
    noise = f"RecordedDetours('{file}')"
    assert main([*words, "--noise", noise]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["seconds"]["n"] == 3


def test_what_takes_the_processor_away_is_seen():
    """A thread that competes for the only processor takes a share of the time."""
    allowed = os.sched_getaffinity(0)
    stop = threading.Event()

    def compete():
        while not stop.is_set():
            sum(range(10_000))

    thread = threading.Thread(target=compete)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        thread.start()
        trace = record_noise(1.0)
    finally:
        stop.set()
        thread.join()
        os.sched_setaffinity(0, allowed)
    assert trace.numbers()["share"] > 0.1


def test_a_budget_that_is_none(capsys):
    assert main(["doctor", "--noise", "x.txt", "--budget", "0"]) == 2
    assert "--budget 0" in capsys.readouterr().err


def test_a_file_that_cannot_be_is_refused_before_the_recording(tmp_path, capsys):
    file = tmp_path / "none" / "x.txt"
    assert main(["doctor", "--noise", str(file), "--budget", "600"]) == 2
    assert "there is no folder" in capsys.readouterr().err
