"""The line of progress: redrawn on a terminal, seldom elsewhere, and gone in the end."""

import io
import re
import threading

import pytest

from deep500 import progress
from deep500.progress import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_a_terminal_shows_bar_share_and_text() -> None:
    stream = Terminal()
    threads = threading.active_count()
    with ProgressLine(stream) as line:
        line(0.25, "first [bold]text[/bold]\nof two lines")
        line(1.0, "second text")
        # nothing draws while something is measured
        assert threading.active_count() == threads
    drawn = plain(stream.getvalue())
    assert " 25% first [bold]text[/bold] of two lines" in drawn
    assert "━" * progress.BAR_WIDTH + " 100% second text" in drawn
    assert (
        stream.getvalue().count("\x1b[?25l")
        == stream.getvalue().count("\x1b[?25h")
        == 1
    )


def test_a_long_text_stays_on_one_line() -> None:
    stream = Terminal()
    with ProgressLine(stream) as line:
        line(0.5, "x" * 500)
    assert max(map(len, plain(stream.getvalue()).splitlines())) <= 100
    # the one that the erasing goes back over
    assert plain(stream.getvalue()).count("\n") == 1


def test_elsewhere_a_line_comes_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    stream = io.StringIO()
    with ProgressLine(stream) as line:
        for second in range(25):
            now = float(second)
            line(second / 25, f"at {second}")
    assert stream.getvalue() == "44% at 11\n88% at 22\n"


def test_nothing_is_drawn_by_a_line_that_is_never_called() -> None:
    stream = Terminal()
    with ProgressLine(stream):
        pass
    assert stream.getvalue() == ""


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_a_name_cannot_drive_the_terminal(stream: io.StringIO, monkeypatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    with ProgressLine(stream) as line:
        line(0.5, "evil\x1b[2J\nname\u202e")
    assert "evil\\x1b[2J name\\u202e" in stream.getvalue()
    assert "\x1b[2J" not in stream.getvalue()


def test_what_would_look_the_same_is_not_drawn_again() -> None:
    stream = Terminal()
    line = ProgressLine(stream)
    line(0.501, "here")
    drawn = len(stream.getvalue())
    line(0.503, "here")
    assert len(stream.getvalue()) == drawn > 0
    line(0.52, "here")
    line(0.52, "there")
    assert "52%" in stream.getvalue() and "there" in stream.getvalue()
    line.close()
    before = len(stream.getvalue())
    line(0.52, "there")
    assert len(stream.getvalue()) > before
