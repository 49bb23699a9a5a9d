"""Is a result honest? A claim of a paper, a run of one's own, and the same run after it was fooled."""

import tempfile
from pathlib import Path

import deep500 as d5

CLAIM = """
[[speedup]]
name = "“Check out my wonderful speed-up!”"
value = 53.1
processes = 64
"""
claim = d5.audit_claims(CLAIM)
print("the paper: ", claim.sentence)
for outcome in claim.having("FAIL"):
    print(f"   {outcome.id}  {outcome.findings[0].text}")

recipe = d5.Recipe(
    "digits",
    {"model": d5.networks.Mlp(hidden=(16,)), "dataset": "digits", "epochs": 2},
    {"batch_size": 64, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)},
    [(d5.TestAccuracy(), 50.0), (d5.Throughput(), None)],
)
with tempfile.TemporaryDirectory() as folder:
    honest, fooled = Path(folder) / "honest", Path(folder) / "fooled"
    d5.run(recipe, honest, seeds=3)
    d5.fool(honest, 2, fooled)  # training accuracy stands in for test accuracy
    for bundle in (honest, fooled):
        audit = d5.audit_sources(bundle)
        print(f"{bundle.name + ':':11} {audit.sentence}")
