"""Commands are timed from start to end, within a deadline, and leave nothing behind."""

import time
from collections.abc import Mapping

import pytest

from deep500.errors import Deep500Error
from deep500.measure.candidates import Command, Level
from deep500.measure.commands import CommandSession
from deep500.measure.plan import PlanEntry


def elapsed_ns(command: Command, levels: Mapping[str, Level]) -> int:
    session = CommandSession([PlanEntry("the command", command, levels)])
    try:
        [[elapsed]] = session.block([1], [[0]]).ns
    finally:
        session.kill()
    return elapsed


def test_a_command_is_timed_from_start_to_end() -> None:
    assert 20_000_000 <= elapsed_ns(Command("sleep {s}"), {"s": 0.02}) < 10_000_000_000


def test_levels_are_text_in_commands() -> None:
    assert elapsed_ns(Command("test {n} = 7"), {"n": 7}) > 0
    with pytest.raises(Deep500Error, match="exit code 1"):
        elapsed_ns(Command("test {n} = 7"), {"n": 8})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("false", "exit code 1: no message"),
        ("no_such_command_d5", "cannot be started: No such file"),
        ("'unclosed", "parse"),
        ("", "empty"),
        ("echo broken >&2; exit 3", "exit code 3: broken"),
        ("kill -9 $PPID; sleep 1000", "ended by signal SIGKILL"),
        ("kill -STOP $PPID; sleep 1000", "did not end within 2 s"),
    ],
)
def test_commands_that_fail_say_why(text: str, message: str) -> None:
    with pytest.raises(Deep500Error, match=message) as error:
        elapsed_ns(Command(text, timeout_s=2.0 if "STOP" in text else 60.0), {})
    assert "\n" not in str(error.value)


def test_the_reason_is_of_the_command_that_failed() -> None:
    chatty, failing = Command("echo chatter >&2"), Command("(exit 3)")
    session = CommandSession([PlanEntry("a", chatty, {}), PlanEntry("b", failing, {})])
    try:
        with pytest.raises(Deep500Error, match="exit code 3: no message"):
            session.calibrate()
    finally:
        session.kill()


def test_a_command_that_never_ends_is_stopped_at_the_deadline() -> None:
    began = time.monotonic()
    with pytest.raises(Deep500Error, match="did not end within 0.3 s"):
        elapsed_ns(Command("sleep 1000 | sleep 1000", timeout_s=0.3), {})
    assert time.monotonic() - began < 60
