"""the time of a training step over limits of workspace: predicted, measured, and which layer chose what"""

from ..bench.micro_batch_benchmark import MicroBatchBenchmark
from .bench_noun import BenchNoun

VERB = BenchNoun(MicroBatchBenchmark)
arguments, call = VERB.arguments, VERB.call
