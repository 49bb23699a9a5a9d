"""check that something is right: `d5 check operator`, `d5 check network` … have their own options"""

import argparse
from dataclasses import Field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..check.nouns import check_class, nouns, summary
from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .output import show_record

if TYPE_CHECKING:
    from ..check.contract import NounCheck

OWN_FILES = ("operator", "network")  # check_operator.py and check_network.py


def arguments(parser: argparse.ArgumentParser) -> None:
    choices = sorted({*OWN_FILES, *nouns()})
    parser.add_argument("what", choices=choices, help="what is checked")


def call(args: argparse.Namespace) -> int:
    raise Deep500Error(f"say what is checked first: `d5 check {args.what} …`")


def common_arguments(
    parser: argparse.ArgumentParser,
    seeded: str,
    longest_wait: str,
    timeout_s: float,
) -> None:
    """The options of every check."""
    options.random_seed(parser, seeded, 0)
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="show every check, not only what is wrong",
    )
    options.timeout(parser, longest_wait, timeout_s)
    options.out(parser)
    options.report(parser)


class CheckVerb:
    """The verb `d5 check NOUN`: the fields of the noun's check are its options."""

    def __init__(self, noun: str):
        self.noun = noun

    @cached_property
    def check_class(self) -> "type[NounCheck]":
        """Loaded when it is needed, which most calls of `d5` do not."""
        return check_class(self.noun)

    @property
    def summary(self) -> str:
        return summary(self.noun)

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        cls = self.check_class
        parser.add_argument(self.noun, metavar=self.noun.upper(), help=cls.subject_help)
        if cls.frameworks:
            default_text = cls.framework_help or " ".join(cls.frameworks)
            options.framework(parser, default_text)
        if cls.set_help:
            options.set_(parser, cls.set_help)
        for field in fields(cls):
            if field.name == "dtypes":
                choices = cls.dtype_choices or options.FLOATS
                default: Any = field.default
                options.dtype(parser, default, choices)
            elif field.name != "seed":
                _add_field(parser, field, cls)
        common_arguments(parser, cls.seeded, "all checks in one place", cls.timeout_s)

    def call(self, args: argparse.Namespace) -> int:
        from ..bundle.records.recording import recording
        from ..check.asking import checked_elsewhere

        check = self._check(args)
        text = getattr(args, self.noun)
        settings = options.settings(getattr(args, "set", []))
        check.accept(text, settings)
        frameworks = getattr(args, "framework", None) or ()
        places = check.places(text, settings, frameworks)
        if check.frameworks:
            options.need_frameworks(places)
        plan = check.plan(text, settings, places)
        with (
            recording(check.kind, plan, args.out) as record,
            ProgressLine() as line,
        ):
            for number, where in enumerate(places):
                line(number / len(places), f"{text} {where}")
                report = checked_elsewhere(check, text, settings, where, args.timeout)
                record.append(report.document)
            finished = record.finish()
        return show_record(args, finished, args.report)

    def _check(self, args: argparse.Namespace) -> "NounCheck":
        values: dict[str, Any] = {}
        for field in fields(self.check_class):
            option = "dtype" if field.name == "dtypes" else field.name
            values[field.name] = getattr(args, option, field.default)
        return self.check_class(**values)


def _add_field(
    parser: argparse.ArgumentParser,
    field: "Field[Any]",
    cls: "type[NounCheck]",
) -> None:
    """The option of a field: a number or a text, as its default is."""
    is_number = isinstance(field.default, int | float)
    usual = "N" if is_number else "NAME"
    parser.add_argument(
        f"--{field.name.replace('_', '-')}",
        type=type(field.default) if is_number else _given_text,
        # argparse would check a text that is the default as one that was given
        default=field.default if is_number else argparse.SUPPRESS,
        metavar=cls.field_metavar.get(field.name, usual),
        help=cls.field_help.get(field.name, f"({field.default})"),
    )


def _given_text(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty: give a name, or no option")
    return text
