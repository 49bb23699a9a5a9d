"""print the completion of d5's verbs and options for a shell: bash, zsh or fish"""

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence

from .output import print_json

SHELLS = ("bash", "zsh", "fish")
Table = Mapping[str, Mapping[str, argparse.Action]]  # options by verb
BASH = """\
# Completion of d5: made by `d5 completion`, complete for the version that made it.
_d5() {
  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"
  local verb="${COMP_WORDS[1]}" words=""
  case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
    PAIRS) verb="${COMP_WORDS[1]} ${COMP_WORDS[2]}" ;;
  esac
  case "$verb:$before" in
CHOICES
  esac
  if [ -z "$words" ] && [ "$COMP_CWORD" -eq 1 ]; then
    words=VERBS
  elif [ -z "$words" ] && [ "${word:0:1}" = "-" ]; then
    case "$verb" in
OPTIONS
    esac
  elif [ -z "$words" ] && [ "$COMP_CWORD" -eq 2 ]; then
    case "$verb" in
NOUNS
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _d5 d5
"""
ZSH = (
    "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads it")


def call(args: argparse.Namespace) -> int:
    from . import VERBS, options_of, parser

    table = options_of(parser(VERBS))
    if args.shell == "fish":
        text = "\n".join(_fish(table)) + "\n"
    else:
        text = _bash(table)
    if args.shell == "zsh":
        text = ZSH + text
    if args.json:
        print_json({"shell": args.shell, "text": text})
    else:
        print(text, end="")
    return 0


def _bash(table: Table) -> str:
    """A script that calls nothing: everything that it offers stands in it."""
    pairs = [shlex.quote(verb) for verb in table if " " in verb]
    options, choices = [], []
    for verb, actions in table.items():
        options.append(_branch(verb, sorted(actions)))
        for option, action in actions.items():
            if action.choices:
                choices.append(_branch(f"{verb}:{option}", map(str, action.choices)))
    nouns = [_branch(verb, found) for verb, found in _nouns(table).items()]
    replacements = {
        "PAIRS": " | ".join(pairs),
        "CHOICES": "\n".join(choices),
        "VERBS": shlex.quote(" ".join(_first_words(table))),
        "OPTIONS": "\n".join(options),
        "NOUNS": "\n".join(nouns),
    }
    text = BASH
    for name, value in replacements.items():
        text = text.replace(name, value)
    return text


def _branch(pattern: str, words: Sequence[str] | Iterator[str]) -> str:
    listed = shlex.quote(" ".join(words))
    return f"    {shlex.quote(pattern)}) words={listed} ;;"


def _first_words(table: Table) -> list[str]:
    return list(dict.fromkeys(verb.partition(" ")[0] for verb in table))


def _nouns(table: Table) -> dict[str, list[str]]:
    """The second words of every first one that has any."""
    nouns: dict[str, list[str]] = {}
    for verb in table:
        first, space, second = verb.partition(" ")
        if space:
            nouns.setdefault(first, []).append(second)
    return nouns


def _fish(table: Table) -> Iterator[str]:
    """A line for every verb, noun and option, with its help."""
    yield "# Completion of d5: made by `d5 completion`, complete for the version that made it."
    verbs = " ".join(_first_words(table))
    yield f"complete -c d5 -n 'not __fish_seen_subcommand_from {verbs}' -f -a '{verbs}'"
    for first, seconds in _nouns(table).items():
        yield f"complete -c d5 -n '__fish_seen_subcommand_from {first}' -a '{' '.join(seconds)}'"
    for verb, actions in table.items():
        seen = "; and ".join(f"__fish_seen_subcommand_from {w}" for w in verb.split())
        for option, action in actions.items():
            if option.startswith("--"):
                yield f"complete -c d5 -n '{seen}' {_fish_option(option, action)}"


def _fish_option(option: str, action: argparse.Action) -> str:
    parts = [f"-l {option.removeprefix('--')}"]
    if action.nargs != 0:
        parts.append("-r")
    if action.choices:
        parts.append(f"-f -a {shlex.quote(' '.join(map(str, action.choices)))}")
    if action.help and action.help != argparse.SUPPRESS:
        parts.append(f"-d {shlex.quote(action.help.replace('%%', '%'))}")
    return " ".join(parts)
