"""What a report consists of: plain data, listed once per result and drawn by one renderer per format.

    Report(kicker, title, blocks, problems)
    Banner        the answer: verdicts, headline, figures, status
    Problems      what is wrong with the bundle itself
    Section       a heading with blocks below it
    Sentence, Bullets, Table, Preformatted
    Figures       pictures, drawn only when a page asks for them
    Details       what a page shows on demand
    PageOnly      what the terminal leaves out
    Footer        where the raw data lie

A text is a `text.Text`: a str or a list of them, some of which say what they are (Code, VerdictWord, Number).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .text import Text, VerdictWord

MOST_PROBLEMS = 20  # shown of a bundle


@dataclass(frozen=True)
class Banner:
    """The answer, which comes first: a page shows verdicts, headline and figures, other formats `sentence`."""

    sentence: Text
    headline: Text
    # how often each was given
    verdicts: Mapping[VerdictWord, int] = field(default_factory=dict)
    figures: Sequence[tuple[Text, Text]] = ()  # label and value
    status: Text = ""
    # what a page calls an answer without verdicts
    pill: str = field(default="measured", metadata={"page only": True})


@dataclass(frozen=True)
class Problems:
    """One line for everything that is wrong with a bundle; an empty list shows nothing."""

    lines: Sequence[str]
    headline: str = ""


@dataclass(frozen=True)
class Sentence:
    text: Text


@dataclass(frozen=True)
class Bullets:
    lines: Sequence[Text]


@dataclass(frozen=True)
class Table:
    """Headers, rows of cells and each column's alignment: l, r, or t for text that may be wrapped.

    A table without rows shows nothing.
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[Text]]
    align: str = ""


@dataclass(frozen=True)
class Preformatted:
    """Lines shown as they are, in a fixed-width font."""

    text: str


@dataclass(frozen=True)
class Picture:
    """An SVG with its title and the caption that says how to read it; `narrow` is the SVG for a phone."""

    name: str
    title: str
    svg: str
    caption: str
    narrow: str = ""


@dataclass(frozen=True)
class Figures:
    """Pictures; `draw` is called only by a renderer that can show them. `numbers` gives their content as tables."""

    draw: Callable[[], Sequence[Picture]]
    # by the picture's name
    numbers: Mapping[str, "Details"] = field(default_factory=dict)


@dataclass(frozen=True)
class Details:
    """Blocks that a page shows on demand; `long` ones are left out of Markdown, too."""

    summary: str
    blocks: Sequence["Block"]
    long: bool = False


@dataclass(frozen=True)
class Section:
    """A heading with blocks below it; without content it shows nothing. A `quiet` heading is not for the terminal."""

    title: str
    blocks: Sequence["Block"]
    quiet: bool = False


@dataclass(frozen=True)
class PageOnly:
    """What a page and Markdown show, and the terminal's short form leaves out."""

    blocks: Sequence["Block"]


@dataclass(frozen=True)
class Footer:
    """What stands last."""

    blocks: Sequence["Block"]


Block: TypeAlias = (
    Banner
    | Problems
    | Sentence
    | Bullets
    | Table
    | Preformatted
    | Figures
    | Details
    | Section
    | PageOnly
    | Footer
)


@dataclass(frozen=True)
class Report:
    """Everything that is shown of one result; `problems` are the reasons why it does not verify."""

    kicker: str
    title: str
    blocks: Sequence[Block]
    problems: Sequence[str] = ()

    @property
    def shown(self) -> list[Block]:
        """The blocks, below the problems."""
        return [*unverified(self.problems), *self.blocks]


def unverified(problems: Sequence[str], what: str = "this bundle") -> list[Block]:
    """The block that comes first if a bundle does not verify; nothing without problems."""
    if not problems:
        return []
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    headline = (
        f"NOT VERIFIED: {what} has {count}. Numbers below are computed from those samples whose hashes hold; "
        "everything else may have been changed."
    )
    lines = list(problems[:MOST_PROBLEMS])
    hidden = len(problems) - MOST_PROBLEMS
    if hidden > 0:
        lines.append(f"and {hidden} more: see `d5 verify`")
    return [Problems(lines, headline)]
