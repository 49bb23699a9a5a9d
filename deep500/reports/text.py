"""Text that comes from files: made harmless, marked by what it is, and left to the renderers to escape.

A cell or a sentence is a str or a list of them. A plain str is text; its subclasses say what else it may be:
Code (a name or statement), Link, VerdictWord (one of the words below), tables.Number (a value with interval and n).
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


class Link(str):
    """Text that leads to `href`, a relative path that this program has made, never one from data."""

    href: str

    def __new__(cls, text: str, href: str) -> "Link":
        self = super().__new__(cls, text)
        self.href = href
        return self


class VerdictWord(str):
    """One of VERDICTS, shown as a word with a colour."""


def verdict_of(word: object) -> VerdictWord:
    """The verdict of a comparison; anything but a known word is a refusal."""
    if isinstance(word, str) and word in VERDICTS:
        return VerdictWord(word)
    return VerdictWord("refused")


def counted(n: int, noun: str) -> str:
    """1 seed, 2 seeds."""
    return f"1 {noun}" if n == 1 else f"{n} {noun}s"


def listed(parts: Sequence[Text], separator: str = ", ") -> list[Text]:
    """The parts with a separator between them."""
    separated: list[Text] = []
    for part in parts:
        if separated:
            separated.append(separator)
        separated.append(part)
    return separated


def flat(text: Text) -> list[str]:
    """The parts of nested texts, in order."""
    if isinstance(text, str):
        return [text]
    parts = []
    for nested in text:
        parts += flat(nested)
    return parts


def clean(text: object) -> str:
    """Text from a file on one line; control and invisible characters are shown as escapes."""
    short = shortened(str(text).strip(), MOST_CHARACTERS)
    one_line = short.replace("\r\n", "\n").replace("\n", " ⏎ ")
    return visible(one_line.replace("\t", " "))


def harmless(text: str) -> str:
    """As `clean`, for the renderers: line breaks and spaces stay as they are."""
    return "\n".join(map(visible, text.split("\n")))


def shortened(text: str, most: int) -> str:
    """At most that many characters, with the middle left out: statements often differ at either end."""
    if len(text) <= most:
        return text
    tail = math.ceil((most - 1) / 3)
    head = most - 1 - tail
    return text[:head] + "…" + text[-tail:]


def plain(value: object) -> str:
    """Any value of a JSON document on one line."""
    if isinstance(value, str):
        return clean(value)
    return clean(json.dumps(value, ensure_ascii=False, default=str))
