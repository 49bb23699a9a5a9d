"""The command `d5`: every verb is one file with one function, which calls one function of the library."""

import argparse
import importlib
import os
import re
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from keyword import iskeyword
from pathlib import Path
from typing import Any, NoReturn

from ..check.nouns import nouns as checked_nouns
from ..check.nouns import own_nouns, summary
from ..errors import (
    INTERNAL,
    TRACEBACK,
    Deep500Error,
    InternalError,
    Wrong,
    did_you_mean,
    internal_message,
    one_line,
    visible,
)
from ..supervision.own_process import Terminated, own_process, terminable
from . import options
from .interrupts import interruptible
from .plain_warnings import plain_warnings
from .streams import unbroken

LONGEST_COMPLAINT = 10_000  # characters
CHECK_OF_NOUN = "check of a noun"  # a file of check/, not one of this folder
# Every verb with its module, which is imported when the verb is typed.
VERBS = {
    "doctor": "doctor",
    "check": "check",
    "check operator": "check_operator",
    "check network": "check_network",
    **{f"check {noun}": CHECK_OF_NOUN for noun in own_nouns()},
    "bench": "bench",
    "bench operator": "bench_operator",
    "bench network": "bench_network",
    "bench dataset": "bench_dataset",
    "bench elementary": "bench_elementary",
    "bench collective": "bench_collective",
    "bench compression": "bench_compression",
    "simulate": "simulate",
    "bench convolution": "bench_convolution",
    "bench microbatch": "bench_micro_batch",
    "run": "run",
    "compare": "compare",
    "show": "show",
    "show network": "show_network",
    "show recipe": "show_recipe",
    "show dataset": "show_dataset",
    "verify": "verify",
    "reproduce": "reproduce",
    "audit": "audit",
    "fool": "fool",
    "sign": "sign",
    "report": "report",
    "export": "export",
    "board": "board",
    "history": "history",
    "contest init": "contest_init",
    "contest submit": "contest_submit",
    "contest judge": "contest_judge",
    "list": "list_",
    "completion": "completion",
}

# what may be a benchmark behind `bench`, and no statement
NOUN = re.compile(r"[A-Za-z][\w-]*")
NO_NOUNS: Mapping[str, Any] = {}
EXIT_CODES = (
    "exit codes: 0 good, 1 a check said no, 2 bad input, 3 not decided, "
    "70 a defect of d5 itself"
)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Deep500Error(f"{message} (see `{self.prog} --help`)")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Raise a Deep500Error that suggests the nearest choice; argparse would only list them."""
        if action.choices is None or value in action.choices:
            return
        argument = " ".join([*action.option_strings[:1], repr(value)])
        choices = list(map(str, action.choices))
        hint = did_you_mean(str(value), choices)
        raise Deep500Error(
            f"`{self.prog}` does not know {argument}.{hint} Known: {', '.join(choices)}"
        )


def parser(
    verbs: Collection[str] = VERBS, nouns: Mapping[str, Any] = NO_NOUNS
) -> argparse.ArgumentParser:
    """The parser of `d5`: with the options of these verbs, and only the names of the others.

    `nouns` are the verbs of benchmarks that have no file here.
    """
    top = _Parser(
        prog="d5",
        description="Is it right? Is it fast? Would anyone else get the same answer?",
        epilog=EXIT_CODES,
    )
    subparsers = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in VERBS:
        if verb in verbs:
            _add_verb(subparsers, verb, _summary(verb), _module(verb))
        elif verbs:
            subparsers.add_parser(verb, add_help=False)
        else:
            subparsers.add_parser(verb, add_help=False, help=_summary(verb))
    for verb, noun in nouns.items():
        _add_verb(subparsers, verb, noun.summary, noun)
    return top


def _add_verb(subparsers: Any, verb: str, summary: str, module: Any) -> None:
    subparser = subparsers.add_parser(
        verb, help=summary, description=summary, allow_abbrev=False
    )
    options.json(subparser)
    module.arguments(subparser)
    subparser.set_defaults(call=module.call)


def _module(verb: str) -> Any:
    if VERBS[verb] != CHECK_OF_NOUN:
        return importlib.import_module(f"{__package__}.{VERBS[verb]}")
    from .check import CheckVerb

    return CheckVerb(verb.removeprefix("check "))


def _summary(verb: str) -> str:
    """What a verb does: the first line of its file, which is not imported."""
    if VERBS[verb] == CHECK_OF_NOUN:
        return summary(verb.removeprefix("check "))
    file = Path(__file__).with_name(f"{VERBS[verb]}.py")
    with file.open(encoding="utf-8") as lines:
        return lines.readline().strip().strip('"')


def _nouns(argv: Sequence[str]) -> Mapping[str, Any]:
    """The verb `bench NOUN` or `check NOUN` of these arguments, if an installed package brings it."""
    verb, noun, *_ = [*argv, "", ""]
    is_noun = NOUN.fullmatch(noun) and not iskeyword(noun)
    if not is_noun or f"{verb} {noun}" in VERBS:
        return NO_NOUNS
    if verb == "check" and noun in checked_nouns():
        from .check import CheckVerb

        return {f"check {noun}": CheckVerb(noun)}
    if verb != "bench":
        return NO_NOUNS
    from .bench_noun import noun_verbs

    return noun_verbs(noun)


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    nouns = _nouns(argv)
    argv = _joined(argv, [*VERBS, *nouns])
    words = [word for word in argv if not word.startswith("-")]
    top = parser([word for word in words[:1] if word in VERBS], nouns)
    args, unparsed = top.parse_known_args(argv)
    if not unparsed:
        return args
    verb = args.verb
    unknown = unparsed[0].partition("=")[0]
    if not unknown.startswith("-"):
        raise Deep500Error(
            f"`d5 {verb}` has no use for {unknown!r} (see `d5 {verb} --help`)"
        )
    hint = did_you_mean(unknown, options_of(top)[verb])
    raise Deep500Error(
        f"`d5 {verb}` has no option {unknown}.{hint} `d5 {verb} --help` lists them"
    )


def options_of(
    top: argparse.ArgumentParser,
) -> dict[str, dict[str, argparse.Action]]:
    """The options of every verb by name, without the old spellings that only refer to the new one."""
    [verbs] = [
        action
        for action in top._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    actions: dict[str, dict[str, argparse.Action]] = {}
    for verb, subparser in verbs.choices.items():
        actions[verb] = {}
        for action in subparser._actions:
            if action.help != argparse.SUPPRESS:
                actions[verb] |= dict.fromkeys(action.option_strings, action)
    return actions


def _joined(argv: Sequence[str], verbs: Collection[str]) -> list[str]:
    """The arguments with a verb of two words, such as `bench operator`, joined into one, as the parser expects it."""
    two_words = " ".join(argv[:2])
    if two_words in verbs:
        return [two_words, *argv[2:]]
    return list(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns its exit code (0: good, 1: a check or gate failed, 2: bad input, 3: not decided).

    Without `argv` this is the command itself, which may change the state of its process.
    """
    if argv is not None:
        return _unbroken(argv)
    with own_process():
        return _unbroken(sys.argv[1:])


def _unbroken(argv: Sequence[str]) -> int:
    """Run one verb with the exit code of its verdict, even if nobody reads the output."""
    try:
        with unbroken():
            return _run(argv)
    except OSError as error:  # the output cannot be written: a full disk
        _complain(error)
        return 2


def _run(argv: Sequence[str]) -> int:
    try:
        with interruptible(), terminable(), plain_warnings():
            args = _parsed(argv)
            args.argv = argv
            return args.call(args)
    except Wrong as error:
        _complain(error, "wrong: ")
        return 1
    except Deep500Error as error:
        _complain(error)
        return 2
    except Terminated as end:
        with suppress(OSError):  # the terminal may be gone
            print(f"d5: {end}; {_what_next(end)}", file=sys.stderr)
        return 128 + end.number
    except KeyboardInterrupt as interrupt:
        print(f"d5: interrupted; {_what_next(interrupt)}", file=sys.stderr)
        return 130
    except OSError as error:  # a full disk, a closed terminal
        _complain(error)
        return 2
    except InternalError as error:
        return _confess(error, str(error))
    except Exception as error:
        return _confess(error, internal_message(error))


def _what_next(interrupt: KeyboardInterrupt) -> str:
    """What a verb noted about going on with what was interrupted, or else a bundle about what it has kept."""
    notes = getattr(interrupt, "__notes__", [])
    return notes[-1] if notes else "nothing had been begun"


def _confess(error: Exception, message: str) -> int:
    """Report a defect of Deep500 itself; returns the exit code."""
    if os.environ.get(TRACEBACK) == "1":
        import traceback

        traceback.print_exception(error)
    print(f"d5: {visible(message)}", file=sys.stderr)
    return INTERNAL


def _complain(error: Exception, prefix: str = "") -> None:
    message = one_line(error, LONGEST_COMPLAINT)
    print(f"d5: {prefix}{message}", file=sys.stderr)
