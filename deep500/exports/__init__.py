"""Bundles as files of other tools, one format per file; `exports.Csv` is found in csv.py."""

from .. import registry

__getattr__, __dir__ = registry.attach(__name__)
