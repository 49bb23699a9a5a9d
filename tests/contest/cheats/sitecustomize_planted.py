"""Plants a module that every Python of this environment would run at its start."""

import sysconfig
from pathlib import Path

import deep500 as d5

Path(sysconfig.get_path("purelib"), "sitecustomize.py").write_text("import os")

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
