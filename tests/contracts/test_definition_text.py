"""The grammar of definitions: what is read, what is refused, and where a message points to."""

from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500 import Deep500Error
from deep500.definition_text import Names, definition_of, parts_of
from deep500.hashing.canonical_form import canonical_form
from deep500.optimizers import SGD, Adam, AdamW, ClipByNorm, Group

SOURCE = """
import deep500 as d5

RATE = 0.5


class Mine(d5.optimizers.Adam):
    beta: float = 0.8


class Plain(d5.UpdateRuleOptimizer):
    def __init__(self, rate=RATE, options=None):
        self.rate, self.options = rate, options

    def update_rule(self, grad, old_param, param_name):
        return old_param - self.rate * grad


class Raises(d5.optimizers.Adam):
    def __post_init__(self):
        raise ValueError("no")


class Block(d5.codecs.TopK):
    block: int = 3
"""
FILES = ("mine.py", "with space.py", "größe.py", "a:b.py", "odd (1), [x] = 2.py")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        (tmp_path / name).write_text(SOURCE)
    return tmp_path


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("quotes", ["", "'", '"'])
def test_a_class_in_a_file(folder: Path, file: str, quotes: str) -> None:
    for path in (file, f"./{file}", str(folder / file)):
        text = f"{quotes}{path}{quotes}:Mine(0.5, beta=0.1)"
        made = definition_of(text, "optimizers")
        assert type(made).__name__ == "Mine" and made.beta == 0.1
        chain = definition_of(f"{text} | ClipByNorm(2)", "optimizers")
        assert chain == made | ClipByNorm(2.0)


def test_a_class_in_a_file_within_another(folder: Path) -> None:
    text = "AllReduce(codec=mine.py:Block(block=32) | QSGD(bits=4))"
    codec = definition_of(text, "schemes").codec
    assert codec.first.block == 32 and codec.second == d5.codecs.QSGD(bits=4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Adam", Adam()),
        ("adam_w", AdamW()),
        (" Adam( 0.01 ) ", Adam(0.01)),
        ("Adam(Cosine(0.01, 60))", Adam(d5.schedules.Cosine(0.01, 60))),
        ("AdamW(0.01) | ClipByNorm(1.0)", AdamW(0.01) | ClipByNorm(1.0)),
        (
            "SGD(WarmUp(Cosine(0.1, 9), 5))",
            SGD(d5.schedules.WarmUp(d5.schedules.Cosine(0.1, 9), 5)),
        ),
        ("Adam() | Group('*bias', SGD(0.1))", Adam() | Group("*bias", SGD(0.1))),
        (
            "SGD(Piecewise([10], [1, 2]))",
            SGD(d5.schedules.Piecewise((10,), (1, 2))),
        ),
        ("d5.optimizers.Adam(0.1)", Adam(0.1)),
        ("deep500.optimizers.Adam(0.1)", Adam(0.1)),
    ],
)
def test_a_text_is_what_python_would_make_of_it(text: str, expected: Any) -> None:
    assert definition_of(text, "optimizers") == expected


def test_a_name_of_two_kinds_is_the_one_that_the_setting_takes() -> None:
    ring = definition_of("AllReduce(collective=Ring())", "schemes").collective
    assert isinstance(ring, d5.contracts.collective.Collective)
    ring = definition_of("DPSGD(topology=Ring())", "schemes").topology
    assert isinstance(ring, d5.contracts.topology.Topology)


def test_settings_may_be_dictionaries_and_lists(folder: Path) -> None:
    text = "mine.py:Plain(2, options={'a': [1, Cosine(1.0, 3)], 'b.py:c': (None, -1)})"
    options = definition_of(text, "optimizers").options
    cosine = d5.schedules.Cosine(1.0, 3)
    assert options == {"a": [1, cosine], "b.py:c": (None, -1)}


def test_the_classes_of_a_recipe_come_first(folder: Path) -> None:
    class Adam(d5.optimizers.SGD):
        pass

    names = Names({"Adam": Adam})
    assert type(definition_of("Adam(0.1)", "optimizers", names)) is Adam
    with pytest.raises(Deep500Error, match="Known: Adam, AMSGrad"):
        definition_of("Adamant", "optimizers", names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' names no optimizer: write a name with settings, such as Adam"),
        ("None", "'None' names no optimizer: write a name with settings"),
        ("Adamm", "Did you mean 'Adam'"),
        ("Adam(1, 2", r"cannot be read at character 5 \('\(' was never closed"),
        ("mine.py:Mine(1, beta=1+)", "cannot be read at character 24"),
        ("Adam(1/3)", "at character 6: this is neither a literal"),
        ("Adam(Cos(1))", "no schedule is named 'Cos'. Did you mean 'Cosine'"),
        ("Adam(0.1, beta1=open('x'))", "at character 17: open is a name, and this"),
        ("Adam(**{'a': 1})", r"\*\* is not taken: name each setting"),
        ("Adam(*[1])", "at character 6: this is neither a literal"),
        ("Adam(beta3=1)", "no setting of Adam is named 'beta3'"),
        ("Adam('x')", "learning_rate of Adam is 'x', and a number or a Schedule"),
        ("Momentum", "missing a required argument: 'learning_rate'"),
        ("3", "here the name of an optimizer is wanted"),
        ("[Adam]", "here the name of an optimizer is wanted"),
        ("lambda: 1", "here the name of an optimizer is wanted"),
        ("ClipByNorm(1.0)", "changes gradients and is no optimizer by itself"),
        ("Adam | Adam", "Adam cannot be chained with Adam"),
        ("mine.py:Plain | ClipByNorm(1)", "Plain cannot be chained with ClipByNorm"),
        ("mine.py:Mine2", "no optimizer in mine.py is named 'Mine2'.*Known: Mine"),
        ("mine.py:Block", "no optimizer in mine.py is named 'Block'"),
        ("mine.py:Raises", r"ValueError: no, in Raises.__post_init__ \(mine.py, line"),
        ("nowhere.py:Mine", "there is no file nowhere.py"),
        ("os.system('touch x')", "os.system is no optimizer"),
        ("__import__('os').system('touch x')", "this is no dotted name"),
        ("nothing_here.Adam", "no module nothing_here is installed"),
        ("d5.optimizers.Adamm(1)", "Did you mean 'Adam'"),
        ("Adam(" * 199, "cannot be read"),
        ("(" * 300, "cannot be read"),
        ("-" * 900 + "1", "cannot be read"),
        ("Adam(" + "-" * 900 + "1)", "cannot be read"),
        ("a\0b", "cannot be read"),
        ("x" * 2000, "at most 1000"),
    ],
)
def test_what_is_refused_is_refused_in_one_line(
    folder: Path, text: str, message: str
) -> None:
    with pytest.raises(Deep500Error, match=message) as caught:
        definition_of(text, "optimizers")
    assert len(str(caught.value).splitlines()) == 1
    assert not (folder / "x").exists()


def test_the_settings_of_a_text_are_known_by_name() -> None:
    parts = parts_of("Adam(0.1, beta2=0.9)", "optimizers")
    assert parts.given == {"learning_rate", "beta2"}


def recorded(file: Path, source: str, name: str) -> Any:
    """How a bundle records a definition of a file with this source."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(source)
    return canonical_form(definition_of(f"{file}:{name}", "optimizers"))


def test_two_files_of_one_name_are_told_apart_by_the_class(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a" / "mine.py", SOURCE, "Mine")
    other = SOURCE.replace("beta: float = 0.8", "beta: float = 0.8  # else")
    assert recorded(tmp_path / "b" / "mine.py", other, "Mine") != first
    copy = SOURCE + "\n\n# the same class in another file\n"
    assert recorded(tmp_path / "c" / "mine.py", copy, "Mine") == first


def test_the_hash_covers_what_a_class_uses_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    before = recorded(file, SOURCE, "Plain")
    after = recorded(file, SOURCE.replace("RATE = 0.5", "RATE = 0.25"), "Plain")
    assert before != after


def test_a_file_that_has_not_changed_runs_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    first = definition_of(f"{file}:Mine", "optimizers")
    assert definition_of(f"{file}:Mine", "optimizers") == first


def test_a_network_of_ranks_is_a_setting() -> None:
    """Which is no definition with a folder of its own."""
    text = "SparCML(network=LogGP(L=1e-4, G=8e-8))"
    assert definition_of(text, "collectives").network == d5.LogGP(L=1e-4, G=8e-8)
    with pytest.raises(Deep500Error, match=r"'LogG'\. Did you mean 'LogGP'"):
        definition_of("SparCML(network=LogG())", "collectives")
