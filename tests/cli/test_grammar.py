"""One grammar: an option means the same wherever it is taken, and nothing has two spellings."""

import argparse
from collections.abc import Callable

import pytest

from deep500.bench.elementary import functions as elementary
from deep500.check.operators.formats import FORMATS
from deep500.cli import bench_elementary, main, options, options_of, parser

# What an option means, and the form of its value. The help text of every verb that takes it begins with the meaning.
MEANINGS = {
    "--help": ("show this help", None),
    "--json": ("data on standard output", None),
    "--framework": ("where it runs", "NAME"),
    "--set": ("a setting to change", "NAME=VALUE"),
    "--shape": ("the inputs", "SHAPE"),
    "--dtype": ("the dtypes of floats", "DTYPE"),
    "--seed": ("the seed of", "N"),
    "--seeds": ("how many seeds", "N"),
    "--budget": ("the time to spend", "SECONDS"),
    "--peaks": ("the peaks of this machine", None),
    "--wait-for-quiet": ("the longest wait until others", "SECONDS"),
    "--timeout": ("the longest wait for", "SECONDS"),
    "--precision": ("the relative half-width", "SHARE"),
    "--profile": ("rank systems", None),
    "--metric": ("the metric", "NAME"),
    "--figures": ("a new folder for a paper", "DIR"),
    "--browser": ("open the page", None),
    "--to": ("the format", "FORMAT"),
    "--comment": ("a comment in Markdown", "FILE"),
    "--margin": ("the relative difference that does not matter", "SHARE"),
    "--level": ("the level of confidence", "SHARE"),
    "--processes": ("the number of processes", "N"),
    "--tier": ("how much of it", "TIER"),
    "--out": ("where to write", "PATH"),
    "--report": ("a page as well", None),
    "--function": ("a function to time", "MODULE:NAME"),
    "--command": ("a shell command to time", "CMD"),
    "--setup": ("code that runs once in every process", "CODE"),
    "--name": ("the name of a candidate", "NAME"),
    "--factor": ("a variable, and the levels", "NAME=A,B,…"),
    "--cache": ("whether caches stay warm", None),
    "--sync": ("a function that waits for a device", "MODULE:NAME"),
    "--control": ("the first candidate a second time", None),
    "--suite": ("a suite of problems", "SUITE"),
    "--part": ("a part of the suite", "K/N"),
    "--kernel": ("whose code runs", "KERNEL"),
    "--direction": ("the direction", "DIRECTION"),
    "--threads": ("the threads", "N"),
    "--device": ("the device", "DEVICE"),
    "--histogram": ("a picture of the classes", "FILE"),
    "--container": ("the containers that are read", "NAME"),
    "--decoder": ("the decoders of pictures", "NAME"),
    "--workers": ("the processes that read ahead", "N"),
    "--ranks": ("how many ranks", "P"),
    "--transport": ("what carries messages", "TRANSPORT"),
    "--scheme": ("how ranks train together", "NAME"),
    "--codec": ("how gradients are coded", "CODEC"),
    "--deadline": ("how long a rank waits", "SECONDS"),
    "--examples": ("how many examples there are", "N"),
    "--epochs": ("how many epochs", "N"),
    "--n": ("how many arguments are drawn", "N"),
    "--reference": ("what computes the same", "NAME"),
    "--steps": ("the steps", "N"),
    "--domain": ("the numbers that the operator is for", ("LOW", "HIGH")),
    "--sanitize": ("also build a C++ operator", None),
    "--verbose": ("show every check", None),
    "--data": ("the arrays that go in", "PATH"),
    "--optimizer": ("the rule of the step", "NAME"),
    "--heatmap": ("a picture of where it differs", "FILE"),
    "--variance": ("a picture of where it varies", "FILE"),
    "--gate": ("exit code 1 if", None),
    "--equivalent": ("the difference of a quality", "MARGIN"),
    "--division": ("which entries may be changed", None),
    "--evaluate-every": ("evaluate also within epochs", "STEPS"),
    "--allow-changes": ("go ahead although", None),
    "--most": ("how many rows", "N"),
    "--batch": ("the size of the batch", "N"),
    "--train": ("a training step as well", None),
    "--against": ("what it is compared with", "WHAT"),
    "--execution": ("how networks run", None),
    "--picture": ("a picture of the graph", "FILE"),
    "--format": ("the form of the page", None),
    "--resume": ("go on with", None),
    "--replay": ("evaluate the weights", None),
    "--recipe": ("the recipe's file", "FILE"),
    "--signer": ("whose signature must be there", "KEY"),
    "--key": ("the private key", "FILE"),
    "--rules": ("the rules to judge by", "IDS"),
    "--new": ("a claims file to write", "FILE"),
    "--gallery": ("a gallery to write", "FILE"),
    "--way": ("the way to fool the masses", "N"),
    "--again": ("A once more", "A2"),
    "--audit": ("also audit every bundle", None),
    "--title": ("the title of the page", "TEXT"),
    "--remove": ("take an entry off the board", "ENTRY"),
    "--reason": ("why", "TEXT"),
    "--folder": ("a folder of bundles", "DIR"),
    "--entry": ("the entry's name", "ENTRY"),
    "--open": ("an open division too", None),
    "--seed-seconds": ("the time limit of one seed", "S"),
    "--seconds": ("seconds of measuring in each launch", "SECONDS"),
    "--launches": ("how often the ranks are started", "N"),
    "--algorithm": ("collectives as text", "NAME"),
    "--operation": ("all_reduce, all_gather", "NAME"),
    "--size": ("bytes of a rank's array", "SIZE"),
    "--overlap": ("also compute while", None),
    "--start": ("how ranks begin together", "NAME"),
    "--hold-out": ("algorithms that the fit does not see", "NAME"),
    "--bandwidth": ("Mbit/s of every rank", "RATE"),
    "--hashed": ("compare the bits of the results", "N"),
    "--reproducible": ("the same weights, bit for bit", "ROWS,BITS,KERNELS"),
    "--hidden": ("hidden layers of the perceptron", "N"),
    "--target": ("validation accuracy in %", "N"),
    "--load-seconds": ("the time limit of loading", "S"),
    "--memory": ("the memory of all processes", "MIB"),
    "--disk": ("the disk space", "MIB"),
    "--submission": ("the largest submission", "KIB"),
    "--scored": ("what ranks", "METRIC"),
    "--problem": ("a contest of kernels", "FILE"),
    "-L": ("latency of the network", "NS"),
    "-g": ("gap between messages", "NS"),
    "-G": ("gap per byte", "NS"),
    "-O": ("overhead of the processor per byte", "NS"),
    "-S": ("the longest message that", "BYTES"),
    "--network": ("a network that", "BUNDLE"),
    "--near": ("a nearer level", "RANKS:L=NS,…"),
    "--noise": ("what interrupts processors", "NOISE"),
    "--speed": ("ranks that compute", "RANK=FACTOR"),
    "--stragglers": ("a share of ranks", "SHARE=FACTOR"),
    "--kill": ("ranks that die", "RANK=SECONDS"),
    "--compute": ("backprop of one example", "SECONDS"),
    "--update": ("one update by the optimizer", "SECONDS"),
    "--goal": ("the schedule as well", "PATH"),
    "--transform": ("a transformation", "TRANSFORMATION"),
    "--convolution": ("the algorithms of convolutions", "NAME"),
    "--layout": ("PyTorch's layouts", "NAME"),
    "--model": ("the networks", "NAME"),
    "--workspace": ("the limits of each convolution's workspace", "LIMIT"),
    "--policy": ("how a batch may be divided", "NAME"),
    "--one-budget": ("one limit for all convolutions", None),
    "--lock-clock": ("the clock of NVIDIA devices", "MHZ"),
    "--calls": ("how many calls are timed together", "N"),
}


SHORT = {"-h", "-o"}  # of --help, and of --out where everybody types it


def faults(top: argparse.ArgumentParser) -> list[str]:
    """Where a verb's option is not in the table, has another meaning or form there, or another spelling."""
    found = []
    for verb, actions in options_of(top).items():
        for name, action in actions.items():
            if name not in SHORT:
                found += [
                    f"{verb} {name}: {fault}" for fault in option_faults(name, action)
                ]
    return found


def option_faults(name: str, action: argparse.Action) -> list[str]:
    text = action.help or ""
    others = [
        o
        for o, (meaning, _) in MEANINGS.items()
        if o != name and text.startswith(meaning)
    ]
    if others:
        return [f"a second spelling of {others[0]}"]
    if name not in MEANINGS:
        return ["is not in the table of options"]
    meaning, form = MEANINGS[name]
    if not text.startswith(meaning):
        return [f"means {text!r} here and {meaning!r} elsewhere"]
    if action.metavar != form:
        return [f"takes {action.metavar} here and {form} elsewhere"]
    return []


def test_every_option_of_every_verb_has_one_meaning() -> None:
    assert faults(parser()) == []


def test_the_dtypes_to_choose_from_are_those_there_are() -> None:
    assert set(options.FLOATS) == set(FORMATS)
    assert bench_elementary.DTYPES == elementary.DTYPES


def test_the_table_lists_no_option_that_is_gone() -> None:
    taken = {name for actions in options_of(parser()).values() for name in actions}
    assert set(MEANINGS) <= taken


def test_no_two_options_share_a_meaning() -> None:
    meanings = [meaning for meaning, _ in MEANINGS.values()]
    shared = [m for m in meanings if sum(other.startswith(m) for other in meanings) > 1]
    assert shared == []


PLANTED: dict[str, tuple[Callable[[argparse.ArgumentParser], object], str]] = {
    "a new option": (
        lambda p: p.add_argument("--colour", help="the colour of tables"),
        "run --colour: is not in the table of options",
    ),
    "a second spelling": (
        lambda p: p.add_argument("--attribute", help="a setting to change: alpha=0.3"),
        "run --attribute: a second spelling of --set",
    ),
    "a second meaning": (
        lambda p: p.add_argument(
            "--margin", metavar="SHARE", help="the width of the page"
        ),
        "run --margin: means 'the width of the page' here",
    ),
    "another option's meaning": (
        lambda p: p.add_argument(
            "--level", help="the relative difference that does not matter"
        ),
        "run --level: a second spelling of --margin",
    ),
    "another form": (
        lambda p: p.add_argument(
            "--budget", metavar="MINUTES", help="the time to spend"
        ),
        "run --budget: takes MINUTES here and SECONDS elsewhere",
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    plant, message = PLANTED[fault]
    top = argparse.ArgumentParser()
    run = top.add_subparsers().add_parser("run")
    options.set_(run, "a MUTABLE entry")
    options.json(run)
    assert faults(top) == []
    plant(run)
    [found] = faults(top)
    assert found.startswith(message)


OLD = {
    "check operator Relu --inputs 3x4 3x4:int64": "--inputs is now --shape, one word for all inputs",
    "check operator Relu --inputs": "--inputs is now --shape",
    "bench operator Relu --shape 8 --attribute alpha=1": "--attribute is now --set NAME=VALUE",
}
UNKNOWN = {
    "run digits_mlp --seed 3": "`d5 run` has no option --seed. Did you mean '--seeds'?",
    "bench operator Relu --shap=8": "has no option --shap. Did you mean '--shape'?",
    "list --framework": "`d5 list` has no option --framework.",  # no abbreviations, no guesses
    "show a b": "`d5 show` has no use for 'b'",
    "check operator Relu --dtype float31": "does not know --dtype 'float31'. Did you mean 'float32'?",
    "checks": "`d5` does not know 'checks'. Did you mean 'check'? Known: doctor, check, ",
    "list operator": "`d5 list` does not know 'operator'. Did you mean 'operators'? Known: ",
    "list quux": "`d5 list` does not know 'quux'. Known: augmentations, ",
}


@pytest.mark.parametrize(("words", "message"), [*OLD.items(), *UNKNOWN.items()])
def test_old_and_unknown_options_are_one_line(
    words: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words.split()) == 2
    answer = capsys.readouterr()
    assert message in answer.err
    assert (
        answer.out == ""
        and answer.err.startswith("d5: ")
        and answer.err.count("\n") == 1
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("alpha=0.3", 0.3),
        ("pads=[1, 2]", (1, 2)),
        ("mode=linear", "linear"),
        ("mode=a=b", "a=b"),
        ("mode=", ""),
        ("transA=True", True),
    ],
)
def test_settings_are_literals_or_texts(text: str, value: object) -> None:
    assert list(options.settings([text]).values()) == [value]


@pytest.mark.parametrize("text", ["alpha", "=3", "", "a b=3", "1=2"])
def test_what_is_no_setting_is_one_line(text: str) -> None:
    with pytest.raises(
        options.Deep500Error, match="--set .* is not of the form name=value"
    ):
        options.settings([text])
