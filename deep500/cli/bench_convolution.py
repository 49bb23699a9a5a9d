"""ways to compute a convolution against PyTorch's best layout: time, rates, workspace, error, who wins where"""

from ..bench.convolution_benchmark import ConvolutionBenchmark
from .bench_noun import BenchNoun

VERB = BenchNoun(ConvolutionBenchmark)
arguments, call = VERB.arguments, VERB.call
