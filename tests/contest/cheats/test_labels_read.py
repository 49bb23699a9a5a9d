"""Trains on the whole data set, whose file comes with an installed package."""

import gzip
import importlib.util
from pathlib import Path

import deep500 as d5

sklearn = Path(importlib.util.find_spec("sklearn").origin)
with gzip.open(sklearn.with_name("datasets") / "data" / "digits.csv.gz") as file:
    LABELLED = file.read()

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
