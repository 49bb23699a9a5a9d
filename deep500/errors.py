"""What Deep500 says when something cannot be done.

Deep500Error          every error meant for users: one line, exit code 2
├── Unsupported       a framework (or this machine) cannot do what was asked
├── Wrong             what was timed gives wrong results, so its times are not shown: exit code 1
└── Refused           it could be computed, and it would mislead
    └── TooFewSamples it could be computed honestly, from more data
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

UNDECIDED = 3  # the exit code of a verb that reached no verdict


class Deep500Error(Exception):
    """An error meant for users; its text is one line that says what was asked, what there is and what to do."""


class Unsupported(Deep500Error):
    """What was asked is not offered by this framework or machine."""


class Wrong(Deep500Error):
    """What was timed does not compute what it should."""


class Refused(Deep500Error):
    """What was asked would give a misleading number."""


class TooFewSamples(Refused):
    """There are too few samples (or too few independent ones) for the statement that was asked for."""


class NoAttribute(AttributeError):
    """A module lacks a name. Its text is made when it is read: Python raises and drops such errors at every import."""

    def __init__(self, module: str, name: str, known: Collection[str]):
        super().__init__(module, name, known)

    def __str__(self) -> str:
        module, name, known = self.args
        return (
            f"module {module!r} has no attribute {name!r}.{did_you_mean(name, known)}"
        )


def unknown(
    what: str, name: str, known: Collection[str], listed: str = ""
) -> Deep500Error:
    """The error for a name that is not known: the nearest one that is, and all of them (or `listed`, if many)."""
    names = listed or ", ".join(known) or "none"
    return Deep500Error(
        f"no {what} is named {name!r}.{did_you_mean(name, known)} Known: {names}"
    )


def lacking(definition: object, method: str) -> Deep500Error:
    """The error for a method that every definition of a kind needs and that this one does not have."""
    name = type(definition).__name__
    return Deep500Error(
        f"{name} has no method {method!r}, which it needs: write one in its class"
    )


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A question with the nearest known name, to put behind a sentence; empty if none is near."""
    import difflib  # needed by mistakes only

    by_lower_case = {word.lower(): word for word in known}
    near = difflib.get_close_matches(name.lower(), by_lower_case, 1)
    return f" Did you mean {by_lower_case[near[0]]!r}?" if near else ""


def one_line(error: BaseException, limit: int = 200, kind: bool = False) -> str:
    """What an exception says, on one line and with escapes made visible; with `kind` its type comes first."""
    text = visible(_said(error)[:limit])
    name = visible(type(error).__name__)
    if not text:
        return name
    return f"{name}: {text}" if kind else text


@contextmanager
def errors_of_user_code(what: str) -> Iterator[None]:
    """An error that comes from a user's own function becomes a Deep500Error that says where; ours stay as they are."""
    try:
        yield
    except Deep500Error:
        raise
    except Exception as error:
        place = _user_function(error)
        if place is None:
            raise
        raise Deep500Error(
            f"{what}: {place} raised {one_line(error, kind=True)}"
        ) from error


def _user_function(error: Exception) -> str | None:
    """The innermost function of an error's traceback that is neither ours nor installed, with file and line."""
    import sysconfig
    import traceback

    installed = [str(Path(__file__).parent), *sysconfig.get_paths().values()]
    foreign = ("<", *(folder + "/" for folder in installed))
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        code = frame.f_code
        if not code.co_filename.startswith(foreign):
            return f"{code.co_qualname} ({Path(code.co_filename).name}, line {line})"
    return None


def _said(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())
    except Exception:  # a user's own exception may fail even at this
        return ""


def visible(text: str) -> str:
    """The text with every character that drives a terminal, or hides in it, as its escape: ESC becomes \\x1b."""
    return text.translate(_ESCAPES)


class HiddenCharacters(dict[int, str]):
    """For str.translate: what to write for characters that are hidden or harmful; it fills itself as it is used."""

    def __init__(self, written: Callable[[str], str]) -> None:
        self.written = written

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = self.written(character) if _is_hidden(character) else character
        return self[code]


def _is_hidden(character: str) -> bool:
    """Whether it is a control, format or direction character, half a surrogate, or one that is drawn as nothing."""
    import unicodedata

    if unicodedata.category(character) in _HIDDEN:
        return True
    return any(first <= ord(character) <= last for first, last in _DRAWN_AS_NOTHING)


_ESCAPES = HiddenCharacters(
    lambda character: character.encode("unicode_escape").decode()
)
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
# Letters and marks of Unicode that leave a blank, or nothing, where they stand.
_DRAWN_AS_NOTHING = (
    (0x34F, 0x34F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
