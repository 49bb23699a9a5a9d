"""Definitions written as text, on a command line or in Python: the one grammar of every option that takes one.

    definition   part { "|" part }                       AdamW(0.01) | ClipByNorm(1.0)
    part         name [ "(" settings ")" ]               LocalSGD(period=8)
    name         a name of ours, or of the recipe        Adam
                 a class in a file                       my folder/mine.py:Mine, "odd (1).py":Mine
                 a class of an installed module          torch.optim.Adam
    settings     literals, definitions, lists of both    Adam(Cosine(0.01, 60)), DPSGD(topology=Torus())

Only names and literals are evaluated, and nothing is executed but constructors, and the files and modules that are
named.
"""

import ast
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from . import registry
from .canonical import shown
from .contracts.codec import Codec
from .contracts.collective import Collective
from .contracts.fitted_loggp import FittedLogGP
from .contracts.loggp import LogGP
from .contracts.modifier import Modifier
from .contracts.noise import Noise
from .contracts.optimizer import Optimizer
from .contracts.reduction import ReproducibleReduction
from .contracts.sampler import Sampler
from .contracts.schedule import Schedule
from .contracts.scheme import Scheme
from .contracts.three_step import ThreeStepOptimizer
from .contracts.topology import Topology
from .definition import with_defaults
from .errors import Deep500Error, unknown, with_place
from .user_files import find_class, installed, unnamed_class

LONGEST = 1000  # characters
DELIMITERS = "()[]{}|,='\""
# a text in quotes, after which a colon and a name make it a file; or a file without quotes
FILE = re.compile(
    r"""(?P<quote>["'])(?P<quoted>(?:[^"'\\]|\\.|(?!(?P=quote))["'])*)(?P=quote)(?::(?P<quoted_name>\w+))?"""
    r"""|(?P<path>[^()\[\]{}|,='"]*\.py):(?P<name>\w+)"""
)
FILE_AT_START = re.compile(r"\.py:(\w+)")


@dataclass(frozen=True)
class Kind:
    """A kind of definitions: its classes, the folders of those that its settings may be, and an example.

    `named` are its definitions that are not in a folder of their own.
    """

    role: str
    bases: tuple[type, ...]
    nested: tuple[str, ...] = ()
    example: str = ""
    named: Mapping[str, type] = field(default_factory=dict)


KINDS = {
    "optimizers": Kind(
        "optimizer",
        (Optimizer, ThreeStepOptimizer, Modifier),
        ("schedules", "optimizers"),
        "Adam(0.01, beta1=0.8) or my.py:Mine(0.01)",
    ),
    "schedules": Kind("schedule", (Schedule,), ("schedules",), "Cosine(0.01, 60)"),
    "schemes": Kind(
        "scheme",
        (Scheme,),
        ("codecs", "topologies", "collectives"),
        "LocalSGD(period=8) or my.py:Mine(period=8)",
    ),
    "codecs": Kind(
        "codec",
        (Codec,),
        ("codecs",),
        "TopK(0.01) | QSGD(bits=4) or my.py:Mine(8)",
    ),
    "topologies": Kind("topology", (Topology,), (), "Torus()"),
    "collectives": Kind(
        "collective",
        (Collective,),
        ("collectives", "topologies", "codecs", "reductions", "loggp"),
        "Ring() or my.py:Mine()",
    ),
    "reductions": Kind(
        "reduction", (ReproducibleReduction,), (), "PreRounded(levels=3)"
    ),
    "loggp": Kind(
        "network of ranks",
        (LogGP,),
        (),
        "LogGP(L=1e-5, G=1e-8)",
        {"LogGP": LogGP, "FittedLogGP": FittedLogGP},
    ),
    "noises": Kind(
        "noise",
        (Noise,),
        (),
        "Periodic(every=1e-2, lasting=25e-6) or my.py:Mine()",
    ),
    "samplers": Kind(
        "sampler",
        (Sampler,),
        ("schedules", "samplers"),
        "ShuffleSampler(64) or my.py:Mine(64)",
    ),
}


@dataclass(frozen=True)
class Names:
    """Where a text's names are looked up, in addition to the registry, files and modules.

    own       The classes of the recipe's file, by name.
    adapted   Turns a class or function of another kind into a function that makes a definition, or into None.
    """

    own: Mapping[str, Any] = field(default_factory=dict)
    adapted: Callable[[Any], Callable[..., Any] | None] = lambda value: None


@dataclass(frozen=True)
class Parts:
    """A class or function, and the arguments that it is to be called with; a chain is made already."""

    maker: Any
    args: tuple[Any, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_chain: bool = False

    def with_settings(self, settings: Mapping[str, Any]) -> "Parts":
        """These parts with further settings; a Deep500Error for a chain, which has none of its own."""
        if self.is_chain and settings:
            raise Deep500Error(
                f"{self.maker} is a chain: write its settings in the brackets, as in Adam(0.01) | ClipByNorm(1.0)"
            )
        return replace(self, settings={**self.settings, **settings})

    def made(self) -> Any:
        if self.is_chain:
            return self.maker
        return create(self.maker, *self.args, **self.settings)

    def whole(self) -> Any:
        """The definition; a Deep500Error if it is one that only changes another."""
        is_modifier = isinstance(self.maker, type) and issubclass(self.maker, Modifier)
        if not is_modifier:
            return self.made()
        name = self.maker.__name__
        raise Deep500Error(
            f"{name} changes gradients and is no optimizer by itself: write it behind one, as in "
            f"Adam(0.01) | {name}(…)"
        )

    @property
    def given(self) -> set[str]:
        """The names of the settings among the arguments, also of those without a name."""
        signature = None if self.is_chain else _signature(self.maker)
        if signature is None:
            return set(self.settings)
        return {*list(signature.parameters)[: len(self.args)], *self.settings}

    def takes(self, setting: str) -> bool:
        """Whether there is a setting of this name, as far as is known."""
        signature = None if self.is_chain else _signature(self.maker)
        if signature is None:
            return not self.is_chain
        kinds = [parameter.kind for parameter in signature.parameters.values()]
        takes_any = inspect.Parameter.VAR_KEYWORD in kinds
        return takes_any or setting in signature.parameters


def definition_of(text: str, folder: str, names: Names | None = None) -> Any:
    """The definition that a text describes; `folder` is its kind, such as "schemes"."""
    return parts_of(text, folder, names).whole()


def parts_of(text: str, folder: str, names: Names | None = None) -> Parts:
    """The class and the arguments that a text names; definitions among the arguments are made."""
    reader = _Reader(text, folder, names or Names())
    return reader.parts(reader.tree, (folder,))


def definition_given(value: Any, folder: str, names: Names | None = None) -> Any:
    """The definition that a caller in Python gives: itself, its text, or a class whose settings all have defaults."""
    if isinstance(value, str):
        return definition_of(value, folder, names)
    kind = kind_of(folder)
    if isinstance(value, kind.bases):
        return value
    if isinstance(value, type):
        if issubclass(value, kind.bases):
            return with_defaults(value)
        maker = names.adapted(value) if names else None
        if maker is not None:
            return maker()
    raise Deep500Error(
        f"{shown(value)} is no {kind.role}: give one, or its text, such as {kind.example}"
    )


def names_code(text: str) -> bool:
    """Whether a text names a class in a file or in a module, whose code may be anyone's."""
    return re.search(r"\.[A-Za-z_]", text) is not None


def scheme_of(text: str) -> Any:
    """A communication scheme by its text."""
    return definition_of(text, "schemes")


def kind_of(folder: str) -> Kind:
    """The kind of the definitions in a folder; one without an entry in KINDS takes any class."""
    return KINDS.get(folder) or Kind(registry.singular(folder), (object,))


class _Reader:
    def __init__(self, text: str, folder: str, names: Names):
        self.text = text.strip()
        self.kind = kind_of(folder)
        self.names = names
        self.files: dict[str, tuple[str, str]] = {}
        self.shifts: list[tuple[int, int]] = []
        if self.text.lower() in ("", "none"):
            raise Deep500Error(f"{text!r} names no {self.kind.role}: {self._advice()}")
        if len(text) > LONGEST:
            raise Deep500Error(
                f"a definition in {len(text)} characters: give at most {LONGEST}"
            )
        if self.text.endswith(".py"):
            wanted = self._is_wanted((folder,))
            raise unnamed_class(self.text, wanted, self.kind.role)
        self.tree = self._parsed(self._without_files(self.text))

    def parts(self, node: ast.expr, folders: tuple[str, ...]) -> Parts:
        """The class and the arguments of a node, which names a definition in one of these folders."""
        match node:
            case ast.Call(func=function, args=positional, keywords=by_name):
                maker = self._maker(function, folders)
                args = self._args(maker, positional)
                return Parts(maker, args, self._settings(maker, by_name))
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                first = self.parts(left, folders).made()
                second = self.parts(right, folders).made()
                return Parts(self._chained(node, first, second), is_chain=True)
        return Parts(self._maker(node, folders))

    def _chained(self, node: ast.expr, first: Any, second: Any) -> Any:
        try:
            return first | second
        except TypeError:
            left, right = type(first).__name__, type(second).__name__
            raise self._refused(
                node, f"{left} cannot be chained with {right}"
            ) from None

    def _args(self, maker: Any, nodes: list[ast.expr]) -> tuple[Any, ...]:
        signature = _signature(maker)
        names = list(signature.parameters) if signature else []
        names += [""] * (len(nodes) - len(names))
        values = []
        for node, name in zip(nodes, names, strict=False):
            values.append(self._setting(node, self._folders(maker, name)))
        return tuple(values)

    def _settings(self, maker: Any, keywords: list[ast.keyword]) -> dict[str, Any]:
        settings = {}
        for keyword in keywords:
            if keyword.arg is None:
                raise self._refused(keyword.value, "** is not taken: name each setting")
            folders = self._folders(maker, keyword.arg)
            settings[keyword.arg] = self._setting(keyword.value, folders)
        return settings

    def _folders(self, maker: Any, name: str) -> tuple[str, ...]:
        """Where a setting's definition is looked up: by its annotation; without one, wherever this kind nests them."""
        members = _annotated_types(maker, name)
        if members is None:
            return self.kind.nested
        folders = []
        for folder, kind in KINDS.items():
            if any(issubclass(member, kind.bases) for member in members):
                folders.append(folder)
        return tuple(folders)

    def _setting(self, node: ast.expr, folders: tuple[str, ...]) -> Any:
        """The value of a setting: a literal, a definition, or a list, tuple or dictionary of both."""
        match node:
            case ast.List(elts=items):
                return [self._setting(item, folders) for item in items]
            case ast.Tuple(elts=items):
                return tuple(self._setting(item, folders) for item in items)
            case ast.Dict():
                return self._dictionary(node, folders)
            case ast.Name() | ast.Call() | ast.Attribute() | ast.BinOp(op=ast.BitOr()):
                return self.parts(node, folders).made()
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, RecursionError):
            raise self._refused(
                node,
                "this is neither a literal (a number, a text, a list …) nor a definition",
            ) from None

    def _dictionary(self, node: ast.Dict, folders: tuple[str, ...]) -> dict[Any, Any]:
        items = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if not isinstance(key, ast.Constant):
                raise self._refused(node, "a key is a text or a number")
            items[key.value] = self._setting(value, folders)
        return items

    def _maker(self, node: ast.expr, folders: tuple[str, ...]) -> Any:
        """What makes the definition that a node names: a class, or a function around a class of another library."""
        match node:
            case ast.Name(id=name) if name in self.files:
                return self._class_in_file(*self.files[name], folders)
            case ast.Name(id=name):
                return self._class_named(name, node, folders)
            case ast.Attribute():
                return self._class_installed(node, folders)
        raise self._refused(node, f"here the name of {self._noun()} is wanted")

    def _class_in_file(self, file: str, name: str, folders: tuple[str, ...]) -> Any:
        wanted = self._is_wanted(folders)
        cls = find_class(file, name, wanted, _roles(folders))
        return self._adapted(cls, folders)

    def _is_wanted(self, folders: tuple[str, ...]) -> Callable[[type], bool]:
        return lambda cls: self._adapted(cls, folders) is not None

    def _class_named(self, name: str, node: ast.expr, folders: tuple[str, ...]) -> Any:
        """The class of that name in the recipe's file, or of the first folder that has one."""
        if not folders:
            raise self._refused(
                node, f"{name} is a name, and this setting takes literals"
            )
        own = self._own_makers(folders)
        if name in own:
            return own[name]
        known = list(own)
        for folder in folders:
            named = kind_of(folder).named
            if name in named:
                return named[name]
            if registry.has(folder, name):
                return registry.named(folder, name)
            known += [*named, *registry.known(folder)]
        if not known:
            raise Deep500Error(
                f"there are no built-in {folders[0]}: name a class in a file, as in my.py:{name}"
            )
        raise unknown(_roles(folders), name, known)

    def _own_makers(self, folders: tuple[str, ...]) -> dict[str, Any]:
        """The classes of the recipe's file that are of one of these kinds, and its functions, which may make one."""
        makers = {}
        for name, value in self.names.own.items():
            if inspect.isfunction(value):
                makers[name] = value
            elif maker := self._adapted(value, folders):
                makers[name] = maker
        return makers

    def _class_installed(self, node: ast.Attribute, folders: tuple[str, ...]) -> Any:
        name = ast.unparse(node)
        if not all(part.isidentifier() for part in name.split(".")):
            raise self._refused(node, "this is no dotted name")
        value = installed(name)
        maker = self._adapted(value, folders)
        if maker is None:
            raise self._refused(node, f"{name} is no {_roles(folders)}")
        return maker

    def _adapted(self, value: Any, folders: tuple[str, ...]) -> Any:
        """The value if it is a class of one of these kinds, what makes a definition of it, or None."""
        bases: list[type] = []
        for folder in folders:
            bases += kind_of(folder).bases
        if isinstance(value, type) and issubclass(value, tuple(bases)):
            return value
        return self.names.adapted(value)

    def _without_files(self, text: str) -> str:
        """The text with every file and its class replaced by a name that stands for them."""
        start = self._file_with_delimiters(text)
        if start is not None:
            first, rest = start
            return first + FILE.sub(self._stand_in, rest)
        return FILE.sub(self._stand_in, text)

    def _stand_in(self, match: re.Match[str]) -> str:
        if match["path"] is not None:
            name = self._file(match["path"].strip(), match["name"])
        elif match["quoted_name"] and match["quoted"].endswith(".py"):
            name = self._file(match["quoted"], match["quoted_name"])
        else:
            return match[0]
        self.shifts.append((match.start(), len(match[0]) - len(name)))
        return name

    def _file_with_delimiters(self, text: str) -> tuple[str, str] | None:
        """If the text begins with an existing file whose path has brackets or the like: its stand-in and the rest."""
        for match in FILE_AT_START.finditer(text):
            path = text[: match.start() + len(".py")]
            has_delimiter = any(mark in path for mark in DELIMITERS)
            if has_delimiter and Path(path).is_file():
                return self._file(path, match[1]), text[match.end() :]
        return None

    def _file(self, path: str, name: str) -> str:
        stand_in = f"_file_{len(self.files)}"
        self.files[stand_in] = path, name
        return stand_in

    def _parsed(self, text: str) -> ast.expr:
        try:
            return ast.parse(text, mode="eval").body
        except SyntaxError as error:
            place = self._position((error.offset or 1) - 1)
            reason = str(error.msg).partition(". ")[0]
        except (ValueError, RecursionError, MemoryError):
            place, reason = 1, "it is no expression"
        raise Deep500Error(
            f"{self.text[:99]!r} cannot be read at character {place} ({reason}): {self._advice()}"
        ) from None

    def _position(self, column: int) -> int:
        """The number of a character of the user's text, from its column in what was parsed."""
        position = column + 1
        for start, shift in self.shifts:
            if column > start:
                position += shift
        return min(max(position, 1), len(self.text))

    def _refused(self, node: ast.expr, problem: str) -> Deep500Error:
        place = self._position(node.col_offset)
        return Deep500Error(
            f"{self.text[:99]!r} cannot be read at character {place}: {problem}; {self._advice()}"
        )

    def _noun(self) -> str:
        article = "an" if self.kind.role[0] in "aeiou" else "a"
        return f"{article} {self.kind.role}"

    def _advice(self) -> str:
        if not self.kind.example:
            return "write a name with settings, as in Name(3, width=8)"
        return f"write a name with settings, such as {self.kind.example}"


def create(maker: Any, *values: Any, **settings: Any) -> Any:
    """A definition with these settings; if they do not fit, a Deep500Error that lists the settings."""
    name = getattr(maker, "__name__", str(maker))
    signature = _signature(maker)
    if signature is not None:
        _check_settings(name, signature, values, settings)
    try:
        return maker(*values, **settings)
    except Deep500Error:
        raise
    except Exception as error:  # code from anyone
        arguments = [repr(value) for value in values]
        arguments += [f"{key}={value!r}" for key, value in settings.items()]
        listed = ", ".join(arguments)
        raise Deep500Error(
            f"{name}({listed}) cannot be made: {with_place(error)}"
        ) from error


def _roles(folders: tuple[str, ...]) -> str:
    """What a message calls the definitions of these folders."""
    return " or ".join(kind_of(folder).role for folder in folders)


def _annotated_types(maker: Any, name: str) -> list[type] | None:
    """The classes that the annotation of a parameter names, itself or in a union; None if it does not say."""
    signature = _signature(maker)
    parameter = signature.parameters.get(name) if signature else None
    if parameter is None:
        return None
    annotation = parameter.annotation
    if annotation in (Any, inspect.Parameter.empty):
        return None
    members = get_args(annotation) or (annotation,)
    types = [member for member in members if isinstance(member, type)]
    return types or None


def _signature(maker: Any) -> inspect.Signature | None:
    """The signature of a class or function; None for one that is written in C and does not tell."""
    try:
        return inspect.signature(maker)
    except (ValueError, TypeError):
        return None


def _check_settings(
    name: str,
    signature: inspect.Signature,
    values: tuple[Any, ...],
    settings: Mapping[str, Any],
) -> None:
    parameters = list(signature.parameters)
    kinds = {value.kind for value in signature.parameters.values()}
    takes_any = inspect.Parameter.VAR_KEYWORD in kinds
    for key in settings:
        if key not in parameters and not takes_any:
            raise unknown(f"setting of {name}", key, parameters)
    try:
        signature.bind(*values, **settings)
    except TypeError as error:
        listed = ", ".join(parameters) or "none"
        raise Deep500Error(
            f"{name} cannot be made of these settings ({error}); it takes: {listed}"
        ) from None
