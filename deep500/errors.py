"""The errors that Deep500 raises for users, and how their messages are written.

Deep500Error          every error meant for users: one line, exit code 2
├── Incomplete        a definition lacks what its kind needs: it cannot be judged
├── Unsupported       a framework (or this machine) cannot do what was asked
├── Wrong             what was timed gives wrong results, so its times are not shown: exit code 1
└── Refused           it could be computed, and it would mislead
    └── TooFewSamples it could be computed honestly, from more data

Deep500Warning        a user should know it, and the run goes on: one line of `d5`, a warning in Python

InternalError         a defect of Deep500 itself, never a verdict about a user's code: exit code 70
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

UNDECIDED = 3  # the exit code of a verb that reached no verdict
INTERNAL = 70  # the exit code of a defect of Deep500 itself (EX_SOFTWARE of sysexits.h)


TRACEBACK = "DEEP500_TRACEBACK"  # an environment variable: 1 prints the traceback of an internal error


# what Python raises for a mistake in code, and a framework's own functions do not raise for an input
MISTAKES = (AttributeError, NameError, KeyError, AssertionError)


class Deep500Error(Exception):
    """An error meant for users; its text is one line that says what was asked, what there is and what to do."""


class Deep500Warning(UserWarning):
    """Something that a user should know, and that stops nothing."""


class Incomplete(Deep500Error):
    """A definition has no method of a name that its kind needs, or one of its methods returns None."""


class Unsupported(Deep500Error):
    """What was asked is not offered by this framework or machine."""


class Wrong(Deep500Error):
    """What was timed does not compute what it should."""


class Refused(Deep500Error):
    """What was asked would give a misleading number."""


class TooFewSamples(Refused):
    """There are too few samples (or too few independent ones) for the statement that was asked for."""


class InternalError(Exception):
    """A defect of Deep500 itself, found where a user's code is judged; it must not become a verdict about that code."""


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


def lacking(definition: object, method: str) -> Incomplete:
    """The error for a method that every definition of a kind needs and that this one does not have."""
    name = type(definition).__name__
    return Incomplete(
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
    except (Exception, SystemExit) as error:
        place = raising_function(error)
        if place is None:
            raise
        message = one_line(error, kind=True)
        raise Deep500Error(f"{activity}: {place} raised {message}") from error


def with_place(error: BaseException) -> str:
    """The kind and message of an exception on one line, and which of a user's functions raised it, if one did."""
    if isinstance(error, Deep500Error):
        return one_line(error)
    message = one_line(error, kind=True)
    place = raising_function(error)
    return f"{message}, in {place}" if place else message


def raise_if_internal(error: Exception) -> None:
    """Raise an InternalError if an exception came from Deep500's own code, with no function of a user on the way."""
    if isinstance(error, InternalError):
        raise error
    if isinstance(error, Deep500Error) or raising_function(error) is not None:
        return
    if innermost := _own_function(error):
        raise InternalError(internal_message(error, innermost)) from error


def raise_if_mistake(error: Exception) -> None:
    """The same where a framework runs below: what it raises itself for an input, such as a ValueError, is no defect."""
    if isinstance(error, (*MISTAKES, InternalError)):
        raise_if_internal(error)


def internal_message(error: Exception, place: str = "") -> str:
    """One line that calls an exception a defect of Deep500, and says where to report it."""
    place = place or _own_function(error) or "outside of Deep500's files"
    return (
        f"internal error: {one_line(error, kind=True)} in {place}; this is a defect of Deep500, not of your input: "
        f"run it again with {TRACEBACK}=1 and report what it prints, as CONTRIBUTING.md describes"
    )


def place_of(function: Callable) -> str:
    """A function or method by name, with the file and line in which it begins."""
    name = getattr(function, "__qualname__", str(function))
    code = getattr(function, "__code__", None)
    if code is None:
        return name
    return f"{name} ({Path(code.co_filename).name}, line {code.co_firstlineno})"


def _own_function(error: Exception) -> str | None:
    """The innermost function of an error's traceback if it is one of Deep500, with file and line."""
    import traceback

    package = Path(__file__).parent
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return None
    frame, line = frames[-1]
    file = Path(frame.f_code.co_filename)
    if not file.is_relative_to(package):
        return None
    return f"{file.relative_to(package)}, line {line}"


def raising_function(error: BaseException) -> str | None:
    """The innermost function of an error's traceback that is neither ours nor installed, with file and line."""
    import traceback

    return user_function(list(traceback.walk_tb(error.__traceback__)))


def user_function(frames: Sequence[tuple[FrameType, int]]) -> str | None:
    """The last of these frames that is neither of ours nor installed: its function, with file and line."""
    from .import_path import is_users_path

    for frame, line in reversed(frames):
        code = frame.f_code
        if not code.co_filename.startswith("<") and is_users_path(code.co_filename):
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
