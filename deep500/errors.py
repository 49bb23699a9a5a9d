"""The errors that Deep500 raises for users, and how their messages are written.

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

    def __init__(self, module: str, name: str, names: Collection[str]):
        super().__init__(module, name, names)

    def __str__(self) -> str:
        module, name, names = self.args
        suggestion = did_you_mean(name, names)
        return f"module {module!r} has no attribute {name!r}.{suggestion}"


def unknown(
    category: str, name: str, names: Collection[str], listed: str = ""
) -> Deep500Error:
    """The error for an unknown name: it suggests the nearest of `names` and lists all (or says `listed` instead)."""
    choices = listed or ", ".join(names) or "none"
    suggestion = did_you_mean(name, names)
    return Deep500Error(
        f"no {category} is named {name!r}.{suggestion} Known: {choices}"
    )


def lacking(definition: object, method: str) -> Deep500Error:
    """The error for a method that every definition of a kind needs and that this one does not have."""
    name = type(definition).__name__
    return Deep500Error(
        f"{name} has no method {method!r}, which it needs: write one in its class"
    )


def did_you_mean(name: str, names: Collection[str]) -> str:
    """The sentence " Did you mean 'x'?" with the nearest of `names`, to append to another; empty if none is near."""
    import difflib  # needed by mistakes only

    by_lower_case = {candidate.lower(): candidate for candidate in names}
    nearest = difflib.get_close_matches(name.lower(), by_lower_case, 1)
    if not nearest:
        return ""
    suggestion = by_lower_case[nearest[0]]
    return f" Did you mean {suggestion!r}?"


def one_line(error: BaseException, limit: int = 200, kind: bool = False) -> str:
    """The message of an exception on one line, with control characters escaped; with `kind` its type comes first."""
    text = visible(_message(error)[:limit])
    name = visible(type(error).__name__)
    if not text:
        return name
    return f"{name}: {text}" if kind else text


@contextmanager
def errors_of_user_code(activity: str) -> Iterator[None]:
    """Turn an error that a user's own function raises into a Deep500Error that names the function; keep all others."""
    try:
        yield
    except Deep500Error:
        raise
    except Exception as error:
        place = _user_function(error)
        if place is None:
            raise
        message = one_line(error, kind=True)
        raise Deep500Error(f"{activity}: {place} raised {message}") from error


def _user_function(error: Exception) -> str | None:
    """The innermost function of an error's traceback that is neither ours nor installed, with file and line."""
    import sysconfig
    import traceback

    installed = [str(Path(__file__).parent), *sysconfig.get_paths().values()]
    not_user_code = ("<", *(folder + "/" for folder in installed))
    frames = list(traceback.walk_tb(error.__traceback__))
    for frame, line in reversed(frames):
        code = frame.f_code
        if not code.co_filename.startswith(not_user_code):
            file = Path(code.co_filename).name
            return f"{code.co_qualname} ({file}, line {line})"
    return None


def _message(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())
    except Exception:  # a user's own exception may fail even at this
        return ""


def visible(text: str) -> str:
    """The text with every character that controls a terminal, or is invisible in it, escaped: ESC becomes \\x1b."""
    return text.translate(_ESCAPES)


class HiddenCharacters(dict[int, str]):
    """A table for str.translate that replaces hidden or harmful characters; entries are added as they are needed."""

    def __init__(self, escape: Callable[[str], str]) -> None:
        self.escape = escape

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if _is_hidden(character):
            self[code] = self.escape(character)
        else:
            self[code] = character
        return self[code]


def _is_hidden(character: str) -> bool:
    """Whether it is a control, format, direction or surrogate character, or one that is drawn as nothing."""
    import unicodedata

    if unicodedata.category(character) in _HIDDEN:
        return True
    code = ord(character)
    return any(first <= code <= last for first, last in _DRAWN_AS_NOTHING)


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
