"""What can be timed: a statement, an importable function, a job, a shell command, or a callable of this process.

A candidate becomes a *timer*: a function from a number of calls to elapsed nanoseconds. Statements and functions
are spliced into one generator, so the setup runs once, its names are fast locals, and the timed loop is the same
`for _ in repeat(None, n)` that timeit uses.
"""

import ast
import importlib
import itertools
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any

from ..errors import Deep500Error, InternalError, lacking, one_line
from .clock import now
from .device_clock import DeviceClock, DeviceTimer

Timer = Callable[[int], int] | DeviceTimer
Level = int | float | str | bool

OURS = "_d5_"  # how the names in the timed loop begin
_LOOP = """
def _d5_loop(_d5_now, _d5_before, _d5_after, _d5_target, _d5_repeat):
    SETUP
    _d5_elapsed = None
    while _d5_count := (yield _d5_elapsed):
        _d5_calls = _d5_repeat(None, _d5_count)
        _d5_before()
        _d5_start = _d5_now()
        for _d5_ in _d5_calls:
            STATEMENT
        _d5_after()
        _d5_elapsed = _d5_now() - _d5_start
    TEARDOWN
    yield 0
"""


@dataclass(frozen=True)
class Statement:
    """Python source, timed as it stands; `setup` runs once before it in every process."""

    text: str
    setup: str = ""
    kind = "statement"
    engine = "fresh"

    def timer(
        self,
        levels: Mapping[str, Level],
        before: Callable | None,
        after: Callable | None,
    ) -> Timer:
        assignments = [f"{name} = {value!r}" for name, value in levels.items()]
        factors = _parse("\n".join(assignments), "factors")
        setup = factors + _parse(self.setup, "setup")
        statement = _parse(self.text, "statement")
        return _loop(setup, statement, None, before, after)


@dataclass(frozen=True)
class Function:
    """An importable function, `module:name`, called with the levels of the factors as keywords."""

    text: str
    setup: str = ""
    kind = "function"
    engine = "fresh"

    def timer(
        self,
        levels: Mapping[str, Level],
        before: Callable | None,
        after: Callable | None,
    ) -> Timer:
        setup = _parse(self.setup, "setup")
        call = _call(levels)
        return _loop(setup, call, resolve(self.text), before, after)


@dataclass(frozen=True)
class InProcess:
    """A callable that lives in this process and cannot be sent to another one."""

    target: Callable
    setup: str = ""
    kind = "callable"
    engine = "local"

    @property
    def text(self) -> str:
        module = getattr(self.target, "__module__", "?")
        name = getattr(self.target, "__qualname__", repr(self.target))
        return f"{module}.{name}"

    def timer(
        self,
        levels: Mapping[str, Level],
        before: Callable | None,
        after: Callable | None,
    ) -> Timer:
        return _loop([], _call(levels), self.target, before, after)


@dataclass(frozen=True)
class Command:
    """A shell command; every call is a fresh process. `{factor}` in it becomes the level's value."""

    text: str
    setup: str = ""
    timeout_s: float = 60.0
    kind = "command"
    engine = "command"

    def at(self, levels: Mapping[str, Level]) -> str:
        """The text at these levels."""
        text = self.text
        for name, value in levels.items():
            placeholder = "{" + name + "}"
            text = text.replace(placeholder, str(value))
        return text


class Subject:
    """What a job times: `run(*arguments)`. It is checked before the timing and after it."""

    run: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    # of the device that it runs on; None on the host, where a call returns when it has finished
    device_clock: DeviceClock | None = None

    def check(self) -> None:
        """Raise `Wrong` if a run gives a wrong result."""
        raise lacking(self, "check")

    def check_again(self) -> None:
        """The check after the timing; the subject is not used any more."""
        self.check()

    def facts(self) -> dict[str, Any]:
        """What its first run told, as JSON: flops, memory, which kernel …"""
        return {}


class DataCandidate:
    """A candidate that is data: a class and its settings, from which any process makes the subject."""

    kind = "job"
    engine = "fresh"
    setup = ""

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the class: numbers, texts, and lists or dictionaries of them."""
        raise NotImplementedError

    def subject(self) -> Subject:
        """What is timed; called in the process that times it."""
        raise lacking(self, "subject")

    @property
    def text(self) -> str:
        pairs = [f"{name}={value!r}" for name, value in self.settings.items()]
        return f"{type(self).__name__}({', '.join(pairs)})"

    def to_json(self) -> dict[str, Any]:
        """What another process reads with `candidate_from_json`."""
        # 9 ms that processes which time statements need not spend
        from ..import_address import class_address

        return {"class": class_address(type(self)), "settings": self.settings}

    def checked_subject(self) -> Subject:
        """The subject, after a first run that was right."""
        subject = self.subject()
        subject.check()
        return subject

    def timer(
        self,
        levels: Mapping[str, Level],
        before: Callable | None,
        after: Callable | None,
    ) -> Timer:
        with _setup_errors():
            subject = self.checked_subject()
        names = [f"{OURS}{i}" for i in range(len(subject.arguments))]
        arguments = ", ".join(names)
        setup = _parse(
            f"_d5_run = _d5_target.run\n[{arguments}] = _d5_target.arguments",
            "setup",
        )
        call = _parse(f"_d5_run({arguments})", "call")
        teardown = _parse("_d5_target.check_again()", "teardown")
        clock = subject.device_clock
        if clock is None:
            return _loop(setup, call, subject, before, after, teardown)
        before = _both(before, clock.begin)
        after = _both(clock.end, after)
        timer = _loop(setup, call, subject, before, after, teardown)
        return DeviceTimer(timer, clock)


def _both(first: Callable | None, second: Callable | None) -> Callable | None:
    """A function that calls both; None if there is neither."""
    if first is None or second is None:
        return first or second

    def call_both() -> None:
        first()
        second()

    return call_both


def candidate_from_json(document: Mapping[str, Any]) -> DataCandidate:
    """The candidate that another process wrote with `to_json`."""
    from ..import_address import at_address

    return at_address(document["class"])(**document["settings"])


Candidate = Statement | Function | InProcess | Command | DataCandidate


def candidate(value: object, setup: str = "") -> Candidate:
    """Read what a user means by a candidate: a callable, "module:name", a statement, or one of the classes above."""
    if isinstance(value, Candidate):
        return value
    if callable(value):
        return InProcess(value)
    if not isinstance(value, str):
        raise Deep500Error(
            f"cannot time {value!r}: give a callable, a statement or 'module:name'"
        )
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", value):
        return Function(value, setup)
    return Statement(value, setup)


def check(candidate: Candidate) -> None:
    """Raise a Deep500Error for a candidate that cannot run, before anything is started or written."""
    if isinstance(candidate, Command):
        command_words(candidate.text)
    else:
        _check_names(_parse(candidate.setup, "setup"), "setup")
    if isinstance(candidate, Statement):
        _check_names(_parse(candidate.text, "statement"), "statement")
    is_statement = isinstance(candidate, Statement)
    if is_statement and not _parse(candidate.text, "statement"):
        raise Deep500Error(
            f"the statement {candidate.text!r} is empty: give Python code to time"
        )
    if isinstance(candidate, Function) and candidate.text.count(":") != 1:
        raise Deep500Error(
            f"{candidate.text!r} does not name a function: write module:name"
        )


def _check_names(code: list[ast.stmt], role: str) -> None:
    """Refuse names of the timed loop, such as that of its start, which the code could change."""
    for node in _nodes(code):
        for _, value in ast.iter_fields(node):
            names = value if isinstance(value, list) else [value]
            for name in names:
                if not isinstance(node, ast.Constant) and is_ours(name):
                    raise Deep500Error(
                        f"the {role} uses the name {name!r}: names that begin with {OURS} belong to the timed loop, "
                        "choose another one"
                    )


def is_ours(name: object) -> bool:
    """Whether this is a name that the timed loop keeps for itself."""
    return isinstance(name, str) and name.startswith(OURS)


def resolve(path: str) -> Callable:
    """The function that `module:name` names; raises a Deep500Error if it cannot be imported or called."""
    module, _, name = path.partition(":")
    try:
        target: object = importlib.import_module(module)
        for attribute in name.split("."):
            target = getattr(target, attribute)
    except (ImportError, AttributeError) as error:
        raise Deep500Error(
            f"cannot import {path!r}: {error}; modules are looked up from the current folder"
        ) from None
    if not callable(target):
        raise Deep500Error(
            f"{path!r} is not callable: name a function that takes no argument but the factors"
        )
    return target


def _parse(text: str, role: str) -> list[ast.stmt]:
    try:
        # Compiled on its own first: inside a function, a stray `return` or `yield` would be legal and wrong.
        compile(text, f"<{role}>", "exec", dont_inherit=True)
        return ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        where = ""
        message = str(error)
        if isinstance(error, SyntaxError):
            message = error.msg
            if error.lineno:
                where = f" (line {error.lineno})"
        raise Deep500Error(
            f"the {role} {text!r} does not parse{where}: {message}"
        ) from None


def _call(levels: Mapping[str, Level]) -> list[ast.stmt]:
    keywords = [f"{name}={value!r}" for name, value in levels.items()]
    arguments = ", ".join(keywords)
    return _parse(f"_d5_target({arguments})", "call")


def _loop(
    setup: list[ast.stmt],
    statement: list[ast.stmt],
    target: object,
    before: Callable | None,
    after: Callable | None,
    teardown: list[ast.stmt] | None = None,
) -> Callable[[int], int]:
    """A timer whose setup has run; a call with 0 runs the teardown and ends it."""
    namespace: dict = {"__name__": "__d5__"}
    teardown = teardown or []
    if _has_star_import(setup):
        with _setup_errors():
            exec(_module_code(setup), namespace)
        namespace["_d5_names"] = namespace
        setup = _as_locals(namespace, [*statement, *teardown])
    code = _loop_code(setup, statement, teardown, bool(before), bool(after))
    exec(code, namespace)
    make_loop = namespace["_d5_loop"]
    loop = make_loop(now, before, after, target, itertools.repeat)
    with _setup_errors():
        next(loop)  # runs the setup
    return loop.send


@contextmanager
def _setup_errors() -> Iterator[None]:
    try:
        yield
    except (Deep500Error, InternalError):
        raise
    except Exception as error:
        raise Deep500Error(
            f"the setup raised {one_line(error, 300, kind=True)}"
        ) from None


def _has_star_import(code: list[ast.stmt]) -> bool:
    """Whether it has `from module import *`, which Python allows at the level of a module only."""
    imports = [node for node in _nodes(code) if isinstance(node, ast.ImportFrom)]
    return any(node.names[0].name == "*" for node in imports)


def _module_code(code: list[ast.stmt]) -> CodeType:
    module = ast.Module(code, type_ignores=[])
    return compile(module, "<setup>", "exec", dont_inherit=True)


def _as_locals(namespace: Mapping[str, object], code: list[ast.stmt]) -> list[ast.stmt]:
    """Assignments that make the names of a module that this code mentions fast locals."""
    mentioned = {node.id for node in _nodes(code) if isinstance(node, ast.Name)}
    names = sorted(mentioned & namespace.keys())
    lines = [f"{name} = _d5_names[{name!r}]" for name in names]
    return _parse("\n".join(lines), "setup")


def _nodes(code: list[ast.stmt]) -> Iterator[ast.AST]:
    return itertools.chain.from_iterable(map(ast.walk, code))


def _loop_code(
    setup: list[ast.stmt],
    statement: list[ast.stmt],
    teardown: list[ast.stmt],
    has_before: bool,
    has_after: bool,
) -> CodeType:
    """The template with the code in its place, and without the calls that have nothing to call."""
    replacements = {
        "SETUP": setup,
        "STATEMENT": statement,
        "TEARDOWN": teardown,
    }
    if not has_before:
        replacements["_d5_before"] = []
    if not has_after:
        replacements["_d5_after"] = []
    tree = _Splice(replacements).visit(ast.parse(_LOOP))
    ast.fix_missing_locations(tree)
    try:
        return compile(tree, "<timed>", "exec", dont_inherit=True)
    except (
        SyntaxError
    ) as error:  # legal alone, but not inside a function, such as `from m import *`
        raise Deep500Error(
            f"this cannot be timed: {error.msg}; move it to the setup"
        ) from None


class _Splice(ast.NodeTransformer):
    """Replace the template's lines `NAME` and `NAME()` by the statements given for them."""

    def __init__(self, replacements: dict[str, list[ast.stmt]]):
        self.replacements = replacements

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        value = node.value
        if isinstance(value, ast.Call):
            value = value.func
        if isinstance(value, ast.Name):
            return self.replacements.get(value.id, node)
        return node


def command_words(text: str) -> list[str]:
    """The arguments to start the command with; through a shell only if it uses the shell's syntax."""
    if re.search(r"[|&;<>()$`*?\[\]#~%!{}\\\n]|^\s*\w+=", text):
        return ["/bin/sh", "-c", text]
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Deep500Error(f"the command {text!r} does not parse: {error}") from None
    if not words:
        raise Deep500Error("the command is empty: give one to run")
    return words
