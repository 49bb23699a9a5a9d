"""A forger: changes a bundle and seals it again, with every hash and every derived number as they must then be."""

import copy
import hashlib
from pathlib import Path
from typing import Any

from deep500 import bundle, cli
from deep500.bundle import encoding
from deep500.contracts.result import derived_document, derived_numbers, result_kind
from deep500.hashing.canonical_form import form_hash
from deep500.hashing.own_code import fixed_form_hash


def small_bench(folder: Path) -> Path:
    """A benchmark of two statements in three processes."""
    words = ["bench", "sum(range(99))", "sum(range(120))", "--processes", "3"]
    assert cli.main([*words, "--budget", "1", "--out", str(folder)]) == 0
    return folder


class Forger:
    """The parts of a bundle, free to be changed; `seal` writes them as a bundle that nobody can tell by its hashes."""

    def __init__(self, source: Path) -> None:
        found = bundle.read(source)
        assert found.finished and not found.problems
        documents: Any = copy.deepcopy(found.documents)
        self.kind = found.kind
        self.created = found.created
        self.finished = documents.pop("manifest.json")["finished"]
        self.plan: dict[str, Any] = documents.pop("plan.json")
        self.environment: dict[str, Any] = documents.pop("environment.json")
        documents.pop("derived.json")
        self.others = documents
        self.blocks: list[dict[str, Any]] = copy.deepcopy(found.blocks)
        self.files = {name: found.load(name) for name in found.files}

    def of(self, seed: int) -> list[dict[str, Any]]:
        """The blocks of one seed."""
        return [block for block in self.blocks if block["seed"] == seed]

    def epochs(self) -> list[dict[str, Any]]:
        return [block for block in self.blocks if "evaluation" in block]

    def end(self, seed: int) -> dict[str, Any]:
        return next(block for block in self.of(seed) if "test" in block)

    def rehash(self) -> None:
        """Let the plan's own hashes fit its recipe."""
        self.plan["hash"] = form_hash(self.plan["recipe"])
        self.plan["fixed_hash"] = fixed_form_hash(self.plan["recipe"])

    def drop_seed(self, seed: int) -> None:
        self.blocks = [block for block in self.blocks if block["seed"] != seed]
        self.plan["seeds"].remove(seed)
        del self.files[f"weights-{seed}.safetensors"]

    def renumber(self) -> None:
        """Call the seeds 0, 1, 2 …"""
        for new, old in enumerate(self.plan["seeds"]):
            for block in self.of(old):
                block["seed"] = new
            weights = self.files.pop(f"weights-{old}.safetensors")
            self.files[f"weights-{new}.safetensors"] = weights
        self.plan["seeds"] = list(range(len(self.plan["seeds"])))

    def scale_times(self, factor: float, whole_ns: bool = False) -> None:
        """Multiply every time of a recipe's run, on every place where it is told."""
        steps: dict[int, list[float]] = {}
        for block in self.blocks:
            if "build_seconds" in block:
                block["build_seconds"] *= factor
                continue
            times = []
            for seconds in block["series"]["seconds"]:
                scaled = seconds * factor
                times.append(round(scaled * 1e9) / 1e9 if whole_ns else scaled)
            block["series"]["seconds"] = times
            block["series"]["data"] = [0.0] * len(times)
            steps.setdefault(block["seed"], []).extend(times)
            block["evaluation"]["seconds"] = sum(steps[block["seed"]])
            for name in ("run seconds", "evaluation seconds"):
                block["counters"][name] *= factor

    def shortest_times(self) -> None:
        """As short as nobody can refuse them, in whole nanoseconds, by the clock of the machine too."""
        shortest = min(min(block["series"]["seconds"]) for block in self.epochs())
        factor = 2e-7 / shortest
        self.scale_times(factor, whole_ns=True)
        begin = min(block["counters"]["unix time"] for block in self.epochs())
        for block in self.epochs():
            counters = block["counters"]
            counters["unix time"] = begin + (counters["unix time"] - begin) * factor

    def seal(self, folder: Path) -> Path:
        for block in self.blocks:
            if "weights" in block:
                data = self.files[f"weights-{block['seed']}.safetensors"]
                block["weights"] = hashlib.sha256(data).hexdigest()
        kind = result_kind(self.kind)
        plan = kind.check_plan(self.plan)
        numbers = derived_numbers(kind, plan, kind.check_blocks(plan, self.blocks))
        derived = derived_document(kind, numbers)
        begin = {"plan.json": self.plan, "environment.json": self.environment}
        contents = {
            name: bundle.canonical(document) for name, document in begin.items()
        }
        header = {
            "format": bundle.FORMAT,
            "kind": self.kind,
            "created": self.created,
            "documents": {n: encoding.sha256(data) for n, data in contents.items()},
        }
        head, chain = encoding.ZERO, b""
        for block in (header, *self.blocks):
            head, line = encoding.link(head, block)
            chain += line
        contents["samples.jsonl"] = chain
        contents["derived.json"] = bundle.canonical(derived)
        for name, document in self.others.items():
            contents[name] = bundle.canonical(document)
        contents |= self.files
        manifest = {
            "format": bundle.FORMAT,
            "kind": self.kind,
            "created": self.created,
            "finished": self.finished,
            "files": {n: encoding.sha256(data) for n, data in contents.items()},
            "head": head,
            "blocks": len(self.blocks),
        }
        digest = encoding.sha256(bundle.canonical(manifest))
        contents["manifest.json"] = bundle.canonical(manifest | {"hash": digest})
        folder.mkdir(parents=True)
        for name, data in contents.items():
            (folder / name).write_bytes(data)
        assert bundle.read(folder).problems == [], "the hashes alone cannot tell"
        return folder
