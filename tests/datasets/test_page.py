"""docs/add-a-dataset.md is true: its file alone makes a data set that can be trained on."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-dataset.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1)
FILE = re.search(r"Save this as `(.*?)`", PAGE).group(1)
USE = """
import deep500 as d5
splits = d5.datasets.load("spirals", turns=2, size=200)
assert [len(split) for split in splits.values()] == [120, 40, 40]
assert d5.dataset_bias(splits).splits[0].deviation == 0
executor = d5.framework("reference").from_model(d5.networks.Mlp((8,)).build((2,), 2))
sampler = d5.ShuffleSampler(16)
optimizer = d5.optimizers.SGD(0.1)
history = d5.Trainer(executor, optimizer, splits=splits, sampler=sampler, epochs=2, events=[], workers=1).run()
assert history.steps == 16
try:
    d5.datasets.load("spirals", turns=0)
except d5.Deep500Error as error:
    print(error)
"""


def test_the_page_makes_a_data_set(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "deep500", tmp_path / "deep500", ignore=ignored)
    assert not (tmp_path / FILE).exists()
    (tmp_path / FILE).write_text(CODE, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", USE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "turns is 0.0: a spiral has more than 0\n"


def test_the_page_fits_a_screen() -> None:
    assert len(PAGE.splitlines()) <= 60
