"""check that something is right: `d5 check operator`, `d5 check network` … have their own options"""

import argparse
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..check.nouns import check_class, nouns, summary
from ..errors import Deep500Error
from ..progress import ProgressLine
from . import options
from .fields import add_fields, given_fields
from .output import show_record

if TYPE_CHECKING:
    from ..check.contract import NounCheck

OWN_FILES = ("operator", "network")  # check_operator.py and check_network.py
# fields whose options are those of all checks
OPTIONS_OF_THEIR_OWN = ("dtypes", "seed")


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
                default: Any = field.default
                options.dtype(parser, default, cls.dtype_choices or options.FLOATS)
        add_fields(parser, cls, left_out=OPTIONS_OF_THEIR_OWN)
        common_arguments(parser, cls.seeded, "all checks in one place", cls.timeout_s)

    def call(self, args: argparse.Namespace) -> int:
        from ..bundle.records.recording import recording
        from ..check.asking import checked_elsewhere

        settings_of_check = given_fields(args, self.check_class)
        if "dtype" in args:
            settings_of_check["dtypes"] = args.dtype
        check = self.check_class(**settings_of_check)
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
