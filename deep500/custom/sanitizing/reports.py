"""Parses the reports of GCC's sanitizers: what happened, at which line of the user's source, to which array."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..cpp import CppOp

USER = "/user"  # stands for the operator's folder in reports
PACKAGE = Path(__file__).parents[2]
SHOWN = 20  # lines of a report
LONGEST_LINE = 80  # characters of source
OPERATOR = "the operator"  # in texts without a line of the user's source
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
SIDES = {
    "to the left of": "before",
    "to the right of": "after",
    "inside of": "into",
}
SIGNALS = {
    "SEGV": "segmentation fault",
    "ABRT": "abort",
    "FPE": "arithmetic exception",
}


@dataclass(frozen=True)
class Finding:
    """One mistake: its kind, the user's line ("ipow.cpp:14" or ""), one line of text, the first lines of the report."""

    kind: str
    where: str
    text: str
    report: tuple[str, ...]


@dataclass(frozen=True)
class TensorMemory:
    """A tensor's memory in the program, under the name that the operator's function gives it."""

    name: str
    start: int
    bytes: int
    size: int

    def element(self, address: int) -> str:
        """The element at an address, as in "x[3]"."""
        itemsize = max(self.bytes // max(self.size, 1), 1)
        index = (address - self.start) // itemsize
        return f"{self.name}[{index}]"


@dataclass(frozen=True)
class ProgramMemory:
    """Maps the addresses and files of a report to the user's arrays and source files."""

    source: Path
    arrays: tuple[TensorMemory, ...]

    @classmethod
    def of(cls, op: CppOp, reply: Sequence[str]) -> "ProgramMemory":
        """Parse the lines in which the program printed where its arrays are."""
        names = _names(op)
        arrays = []
        for line in reply:
            match line.split():
                case [role, index, address, size, elements]:
                    name = names[role, int(index)]
                    start = int(address, 16)
                    arrays.append(TensorMemory(name, start, int(size), int(elements)))
        return cls(op.source.resolve(), tuple(arrays))

    def array_at(self, address: int) -> TensorMemory | None:
        for array in self.arrays:
            stop = array.start + max(array.bytes, 1)
            if array.start <= address < stop:
                return array
        return None

    def place(self, path: str, line: str) -> str:
        """A line of the user's code, with its file relative to the operator's; "" for any other code."""
        folder = self.source.parent
        file = folder / path
        if not file.is_file() or not file.is_relative_to(folder):
            return ""
        if file.is_relative_to(PACKAGE):
            return ""
        relative = file.resolve().relative_to(folder)
        return f"{relative}:{line}"

    def first_place(self, frames: Sequence[str]) -> str:
        """The innermost line of the user's code on a stack; "" if there is none."""
        for frame in frames:
            match = PLACE.search(frame)
            if match is None:
                continue
            place = self.place(match[1], match[2])
            if place:
                return place
        return ""

    def code(self, place: str) -> str:
        """The text of that line, to be put behind a sentence."""
        file, _, number = place.rpartition(":")
        if not file:
            return ""
        path = self.source.parent / file
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        stop = int(number)
        text = " ".join(lines[stop - 1 : stop]).strip()
        if not text:
            return ""
        return f": {text[:LONGEST_LINE]}"


def findings(report: str, memory: ProgramMemory, calls: int = 1) -> list[Finding]:
    """Everything in a report, each kind once for a line; `calls` is how many of them ran at once."""
    unique: dict[tuple[str, str], Finding] = {}
    for section in _sections(report):
        finding = _finding(section, memory, calls)
        if finding is not None:
            unique.setdefault((finding.kind, finding.where), finding)
    return [*unique.values()]


def _at(place: str) -> str:
    if not place:
        return ""
    return f" at {place}"


def _finding(
    section: "ReportSection", memory: ProgramMemory, calls: int
) -> Finding | None:
    head = section.lines[0]
    # the direct ones tell it
    if "Indirect leak" in head or "LeakSanitizer" in head:
        return None
    if "Direct leak" in head:
        return _leak(section, memory)
    if "runtime error: " in head:
        return _undefined(section, memory)
    if "data race" in head:
        return _race(section, memory, calls)
    return _bad_access(section, memory)


def _race(section: "ReportSection", memory: ProgramMemory, calls: int) -> Finding:
    accesses = []
    for line in section.lines:
        access = ACCESS.search(line)
        if access is not None:
            accesses.append(access)
    first, second = accesses[:2]
    frames = dict(section.stacks)  # a stack that is too old is missing
    where = memory.first_place(frames.get(first.string, []))
    elsewhere = memory.first_place(frames.get(second.string, []))
    kind, other = "data race", "another thread"
    if calls > 1:
        kind, other = "data race between calls", "another call of the operator"
    subject = where or OPERATOR
    verb = first[1].lower()
    other_verb = second[1].lower()
    address = int(first[2], 16)
    target = _shared(section, memory, address)
    code = memory.code(where)
    if code.startswith(": #pragma"):
        code = memory.code(elsewhere)
    this_access = f"{subject} {verb}s {target}"
    other_access = f"{other} {other_verb}s it{_at(elsewhere)}"
    text = f"{kind}: {this_access} while {other_access}{code}"
    return Finding(kind, where, text, section.shown)


def _shared(section: "ReportSection", memory: ProgramMemory, address: int) -> str:
    """The element or the variable that two threads access."""
    array = memory.array_at(address)
    if array is not None:
        return array.element(address)
    variable = re.search(r"Location is global '(\w+)'", section.text)
    if variable is None:
        return "a variable that both use"
    return variable[1]


def _bad_access(section: "ReportSection", memory: ProgramMemory) -> Finding:
    """A report of AddressSanitizer, or one of ThreadSanitizer's rarer ones."""
    kind = re.sub(r".*Sanitizer: (?:attempting )?", "", section.lines[0])
    kind = re.split(r" (?:on|in)\b| \(|:", kind)[0]
    kind = SIGNALS.get(kind, kind)
    where = ""
    for _, frames in section.stacks:
        where = where or memory.first_place(frames)
    subject = where or OPERATOR
    access = _access(section, memory, kind)
    text = f"{kind}: {subject}{access}{memory.code(where)}"
    return Finding(kind, where, text, section.shown)


def _access(section: "ReportSection", memory: ProgramMemory, kind: str) -> str:
    """The access and its target, as far as the report has them: " writes x[4], and x has 4 elements"."""
    access = ACCESS.search(section.text)
    if access:
        verb = access[1].lower()
        address = int(access[2], 16)
        target = _target(section, memory, kind, address)
        return f" {verb}s {target}"
    cause = re.search(r"caused by a (READ|WRITE) memory access", section.text)
    unknown = re.search(r"on unknown address (0x[0-9a-f]+)", section.text)
    if cause and unknown:
        verb = cause[1].lower()
        address = int(unknown[1], 16)
        return f" {verb}s the address {address:#x}"
    return ""


def _target(
    section: "ReportSection", memory: ProgramMemory, kind: str, address: int
) -> str:
    """The element, variable or block that an access was meant for."""
    array = None
    region = re.search(r"(\d+)-byte region \[(0x[0-9a-f]+),", section.text)
    if region:
        array = memory.array_at(int(region[2], 16))
    if array is not None:
        element = array.element(address)
        if "freed by" in section.text:
            return f"{element} of a call that has ended"
        return f"{element}, and {array.name} has {array.size} elements"
    variable = VARIABLE.search(section.text)
    if variable:
        name = variable[1] or variable[2]
        if "use-after" in kind:
            return f"the variable {name}"
        return f"outside of the variable {name}"
    block = BLOCK.search(section.text)
    if block:
        distance, side, size = block.groups()
        side = SIDES.get(side, side)
        return f"{distance} bytes {side} a block of {size} bytes"
    return f"the address {address:#x}"


def _undefined(section: "ReportSection", memory: ProgramMemory) -> Finding:
    place, _, message = section.lines[0].partition(": runtime error: ")
    path, line, *_ = [*place.rsplit(":", 2), ""]
    where = memory.place(path, line)
    for _, frames in section.stacks:
        where = where or memory.first_place(frames)
    kind = "undefined behaviour"
    subject = where or place
    text = f"{kind}: {subject} {message}{memory.code(where)}"
    return Finding(kind, where, text, section.shown)


def _leak(section: "ReportSection", memory: ProgramMemory) -> Finding:
    size = re.search(r"\d+", section.lines[0])
    assert size is not None
    where = memory.first_place(section.stacks[0][1])
    kind = "memory leak"
    subject = where or OPERATOR
    code = memory.code(where)
    text = f"{kind}: {subject} takes {size[0]} bytes that are never freed{code}"
    return Finding(kind, where, text, section.shown)


@dataclass(frozen=True)
class ReportSection:
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


def _sections(report: str) -> Iterator[ReportSection]:
    lines: list[str] = []
    for line in report.splitlines():
        if BEGINS.search(line):
            if lines:
                yield ReportSection(tuple(lines))
            lines = [line]
        elif lines:
            lines.append(line)
    if lines:
        yield ReportSection(tuple(lines))


def _names(op: CppOp) -> dict[tuple[str, int], str]:
    """The names of the parameters of forward and backward, by the role and the index of the array."""
    n = len(op.signature.inputs)
    m = len(op.signature.outputs)
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
        keys = []
        for role, count in parts:
            keys += [(role, index) for index in range(count)]
        parameters = _parameters(op.text, function)
        if len(parameters) != len(keys):
            parameters = [""] * len(keys)
        for key, parameter in zip(keys, parameters, strict=True):
            names[key] = parameter or _default_name(*key)
    return names


def _default_name(role: str, index: int) -> str:
    """The name of an array without a parameter name: "input 0" for the role "forward-input"."""
    _, _, kind = role.partition("-")
    return f"{kind} {index}"


def _parameters(code: str, function: str) -> list[str]:
    """The names of a function's parameters; "" for one without a name."""
    declaration = re.search(rf"\b{function}\s*\(([^)]*)\)", code)
    if declaration is None:
        return []
    names = []
    for parameter in declaration[1].split(","):
        name = re.sub(r".*?(\w*)\s*$", r"\1", parameter, flags=re.DOTALL)
        names.append(name)
    return names
