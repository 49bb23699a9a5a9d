"""when compression pays: steps and time to an accuracy by codec, on networks of 10 Mbit/s and more"""

from ..bench.compression_benchmark import CompressionBenchmark
from .bench_noun import BenchNoun

VERB = BenchNoun(CompressionBenchmark)
arguments, call = VERB.arguments, VERB.call
