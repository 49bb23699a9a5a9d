"""Finished trials in a file, so that a benchmark that was interrupted goes on behind them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Kept:
    """The results of trials by their keys; without a path, they are kept in memory only."""

    def __init__(self, path: Path | None):
        self.path = path
        self.results: dict[str, Any] = {}
        lines = path.read_text().splitlines() if path and path.exists() else []
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:  # the line in which it was interrupted
                continue
            self.results[row["key"]] = row["result"]

    def of(self, *key: object, trial: Callable[[], Any]) -> Any:
        """The result of the trial with this key: the one in the file, or a new one."""
        text = json.dumps(key)
        if text not in self.results:
            result = trial()
            self.results[text] = result
            self._append({"key": text, "result": result})
        return self.results[text]

    def _append(self, row: dict[str, Any]) -> None:
        if self.path is None:
            return
        with self.path.open("a") as file:
            file.write("\n" + json.dumps(row))
