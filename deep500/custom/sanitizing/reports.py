"""From what GCC's sanitizers write to findings: what happened, at which line of the user's source, to which array."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..cpp import CppOp

USER = "/user"  # stands for the operator's folder in reports
PACKAGE = Path(__file__).parents[2]
SHOWN = 20  # lines of a report
LONGEST_LINE = 80  # characters of source
BEGINS = re.compile(
    r"WARNING: ThreadSanitizer: |ERROR: \w+Sanitizer: |: runtime error: |^Direct leak of |^Indirect leak of "
)
FRAME = re.compile(r"^\s*#\d+ ")
PLACE = re.compile(rf"{USER}/([^:]+):(\d+)")
ACCESS = re.compile(r"\b(read|write) of size \d+ at (0x[0-9a-f]+)", re.IGNORECASE)

VARIABLE = re.compile(
    r"'(\w+)'(?: \(line \d+\))? <== Memory access|global variable '(\w+)"
)
BLOCK = re.compile(
    r"is located (\d+) bytes (to the left of|to the right of|before|after|inside of) (\d+)-byte region"
)
SIDES = {"to the left of": "before", "to the right of": "after", "inside of": "into"}
SIGNALS = {"SEGV": "segmentation fault", "ABRT": "abort", "FPE": "arithmetic exception"}


@dataclass(frozen=True)
class Finding:
    """One mistake: its kind, the user's line ("ipow.cpp:14" or ""), one line of text, the first lines of the report."""

    kind: str
    where: str
    text: str
    report: tuple[str, ...]


@dataclass(frozen=True)
class Array:
    """A tensor's memory in the program, under the name that the operator's function gives it."""

    name: str
    start: int
    bytes: int
    size: int

    def element(self, address: int) -> str:
        itemsize = max(self.bytes // max(self.size, 1), 1)
        return f"{self.name}[{(address - self.start) // itemsize}]"


@dataclass(frozen=True)
class Memory:
    """What the addresses and files of a report mean to the user."""

    source: Path
    arrays: tuple[Array, ...]

    @classmethod
    def of(cls, op: CppOp, reply: Sequence[str]) -> "Memory":
        """From the lines in which the program said where its arrays are."""
        names = _names(op)
        arrays = []
        for line in reply:
            match line.split():
                case [role, index, address, size, elements]:
                    name = names[role, int(index)]
                    arrays.append(
                        Array(name, int(address, 16), int(size), int(elements))
                    )
        return cls(op.source.resolve(), tuple(arrays))

    def array_at(self, address: int) -> Array | None:
        for array in self.arrays:
            if array.start <= address < array.start + max(array.bytes, 1):
                return array
        return None

    def place(self, path: str, line: str) -> str:
        """A line of the user's, with its file relative to the operator's; nothing for other people's."""
        folder = self.source.parent
        file = folder / path
        if (
            not file.is_file()
            or not file.is_relative_to(folder)
            or file.is_relative_to(PACKAGE)
        ):
            return ""
        return f"{file.resolve().relative_to(folder)}:{line}"

    def first_place(self, frames: Sequence[str]) -> str:
        """The innermost line of the user's on a stack."""
        for frame in frames:
            found = PLACE.search(frame)
            place = self.place(found[1], found[2]) if found else ""
            if place:
                return place
        return ""

    def code(self, place: str) -> str:
        """The text of that line, to be put behind a sentence."""
        file, _, line = place.rpartition(":")
        if not file:
            return ""
        lines = (
            (self.source.parent / file)
            .read_text(encoding="utf-8", errors="replace")
            .split("\n")
        )
        text = " ".join(lines[int(line) - 1 : int(line)]).strip()
        return f": {text[:LONGEST_LINE]}" if text else ""


def findings(report: str, memory: Memory, calls: int = 1) -> list[Finding]:
    """Everything in a report, each kind once for a line; `calls` is how many of them ran at once."""
    found: dict[tuple[str, str], Finding] = {}
    for section in _sections(report):
        finding = _finding(section, memory, calls)
        if finding is not None:
            found.setdefault((finding.kind, finding.where), finding)
    return [*found.values()]


def _at(place: str) -> str:
    return f" at {place}" if place else ""


def _finding(section: "Section", memory: Memory, calls: int) -> Finding | None:
    head = section.lines[0]
    if "Indirect leak" in head or "LeakSanitizer" in head:  # the direct ones tell it
        return None
    if "Direct leak" in head:
        return _leak(section, memory)
    if "runtime error: " in head:
        return _undefined(section, memory)
    if "data race" in head:
        return _race(section, memory, calls)
    return _bad_access(section, memory)


def _race(section: "Section", memory: Memory, calls: int) -> Finding:
    first, second = [
        ACCESS.search(line) for line in section.lines if ACCESS.search(line)
    ][:2]
    assert first is not None and second is not None
    frames = dict(section.stacks)  # a stack that is too old is missing
    where = memory.first_place(frames.get(first.string, []))
    elsewhere = memory.first_place(frames.get(second.string, []))
    kind = "data race" if calls == 1 else "data race between calls"
    other = "another thread" if calls == 1 else "another call of the operator"
    what = _shared(section, memory, int(first[2], 16))
    code = memory.code(where)
    if code.startswith(": #pragma"):
        code = memory.code(elsewhere)
    text = (
        f"{kind}: {where or 'the operator'} {first[1].lower()}s {what} while {other} "
        f"{second[1].lower()}s it{_at(elsewhere)}{code}"
    )
    return Finding(kind, where, text, section.shown)


def _shared(section: "Section", memory: Memory, address: int) -> str:
    array = memory.array_at(address)
    if array is not None:
        return array.element(address)
    variable = re.search(r"Location is global '(\w+)'", section.text)
    return variable[1] if variable else "a variable that both use"


def _bad_access(section: "Section", memory: Memory) -> Finding:
    """A report of AddressSanitizer, or one of ThreadSanitizer's rarer ones."""
    kind = re.sub(r".*Sanitizer: (?:attempting )?", "", section.lines[0])
    kind = re.split(r" (?:on|in)\b| \(|:", kind)[0]
    kind = SIGNALS.get(kind, kind)
    places = [memory.first_place(frames) for _, frames in section.stacks]
    where = next((place for place in places if place), "")
    deed = _deed(section, memory, kind)
    text = f"{kind}: {where or 'the operator'}{deed}{memory.code(where)}"
    return Finding(kind, where, text, section.shown)


def _deed(section: "Section", memory: Memory, kind: str) -> str:
    """What was done to what, as far as the report tells."""
    access = ACCESS.search(section.text)
    if access:
        return f" {access[1].lower()}s {_target(section, memory, kind, int(access[2], 16))}"
    caused = re.search(r"caused by a (READ|WRITE) memory access", section.text)
    address = re.search(r"on unknown address (0x[0-9a-f]+)", section.text)
    if caused and address:
        return f" {caused[1].lower()}s the address {int(address[1], 16):#x}"
    return ""


def _target(section: "Section", memory: Memory, kind: str, address: int) -> str:
    region = re.search(r"(\d+)-byte region \[(0x[0-9a-f]+),", section.text)
    array = memory.array_at(int(region[2], 16)) if region else None
    if array is not None and "freed by" in section.text:
        return f"{array.element(address)} of a call that has ended"
    if array is not None:
        return f"{array.element(address)}, and {array.name} has {array.size} elements"
    variable = VARIABLE.search(section.text)
    if variable:
        relation = "" if "use-after" in kind else "outside of "
        return f"{relation}the variable {variable[1] or variable[2]}"
    block = BLOCK.search(section.text)
    if block:
        return f"{block[1]} bytes {SIDES.get(block[2], block[2])} a block of {block[3]} bytes"
    return f"the address {address:#x}"


def _undefined(section: "Section", memory: Memory) -> Finding:
    place, _, message = section.lines[0].partition(": runtime error: ")
    path, line, *_ = [*place.rsplit(":", 2), ""]
    where = memory.place(path, line)
    if not where:
        where = memory.first_place(
            [frame for _, frames in section.stacks for frame in frames]
        )
    kind = "undefined behaviour"
    text = f"{kind}: {where or place} {message}{memory.code(where)}"
    return Finding(kind, where, text, section.shown)


def _leak(section: "Section", memory: Memory) -> Finding:
    size = re.search(r"\d+", section.lines[0])
    assert size is not None
    where = memory.first_place(section.stacks[0][1])
    kind = "memory leak"
    text = (
        f"{kind}: {where or 'the operator'} takes {size[0]} bytes that are never freed"
        f"{memory.code(where)}"
    )
    return Finding(kind, where, text, section.shown)


@dataclass(frozen=True)
class Section:
    """One report among those that a run wrote."""

    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def shown(self) -> tuple[str, ...]:
        return self.lines[:SHOWN]

    @property
    def stacks(self) -> list[tuple[str, list[str]]]:
        """Each stack with the line above it."""
        stacks: list[tuple[str, list[str]]] = []
        above = ""
        for line in self.lines:
            if not FRAME.match(line):
                above = line
                continue
            if " #0 " in line:
                stacks.append((above, []))
            if stacks:
                stacks[-1][1].append(line)
        return stacks


def _sections(report: str) -> Iterator[Section]:
    lines: list[str] = []
    for line in report.splitlines():
        if BEGINS.search(line):
            if lines:
                yield Section(tuple(lines))
            lines = [line]
        elif lines:
            lines.append(line)
    if lines:
        yield Section(tuple(lines))


def _names(op: CppOp) -> dict[tuple[str, int], str]:
    """What the operator's forward and backward call their pointers."""
    n, m = len(op.signature.inputs), len(op.signature.outputs)
    roles = {
        "forward": [("forward-input", n), ("forward-output", m)],
        "backward": [
            ("backward-grad", m),
            ("backward-input", n),
            ("backward-output", m),
            ("backward-result", n),
        ],
    }
    names = {}
    for function, parts in roles.items():
        keys = [(role, index) for role, count in parts for index in range(count)]
        own = _parameters(op.text, function)
        for position, key in enumerate(keys):
            given = own[position] if len(own) == len(keys) else ""
            names[key] = given or f"{key[0].partition('-')[2]} {key[1]}"
    return names


def _parameters(code: str, function: str) -> list[str]:
    found = re.search(rf"\b{function}\s*\(([^)]*)\)", code)
    if found is None:
        return []
    return [
        re.sub(r".*?(\w*)\s*$", r"\1", part, flags=re.DOTALL)
        for part in found[1].split(",")
    ]
