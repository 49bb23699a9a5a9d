"""Text that comes from files: made harmless, marked by what it is, and left to the renderers to escape.

A cell or a sentence is a str or a list of them. A plain str is text; its subclasses say what else it may be:
Code (a name or statement), Verdict (one of the words below), tables.Number (a value with interval and n).
"""

import json
import math
from collections.abc import Sequence
from typing import TypeAlias

from ..errors import visible

Text: TypeAlias = "str | Sequence[Text]"
MOST_CHARACTERS = 10_000  # that are shown of one text
VERDICTS = ("faster", "slower", "same", "inconclusive", "refused")


class Code(str):
    """A name, a statement, a path: set in a fixed-width font."""


class Verdict(str):
    """One of VERDICTS, shown as a word with a colour."""


def verdict_of(word: object) -> Verdict:
    """The verdict of a comparison; what is none of the known words is a refusal."""
    return (
        Verdict(word)
        if isinstance(word, str) and word in VERDICTS
        else Verdict("refused")
    )


def listed(parts: Sequence[Text], separator: str = ", ") -> list[Text]:
    """The parts with a separator between them."""
    return [x for part in parts for x in (separator, part)][1:]


def flat(text: Text) -> list[str]:
    """The parts of nested texts, in order."""
    return (
        [text]
        if isinstance(text, str)
        else [part for nested in text for part in flat(nested)]
    )


def clean(text: object) -> str:
    """Text from a file on one line; what could drive a terminal, or hide in a statement, is shown as an escape."""
    short = shortened(str(text).strip(), MOST_CHARACTERS)
    return visible(short.replace("\r\n", "\n").replace("\n", " ⏎ ").replace("\t", " "))


def harmless(text: str) -> str:
    """As `clean`, for the renderers: lines and spaces stay as they are."""
    return "\n".join(map(visible, text.split("\n")))


def shortened(text: str, most: int) -> str:
    """At most that many characters, with the middle left out: both ends tell statements apart."""
    if len(text) <= most:
        return text
    tail = math.ceil((most - 1) / 3)
    return text[: most - 1 - tail] + "…" + text[-tail:]


def plain(value: object) -> str:
    """Any value of a JSON document on one line."""
    return clean(
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, default=str)
    )
