"""how long collectives take, by algorithm, size and transport; fits LogGP to this machine"""

from ..bench.collective_benchmark import CollectiveBenchmark
from .bench_noun import BenchNoun

VERB = BenchNoun(CollectiveBenchmark)
arguments, call = VERB.arguments, VERB.call
