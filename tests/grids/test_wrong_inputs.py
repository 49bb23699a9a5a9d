"""Every verb x every option x wrong values, generated from the parser: one line on stderr and exit code 2."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deep500 import registry
from deep500.cli import VERBS, main, options_of, parser
from deep500.cli.bench_noun import ENDING, noun_verbs

# What a verb needs to be called at all: its cheapest honest subject, which is never reached.
SUBJECTS: dict[str, list[str]] = {
    "doctor": [],
    "check": [],
    "check operator": ["Relu"],
    "check network": ["mlp"],
    "check sampler": ["ShuffleSampler"],
    "check optimizer": ["SGD"],
    "check codec": ["TopK(0.1)"],
    "check reproducible": ["digits_mlp"],
    "check scheme": ["AllReduce"],
    "check step": ["nowhere.py:Training"],
    "check collective": ["Ring"],
    "bench": ["pass"],
    "bench operator": ["Relu", "--shape", "2x2"],
    "bench network": ["mlp"],
    "bench dataset": ["digits"],
    "bench elementary": ["exp"],
    "bench collective": ["--transport", "virtual", "--size", "8"],
    "bench compression": ["--codec", "TopK"],
    "bench reduction": [],
    "bench convolution": [],
    "bench microbatch": [],
    "simulate": ["Ring", "--ranks", "4", "--size", "8"],
    "export": ["nowhere", "--to", "csv"],
    "completion": ["bash"],
    "run": ["digits_mlp", "--tier", "tiny"],
    "compare": ["nowhere", "nowhere"],
    "show": [],
    "show network": ["mlp"],
    "show recipe": ["digits_mlp"],
    "show dataset": ["digits"],
    "verify": ["nowhere"],
    "reproduce": ["nowhere"],
    "audit": ["nowhere"],
    "fool": ["nowhere", "--way", "1"],
    "sign": ["nowhere"],
    "report": ["nowhere"],
    "board": ["nowhere"],
    "history": ["nothing"],
    "contest init": ["nowhere", "--recipe", "no-such-recipe"],
    "contest submit": ["nowhere", "nothing.py"],
    "contest judge": ["nowhere"],
    "list": [],
}
# Values that no number means. A seed may be any whole number.
NO_NUMBERS = ("goblin", "", "1e", "0x")
IMPOSSIBLE = ("-1", "nan")
NOTHING = {"--batch": "0", "--timeout": "0", "--ranks": "0"}
ANY_NUMBER = {"--seed", "--domain"}
NO_NAME = "no-such-thing"
# Options whose texts are free: any text is a value.
FREE_TEXT = {"--setup", "--name", "--out", "--metric", "--signer"}


def nouns() -> dict[str, object]:
    """The benchmarks whose verbs have no file."""
    found: dict[str, object] = {}
    for name in registry.known("bench"):
        noun = name.removesuffix(ENDING).lower()
        verbs = noun_verbs(noun) if noun and name.endswith(ENDING) else {}
        found |= {verb: noun for verb, noun in verbs.items() if verb not in VERBS}
    return found


OPTIONS = options_of(parser(nouns=nouns()))


def cells() -> Iterator[tuple[str, ...]]:
    for verb, options in OPTIONS.items():
        subject = SUBJECTS[verb]
        yield (*verb.split(), *subject, "--no-such-option")
        for name, action in options.items():
            if not name.startswith("--") or action.nargs == 0:
                continue
            words = (*verb.split(), *subject)
            if action.nargs != "?":
                yield (*words, name)  # without its value
            copies = action.nargs if isinstance(action.nargs, int) else 1
            for value in wrong_values(name, action.type):
                yield (*words, name, *[value] * copies)


def wrong_values(name: str, kind: object) -> Iterator[str]:
    if kind not in (None, Path):
        yield from NO_NUMBERS
        if name not in ANY_NUMBER:
            yield from IMPOSSIBLE
        if name in NOTHING:
            yield NOTHING[name]
    elif name not in FREE_TEXT:
        yield NO_NAME


@pytest.mark.parametrize("words", [*cells()], ids=" ".join)
def test_wrong_value_is_one_line(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(list(words)) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    # what others do to the machine at this moment is a line of its own
    said = re.sub("^warning: .* to run on .* CPUs.*\n", "", answer.err)
    assert said.startswith("d5: ") and said.count("\n") == 1, said
    assert os.listdir(tmp_path) == []


def test_every_verb_is_in_the_grid():
    assert set(SUBJECTS) == {*VERBS, *nouns()}


SHARES = [
    (verb, name, value)
    for verb, options in OPTIONS.items()
    for name, value in (("--level", "1"), ("--level", "nan"), ("--margin", "-1"))
    if name in options
]


@pytest.mark.parametrize(("verb", "name", "value"), SHARES)
def test_a_share_out_of_range_is_refused_before_the_subject(verb, name, value, capsys):
    assert main([*verb.split(), *SUBJECTS[verb], name, value]) == 2
    assert capsys.readouterr().err.startswith(f"d5: {name} {value}: give a share")


GOLDEN = str(Path(__file__).parents[1] / "data" / "golden" / "bench.zip")
TOGETHER = {
    "--rules names no rule": ["audit", GOLDEN, "--rules", ""],
    "no entry of this contest": ["contest", "judge", "cup", "nobody"],
    "--open is for a --recipe": ["contest", "init", "x", "--problem", "p", "--open"],
    "--memory: it is -1, but a whole number from 1 on is": [
        *("contest", "init", "x", "--recipe", "digits_mlp", "--memory", "-1")
    ],
    "no operator is named 'Nothing'": ["bench", "operator", "Nothing"],
}


@pytest.mark.parametrize("said", TOGETHER)
def test_words_that_do_not_go_together(said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["contest", "init", "cup", "--recipe", "digits_mlp"]) == 0
    capsys.readouterr()
    assert main(TOGETHER[said]) == 2
    answer = capsys.readouterr()
    assert answer.out == "" and answer.err.count("\n") == 1
    assert answer.err.startswith("d5: ") and said in answer.err
    assert os.listdir(tmp_path) == ["cup"]
