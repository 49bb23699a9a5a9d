"""`d5 report --figures`: pictures with their data, tables, sentences and the appendix."""

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from deep500 import cli
from deep500.bundle.records.loading import load
from deep500.measure.results import Result
from deep500.papers.appendix import ACM, NEURIPS, appendix
from deep500.papers.evaluation import NOTHING_KNOWN, evaluation_sentences
from deep500.reports.blocks import Table
from deep500.reports.latex import latex_table
from deep500.reports.tables import measured
from deep500.reports.text import Code

GOLDEN = Path(__file__).parents[1] / "data" / "golden"


@pytest.fixture
def figures(tmp_path, capsys):
    def write(name):
        bundle = tmp_path / f"{name}.zip"
        bundle.write_bytes((GOLDEN / f"{name}.zip").read_bytes())
        folder = tmp_path / f"figures-{name}"
        assert cli.main(["report", str(bundle), "--figures", str(folder)]) == 0
        capsys.readouterr()
        return folder

    return write


@pytest.mark.parametrize(
    "name", ["bench", pytest.param("recipe", marks=pytest.mark.slow)]
)
def test_every_picture_is_there_in_every_form(name, figures):
    folder = figures(name)
    pictures = sorted(path.stem for path in folder.glob("*.svg"))
    assert len(pictures) >= 2
    for picture in pictures:
        assert (folder / f"{picture}.pdf").read_bytes().startswith(b"%PDF-")
        with Image.open(folder / f"{picture}.png") as image:
            assert image.width > 1000
            colours = np.asarray(image.convert("L"))
        assert colours.min() < 200 < colours.max()  # something is drawn on white
        rows = list(
            csv.DictReader(io.StringIO((folder / f"{picture}.csv").read_text()))
        )
        assert rows and all(row["x"] and row["y"] for row in rows)
        assert (folder / f"{picture}.txt").read_text().strip()


def test_the_data_beside_a_picture_are_what_is_drawn(figures):
    record = load(GOLDEN / "bench.zip")
    rows = csv.DictReader(io.StringIO((figures("bench") / "ecdf.csv").read_text()))
    drawn: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row["drawn as"] == "line":
            drawn.setdefault(row["series"], []).append(
                (float(row["x"]), float(row["y"]))
            )
    result = Result(record.plan, list(record.blocks))
    assert len(drawn) == len(result.names)
    for name, points in zip(result.names, drawn.values(), strict=True):
        index = result.index(name)
        own = [process.seconds[index] for process in result.processes]
        samples = np.concatenate(own)
        x, y = np.array(points).T
        for place, share in zip(x, y, strict=True):
            below = (samples <= place * (1 + 1e-12)).mean()
            assert share <= below + 1e-9
        assert y[-1] == pytest.approx(1)
        assert x[-1] == pytest.approx(samples.max())


@pytest.mark.slow
def test_two_folders_are_the_same_to_the_byte(figures, tmp_path, capsys):
    first = figures("bench")
    second = tmp_path / "again"
    argv = ["report", str(GOLDEN / "bench.zip"), "--figures", str(second), "--out"]
    assert cli.main([*argv, str(tmp_path / "page.html")]) == 0
    capsys.readouterr()
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes(), path.name


def test_a_table_in_latex_shows_what_it_says():
    table = Table(
        ["entry", "median"],
        [[Code("a_b & c"), measured(1.2e-3, 1.1e-3, 1.3e-3, 30)], ["50 % \\ {x}", "–"]],
        "lr",
    )
    text = latex_table(table)
    assert r"\texttt{a\_b \& c} & 1.200~ms~[1.100,~1.300],~n~=~30 \\" in text
    assert r"50 \% \textbackslash{} \{x\} & -- \\" in text
    assert text.startswith(r"\begin{tabular}{lr}")


def test_latex_compiles_the_tables(figures, tmp_path):
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed")
    tables = "".join(p.read_text() for p in sorted(figures("bench").glob("*.tex")))
    preamble = r"\documentclass{article}\usepackage{booktabs,textcomp}\begin{document}"
    (tmp_path / "x.tex").write_text(preamble + tables + r"\end{document}")
    command = ["pdflatex", "-halt-on-error", "x.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)


def test_the_sentences_say_n_interval_and_why_it_stopped():
    record = load(GOLDEN / "bench.zip")
    sentences = evaluation_sentences(record)
    entry = record.derived.entries[0]
    assert f"n = {entry.n} " in sentences[0] and "95 % interval" in sentences[0]
    stopped = "was within" if record.derived.stopped == "precise" else " s, after which"
    assert stopped in sentences[0]
    seeds = evaluation_sentences(load(GOLDEN / "recipe.zip"))
    assert re.match(r"We trained digits_mlp with 3 seeds \(2 epochs each\)\.", seeds[0])
    assert evaluation_sentences(load(GOLDEN / "check.zip")) == [NOTHING_KNOWN]


@pytest.mark.parametrize("name", ["bench", "recipe", "check", "conformance"])
def test_the_appendix_answers_or_says_that_it_cannot(name):
    record = load(GOLDEN / f"{name}.zip")
    lines = [line for line in appendix(record).splitlines() if line.startswith("- ")]
    assert len(lines) == len(ACM) + len(NEURIPS)
    text = "\n".join(lines)
    assert "**Archived (DOI)**: not recorded" in text
    assert str(record.hash) in text
    if name == "recipe":
        assert "digits (SHA-256: " in text and "**Model**: mlp" in text


def test_a_folder_in_use_is_one_line(tmp_path, capsys):
    (tmp_path / "x").write_text("")
    argv = ["report", str(GOLDEN / "bench.zip"), "--out", str(tmp_path / "p.html")]
    assert cli.main([*argv, "--figures", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert cli.main([*argv, "--figures", str(tmp_path / "x" / "y")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "cannot be written" in line
