"""Rule 9: setup."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding, Evidence
from ..contracts.dossier import Dossier

CLASSES = (
    "processor",
    "memory",
    "network",
    "compiler",
    "runtime",
    "storage",
    "inputs",
    "measurement",
    "source",
)
MOST_MISSING = 5


class R09Setup(AuditRule):
    """The set-up is documented: hardware, software and the way of measuring, in nine classes."""

    why = (
        "Nobody can interpret a time without the machine, or repeat it without the "
        "versions. “Titan” is not a description."
    )
    advice = (
        "Say a sentence on each: processor, memory, network, compiler, runtime, "
        "storage, inputs, measurement, source code."
    )
    breaks = """
[[setup]]
name = "the machine"
processor = "Titan"
"""
    keeps = """
[[setup]]
name = "the machine"
processor = "2 x EPYC 7742, 2.25 GHz, boost off"
memory = "256 GiB DDR4-3200"
network = "Slingshot, 200 Gb/s, libfabric 1.18"
compiler = "GCC 12.2 -O3 -march=native"
runtime = "Linux 6.1, PyTorch 2.13.0"
storage = "Lustre"
inputs = "ImageNet 2012, batch 256"
measurement = "perf_counter, warm caches, 5 processes"
source = "github.com/a/b@1a2b3c4"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for setup in dossier.setup:
            missing = [name for name in CLASSES if not getattr(setup, name)]
            listed = ", ".join(missing)
            if not missing:
                yield setup.passes("all nine classes are described", *CLASSES)
            elif len(missing) >= MOST_MISSING:
                yield setup.fails(f"not described: {listed}", *missing)
            else:
                yield setup.warns(f"not described: {listed}", *missing)
        if dossier.number and not dossier.setup:
            first = dossier.number[0].origin
            place = Evidence(first.file, "setup", None)
            yield AuditFinding("FAIL", "the set-up is not described at all", [place])
