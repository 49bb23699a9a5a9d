"""The command `d5`: a verb is one file with one function, which calls one function of the library."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from ..errors import Deep500Error, Wrong
from . import (
    bench,
    bench_elementary,
    bench_operator,
    check,
    compare,
    doctor,
    list_,
    report,
    run,
    show,
    verify,
)

VERBS = {
    "doctor": doctor,
    "check": check,
    "bench": bench,
    "bench operator": bench_operator,
    "bench elementary": bench_elementary,
    "run": run,
    "compare": compare,
    "show": show,
    "verify": verify,
    "report": report,
    "list": list_,
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Deep500Error(f"{message} (see `{self.prog} --help`)")


def parser() -> argparse.ArgumentParser:
    """All verbs and their options."""
    top = _Parser(
        prog="d5", description="Is it right? Is it fast? Would anyone else get the same answer?"
    )
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, module in VERBS.items():
        summary = (module.__doc__ or "").splitlines()[0]
        verb = verbs.add_parser(name, help=summary, description=summary)
        verb.add_argument(
            "--json", action="store_true", help="data on standard output, for programs"
        )
        module.arguments(verb)
        verb.set_defaults(call=module.call)
    return top


def _joined(words: Sequence[str]) -> list[str]:
    """A verb of two words, such as `bench operator`, as the parser knows it."""
    both = " ".join(words[:2])
    return [both, *words[2:]] if both in VERBS else list(words)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; 0: good, 1: a check or gate said no, 2: bad input, said in one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a bundle may hold what a terminal cannot show
    try:
        args = parser().parse_args(_joined(sys.argv[1:] if argv is None else argv))
        code = args.call(args)
        sys.stdout.flush()
        return code
    except Wrong as error:
        print(f"d5: wrong: {error}", file=sys.stderr)
        return 1
    except Deep500Error as error:
        print(f"d5: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("d5: interrupted; `d5 list` shows what was kept", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a full disk, a closed terminal
        print(f"d5: {error}", file=sys.stderr)
        return 2
