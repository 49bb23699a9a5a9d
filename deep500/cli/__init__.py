"""The command `d5`: a verb is one file with one function, which calls one function of the library."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from ..errors import Deep500Error, Wrong, did_you_mean, one_line
from ..supervision.own_process import Terminated, own_process, terminable
from . import (
    bench,
    bench_dataset,
    bench_elementary,
    bench_network,
    bench_operator,
    check,
    check_codec,
    check_network,
    check_operator,
    check_optimizer,
    check_sampler,
    check_scheme,
    compare,
    doctor,
    list_,
    options,
    report,
    reproduce,
    run,
    show,
    show_dataset,
    show_network,
    show_recipe,
    sign,
    verify,
)
from .interrupts import interruptible
from .streams import unbroken

LONGEST_COMPLAINT = 10_000  # characters
VERBS = {
    "doctor": doctor,
    "check": check,
    "check operator": check_operator,
    "check network": check_network,
    "check sampler": check_sampler,
    "check optimizer": check_optimizer,
    "check codec": check_codec,
    "check scheme": check_scheme,
    "bench": bench,
    "bench operator": bench_operator,
    "bench network": bench_network,
    "bench dataset": bench_dataset,
    "bench elementary": bench_elementary,
    "run": run,
    "compare": compare,
    "show": show,
    "show network": show_network,
    "show recipe": show_recipe,
    "show dataset": show_dataset,
    "verify": verify,
    "reproduce": reproduce,
    "sign": sign,
    "report": report,
    "list": list_,
}

EXIT_CODES = "exit codes: 0 good, 1 a check said no, 2 bad input, 3 not decided"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Deep500Error(f"{message} (see `{self.prog} --help`)")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse a word that is none of the choices with the nearest one; argparse only lists them."""
        if action.choices is None or value in action.choices:
            return
        words = " ".join([*action.option_strings[:1], repr(value)])
        known = list(map(str, action.choices))
        raise Deep500Error(
            f"`{self.prog}` does not know {words}.{did_you_mean(str(value), known)} Known: {', '.join(known)}"
        )


def parser() -> argparse.ArgumentParser:
    """All verbs and their options."""
    top = _Parser(
        prog="d5",
        description="Is it right? Is it fast? Would anyone else get the same answer?",
        epilog=EXIT_CODES,
    )
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, module in VERBS.items():
        summary = (module.__doc__ or "").splitlines()[0]
        verb = verbs.add_parser(
            name, help=summary, description=summary, allow_abbrev=False
        )
        options.json(verb)
        module.arguments(verb)
        verb.set_defaults(call=module.call)
    return top


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    top = parser()
    args, rest = top.parse_known_args(words)
    if not rest:
        return args
    odd = rest[0].partition("=")[0]
    if not odd.startswith("-"):
        raise Deep500Error(
            f"`d5 {args.verb}` has no use for {odd!r} (see `d5 {args.verb} --help`)"
        )
    hint = did_you_mean(odd, options_of(top)[args.verb])
    raise Deep500Error(
        f"`d5 {args.verb}` has no option {odd}.{hint} `d5 {args.verb} --help` lists them"
    )


def options_of(top: argparse.ArgumentParser) -> dict[str, dict[str, argparse.Action]]:
    """The options of every verb by their names; old spellings, which only name the new one, are left out."""
    [verbs] = [a for a in top._actions if isinstance(a, argparse._SubParsersAction)]
    found: dict[str, dict[str, argparse.Action]] = {}
    for verb, subparser in verbs.choices.items():
        found[verb] = {}
        for action in subparser._actions:
            if action.help != argparse.SUPPRESS:
                found[verb] |= dict.fromkeys(action.option_strings, action)
    return found


def _joined(words: Sequence[str]) -> list[str]:
    """A verb of two words, such as `bench operator`, as the parser knows it."""
    both = " ".join(words[:2])
    return [both, *words[2:]] if both in VERBS else list(words)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; 0: good, 1: a check or gate said no, 2: bad input, said in one line, 3: not decided.

    Without `argv` this is the command itself, which has its process to itself.
    """
    if argv is not None:
        return _unbroken(argv)
    with own_process():
        return _unbroken(sys.argv[1:])


def _unbroken(words: Sequence[str]) -> int:
    """With the exit code of the verdict, also where nobody reads the output."""
    try:
        with unbroken():
            return _run(words)
    except OSError as error:  # the output cannot be written: a full disk
        _complain(error)
        return 2


def _run(words: Sequence[str]) -> int:
    try:
        with interruptible(), terminable():
            args = _parsed(_joined(words))
            return args.call(args)
    except Wrong as error:
        _complain(error, "wrong: ")
        return 1
    except Deep500Error as error:
        _complain(error)
        return 2
    except Terminated as end:
        with suppress(OSError):  # the terminal may be gone
            print(f"d5: {end}; `d5 list` shows what was kept", file=sys.stderr)
        return 128 + end.number
    except KeyboardInterrupt:
        print("d5: interrupted; `d5 list` shows what was kept", file=sys.stderr)
        return 130
    except OSError as error:  # a full disk, a closed terminal
        _complain(error)
        return 2


def _complain(error: Exception, what: str = "") -> None:
    print(f"d5: {what}{one_line(error, LONGEST_COMPLAINT)}", file=sys.stderr)
