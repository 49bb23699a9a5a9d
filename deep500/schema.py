"""JSON documents as frozen dataclasses: their annotations say what a file from anyone may hold, and how it is written.

    @dataclass(frozen=True)
    class Block:
        process: Count
        ns: Sequence[Positive]
        load: Load | None = optional()

    block = decoded(Block, document, "samples.jsonl: block 3")
    document == encoded(block)

A field without a default must be in the document. Fields of a document that the class does not have are ignored, or are
collected in the one that is `others()`. Constraints are `Annotated` types; what no annotation can say, `__post_init__`
checks and raises a ValueError.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from .errors import Deep500Error

T = TypeVar("T")
Decoder = Callable[[Any], Any]
LONGEST = 60  # characters of a value, in a message

LARGE = 1e18  # from here on, no message says where a range ends


@dataclass(frozen=True)
class Between:
    """A number from `low` on and below `high`."""

    low: float
    high: float

    def __str__(self) -> str:
        if self.high < LARGE:
            return f"from {self.low:g} on and below {self.high:g}"
        if self.low > -LARGE:
            return f"from {self.low:g} on"
        return "that is finite"


@dataclass(frozen=True)
class Length:
    """So many elements of a list, or characters of a text, at most; with `least`, also so many at least."""

    most: int
    least: int = 0

    def __str__(self) -> str:
        return f"with {self.least} to {self.most} elements"


SCALARS = {bool, float, int, str, type(None)}
FINITE = Between(-1e300, 1e300)
Count = Annotated[int, Between(0, 1 << 62)]
Positive = Annotated[int, Between(1, 1 << 62)]
Share = Annotated[float, Between(0, 1 + 1e-12)]

_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    type(None): "null",
}


def optional(absent: object = None) -> Any:
    """A field that has this value if a document does not have it, and is not written if it has."""
    metadata = {"optional": True, "absent": absent}
    return field(default_factory=lambda: absent, metadata=metadata)


def named(key: str, **default: Any) -> Any:
    """A field that has another name in a document."""
    return field(metadata={"key": key}, **default)


def others() -> Any:
    """The field that holds all that the class has no field for."""
    return field(default_factory=dict, metadata={"others": True})


def inline() -> Any:
    """A dataclass whose fields are written among those of the one that has it, or None."""
    return field(default=None, metadata={"inline": True})


class Misfit(Exception):
    """A value that does not fit: where it stands below the place that is being read, and what was expected."""

    def __init__(self, value: object, expected: str, inside: bool = False) -> None:
        self.value = value
        self.expected = expected
        self.inside = inside  # the kind is right, and what it holds is not
        self.path: list[str] = []

    def below(self, step: object) -> "Misfit":
        self.path.insert(0, _short(step))
        return self

    @property
    def depth(self) -> int:
        return len(self.path) + self.inside

    def __str__(self) -> str:
        place = "".join(f"/{step}" for step in self.path)
        found = f" {_short(self.value)}, but"
        if self.value is MISSING:
            found = " missing:"
        return f"{place or 'it'} is{found} {self.expected} is expected"


def decoded(kind: type[T], document: object, where: str) -> T:
    """The document as an instance of that dataclass; else a Deep500Error: file, path in it, and what was expected."""
    try:
        return _decoder(kind)(document)  # type: ignore[arg-type]
    except Misfit as misfit:
        raise Deep500Error(f"{where}: {misfit}") from None


def encoded(value: Any) -> Any:
    """The JSON value of dataclasses, mappings, sequences and scalars."""
    if is_dataclass(value):
        return _object(value)
    if isinstance(value, Mapping):
        return {str(key): encoded(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        if set(map(type, value)) <= SCALARS:
            return list(value)
        return [encoded(member) for member in value]
    if isinstance(value, float):  # also one of NumPy
        return float(value)
    return value


def _object(value: Any) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for member in fields(value):
        content = encoded(getattr(value, member.name))
        if member.metadata.get("others"):
            document |= content
        elif member.metadata.get("inline"):
            document |= content or {}
        elif not _is_absent(member, content):
            document[_key(member)] = content
    return document


def _is_absent(member: "dataclasses.Field[Any]", content: object) -> bool:
    """Whether a field is left out of a document with this content."""
    if not member.metadata.get("optional"):
        return False
    return content == encoded(member.metadata["absent"])


def _key(member: "dataclasses.Field[Any]") -> str:
    """The key of a field in a document."""
    return member.metadata.get("key", member.name)


@cache
def _decoder(kind: Any) -> Decoder:
    """The function that checks a JSON value and makes of it what the annotation says."""
    origin = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if kind in (Any, object):
        return _anything
    if origin is Annotated:
        return _constrained(arguments[0], arguments[1:])
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is Literal:
        return _literal(arguments)
    if origin is tuple and arguments[-1] is not ...:
        return _fixed(arguments)
    if origin in (list, tuple, Sequence):
        return _list(arguments[0], origin is tuple)
    if origin in (dict, Mapping):
        return _mapping(arguments[1])
    if is_dataclass(kind):
        return _dataclass(kind)
    return _scalar(kind)


def _anything(value: Any) -> Any:
    return value


def _scalar(kind: type) -> Decoder:
    allowed = (int, float) if kind is float else (kind,)
    is_number = kind in (int, float)

    def decode(value: Any) -> Any:
        if type(value) not in allowed:
            raise Misfit(value, _WORDS[kind])
        if is_number and not _fits(value, FINITE):
            raise Misfit(value, f"{_WORDS[kind]} {FINITE}")
        return value

    return decode


def _constrained(kind: Any, constraints: Sequence[object]) -> Decoder:
    decode_plain = _decoder(kind)

    def decode(value: Any) -> Any:
        result = decode_plain(value)
        for constraint in constraints:
            if not _fits(result, constraint):
                raise Misfit(value, f"{_described(kind)} {constraint}")
        return result

    return decode


def _fits(value: Any, constraint: object) -> bool:
    if isinstance(constraint, Between):
        return constraint.low <= value < constraint.high
    if isinstance(constraint, Length):
        return constraint.least <= len(value) <= constraint.most
    return True


def _literal(choices: Sequence[object]) -> Decoder:
    def decode(value: Any) -> Any:
        for choice in choices:
            if type(choice) is type(value) and choice == value:
                return value
        raise Misfit(value, _one_of(choices))

    return decode


def _one_of(choices: Sequence[object]) -> str:
    """The choices of a Literal; typing takes Literals of other orders for the same one."""
    return " or ".join(sorted(map(repr, choices)))


def _union(kinds: Sequence[Any]) -> Decoder:
    """The first kind that fits; if none does, the misfit that lies deepest says why."""
    decoders = [_decoder(kind) for kind in kinds]
    expected = " or ".join(map(_described, kinds))

    def decode(value: Any) -> Any:
        deepest = Misfit(value, expected)
        for decode_one in decoders:
            try:
                return decode_one(value)
            except Misfit as misfit:
                if misfit.depth > deepest.depth:
                    deepest = misfit
        raise deepest

    return decode


def _list(kind: Any, as_tuple: bool) -> Decoder:
    decode_element = _decoder(kind)
    checked_at_once = _all_fit(kind)

    def decode(values: Any) -> Any:
        if not isinstance(values, list):
            raise Misfit(values, "a list")
        if checked_at_once(values):
            return tuple(values) if as_tuple else values
        elements = []
        for i, value in enumerate(values):
            try:
                elements.append(decode_element(value))
            except Misfit as misfit:
                raise misfit.below(i) from None
        return tuple(elements) if as_tuple else elements

    return decode


def _all_fit(kind: Any) -> Callable[[list[Any]], bool]:
    """Whether all elements of a list are numbers in their range: samples are too many to ask one by one."""
    constraints: list[object] = [FINITE]
    if typing.get_origin(kind) is Annotated:
        kind, *annotated = typing.get_args(kind)
        constraints += annotated
    by_kind: dict[object, set[type]] = {
        int: {int},
        float: {int, float},
        float | None: {int, float, type(None)},
    }
    allowed = by_kind.get(kind, set())

    def check(values: list[Any]) -> bool:
        if not values or not set(map(type, values)) <= allowed:
            return False
        numbers = values
        if type(None) in allowed:
            numbers = [value for value in values if value is not None]
        ends = (min(numbers, default=0), max(numbers, default=0))
        return all(_fits(end, one) for one in constraints for end in ends)

    return check


def _fixed(kinds: Sequence[Any]) -> Decoder:
    decoders = [_decoder(kind) for kind in kinds]

    def decode(values: Any) -> Any:
        if not isinstance(values, list) or len(values) != len(decoders):
            raise Misfit(values, f"a list of {len(decoders)}")
        elements = []
        for i, (decode_element, value) in enumerate(zip(decoders, values, strict=True)):
            try:
                elements.append(decode_element(value))
            except Misfit as misfit:
                raise misfit.below(i) from None
        return tuple(elements)

    return decode


def _mapping(kind: Any) -> Decoder:
    decode_member = _decoder(kind)

    def decode(document: Any) -> Any:
        if not isinstance(document, dict):
            raise Misfit(document, "an object")
        members = {}
        for key, value in document.items():
            try:
                members[key] = decode_member(value)
            except Misfit as misfit:
                raise misfit.below(key) from None
        return members

    return decode


def _dataclass(kind: Any) -> Decoder:
    hints = typing.get_type_hints(kind, include_extras=True)
    members = {member.name: member for member in fields(kind) if member.init}
    decoders = {}
    names: dict[str, str] = {}  # of the fields, by their keys
    inlined: dict[str, Any] = {}
    rest = None
    for name, member in members.items():
        if member.metadata.get("others"):
            rest = name
        elif member.metadata.get("inline"):
            [inlined[name]] = filter(is_dataclass, typing.get_args(hints[name]))
        else:
            key = _key(member)
            names[key] = name
            decoders[key] = _decoder(hints[name])
    required = [key for key in decoders if _is_required(members[names[key]])]

    def decode(document: Any) -> Any:
        if not isinstance(document, dict):
            raise Misfit(document, "an object")
        for key in required:
            if key not in document:
                expected = _described(hints[names[key]])
                raise Misfit(MISSING, expected).below(key)
        values: dict[str, Any] = {}
        others = {}
        for key, value in document.items():
            if key not in decoders:
                others[key] = value
                continue
            try:
                values[names[key]] = decoders[key](value)
            except Misfit as misfit:
                raise misfit.below(key) from None
        for name, inner in inlined.items():
            if any(member.name in others for member in fields(inner)):
                values[name] = _decoder(inner)(others)
        if rest:
            values[rest] = others
        try:
            return kind(**values)
        except ValueError as error:
            raise Misfit(document, str(error), inside=True) from None

    return decode


def _is_required(member: "dataclasses.Field[Any]") -> bool:
    return member.default is MISSING and member.default_factory is MISSING


def _described(kind: Any) -> str:
    """What is expected, in words."""
    origin = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin is Annotated:
        constraints = " ".join(map(str, arguments[1:]))
        return f"{_described(arguments[0])} {constraints}"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_described, arguments))
    if origin is Literal:
        return _one_of(arguments)
    if origin in (list, tuple, Sequence):
        return "a list"
    return _WORDS.get(kind, "an object")


def _short(value: object) -> str:
    """The beginning of a value from anyone, without control characters."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except ValueError:  # Python does not write out numbers of thousands of digits
        text = "a huge number"
    cut = text if len(text) <= LONGEST else text[:LONGEST] + "…"
    return cut.encode("unicode_escape").decode() if not cut.isprintable() else cut
