"""Every operator of the corpus: where it is, what is right, and how a wrong one shows that it is wrong."""

from dataclasses import dataclass

import numpy as np

from . import witnesses as by
from .witnesses import Witness


@dataclass(frozen=True)
class Entry:
    """One operator, named as `d5 check operator` takes it, relative to this folder."""

    operator: str
    reference: str  # a function of references.py
    mistake: str = ""  # the class of mistake; none for an honest one
    shape: str = ""  # as --shape takes it, where the usual one will not do
    witness: Witness | None = None  # none where it is run in a process of its own
    missed: str = ""  # why the check does not find it

    @property
    def expected(self) -> str:
        return "wrong" if self.mistake else "ok"

    @property
    def name(self) -> str:
        return self.operator.rpartition(":")[2]


def _wrong(
    file: str,
    mistake: str,
    reference: str,
    rows: dict[str, Witness | None],
    shape: str = "",
    missed: str = "",
) -> list[Entry]:
    """Several operators of one file with one kind of mistake and one reference; a C++ file is named by its operator."""
    names = [name if file else f"{name}.cpp:{name}" for name in rows]
    places = [f"wrong/{file}:{name}" if file else f"wrong/{name}" for name in names]
    return [
        Entry(place, reference, mistake, shape, witness, missed)
        for place, witness in zip(places, rows.values(), strict=True)
    ]


def _honest(file: str, *rows: str) -> list[Entry]:
    """Operators of one file, each as "Name reference [shape]"; in C++ without a file."""
    entries = []
    for row in rows:
        name, reference, *shape = row.split()
        place = f"honest/{file}:{name}" if file else f"honest/{name}.cpp:{name}"
        entries.append(Entry(place, reference, shape=" ".join(shape)))
    return entries


GRID = np.linspace(-1.7, 1.9, 24).reshape(4, 6)
OTHER = np.linspace(2.3, -1.1, 24).reshape(4, 6)
SQUARE = GRID.ravel()[:16].reshape(4, 4)
EXTREMES = [[-1000.0, 0.0, 1000.0]]
ZEROS = np.zeros((2, 3))
ROW = np.array([[0.5, 1.5, 2.5, 2.0]])

GRADIENTS = [
    *_wrong(
        "gradients.py",
        "gradient",
        "cube",
        {
            "CancellingRows": by.gradient(GRID),
            "OneElement": by.gradient(GRID),
            "LastRow": by.gradient(GRID),
            "OffsetGradient": by.gradient(GRID),
            "OffByAThousandth": by.gradient(GRID),
            "WrongForSmallGradients": by.gradient(GRID, grads=[np.full((4, 6), 1e-3)]),
            "ClippedGradient": by.gradient(GRID * 3),
            "SingleGradient": by.single_gradient(GRID),
            "MeanOfGradients": by.gradient(GRID),
            "ExpandedGradients": by.gradient_of_transposed(GRID),
            "OddTail": by.gradient(np.ones((2, 3))),
            "LargeInputs": by.gradient(np.full((2, 2), 200.0)),
        },
    ),
    *_wrong(
        "gradients.py",
        "gradient",
        "relu",
        {"CancellingRelu": by.gradient(GRID), "GuidedRelu": by.gradient(GRID)},
    ),
    *_wrong(
        "gradients.py",
        "gradient",
        "tanh",
        {
            "FlatTanh": by.gradient(GRID * 2),
            "FailingGradient": by.failing_backward(GRID),
        },
    ),
    *_wrong("gradients.py", "gradient", "sinc", {"SincAtZero": by.gradient(ZEROS)}),
    *_wrong(
        "gradients.py", "gradient", "softmax", {"SoftmaxDiagonal": by.gradient(GRID)}
    ),
    *_wrong(
        "gradients.py",
        "gradient",
        "sine_and_cosine",
        {"SecondOutputForgotten": by.gradient(GRID)},
    ),
    *_wrong("gradients.py", "gradient", "mean", {"MeanByRows": by.gradient(GRID)}),
    *_wrong(
        "gradients.py", "gradient", "maximum", {"TiedMaximum": by.gradient_sum(ZEROS)}
    ),
    *_wrong(
        "gradients.py",
        "gradient",
        "multiply",
        {"BroadcastColumn": by.gradient(GRID, GRID[:, :1])},
        "4x6,4x1",
    ),
    *_wrong(
        "gradients.py",
        "gradient",
        "add_bias",
        {"BiasMean": by.gradient(GRID, GRID[0])},
        "4x6,6",
    ),
    *_wrong(
        "gradients.py",
        "gradient",
        "add_bias",
        {"SummedForRankThree": by.gradient(GRID.reshape(2, 3, 4), GRID[0, :4])},
        "2x3x4,4",
    ),
    *_wrong(
        "gradients.py",
        "gradient",
        "multiply",
        {"BroadcastScale": by.gradient(GRID, GRID[0])},
        "4x6,6",
    ),
    *_wrong(
        "gradients.py",
        "gradient",
        "multiply",
        {
            "SwappedMultiply": by.gradient(GRID, OTHER),
            "MissingSecond": by.gradient(GRID, OTHER),
        },
    ),
    *_wrong(
        "gradients.py",
        "gradient",
        "matmul",
        {"MatMulSquare": by.gradient(SQUARE, SQUARE.T)},
        "5x5,5x5",
    ),
]

REGIMES = [
    Entry(f"wrong/regimes.py:{name}", reference, "regime", shape, witness)
    for name, reference, shape, witness in [
        ("softplus", "softplus", "", by.forward(EXTREMES)),
        ("softmax", "softmax", "", by.forward(EXTREMES)),
        ("logsumexp", "logsumexp", "", by.forward(EXTREMES)),
        ("sigmoid", "sigmoid", "", by.forward(EXTREMES)),
        ("tanh", "tanh", "", by.forward(EXTREMES)),
        ("variance", "variance", "", by.forward(GRID + 1e4)),
        ("layer_norm", "layer_norm", "", by.forward(GRID + 1e4)),
        ("layer_norm_without_eps", "layer_norm", "", by.forward(ZEROS)),
        ("relu6", "relu6", "", by.forward(EXTREMES)),
        ("copysign_one", "copysign_one", "", by.forward([-0.0, 0.0])),
        ("reciprocal", "reciprocal", "", by.forward([0.0, 1.0])),
        ("relu", "relu", "", by.forward([np.nan, 1.0])),
        ("double_of_finite", "double", "", by.forward([np.inf, 1.0])),
        ("maximum", "maximum", "", by.forward([[-3.0, -1.0]])),
        ("maximum_from_lowest", "maximum", "", by.forward([[-np.inf, -np.inf]])),
        ("sign", "sign", "", by.forward([1e-40, 1.0])),
        ("argmax", "argmax", "", by.forward(ZEROS)),
        ("argsort", "argsort", "", by.forward(ZEROS)),
        ("sine", "sine", "", by.forward([3.0, 10.0])),
        ("double", "double", "", by.forward(EXTREMES)),
        ("sort", "sort", "", by.forward([[1.0, 2.0, 3.0]])),
        ("sort_without_equals", "sort", "", by.forward([[1.0, 1.0, 2.0]])),
        ("increment", "increment", "int64:4x6", by.forward(np.array([2**24 + 2]))),
        ("floor", "floor", "", by.forward([1e10, 1.5])),
        ("rint", "rint", "", by.forward(ROW)),
        ("expm1", "expm1", "", by.forward([1e-6, 1.0])),
        ("log1p", "log1p", "", by.forward([1e-6, 1.0])),
        ("cosine_similarity", "cosine_similarity", "", by.forward(ZEROS, ZEROS)),
        ("gelu", "gelu", "", by.forward(GRID)),
        ("erf", "erf", "", by.forward([3.1, 1.0], dtype="float64")),
        ("negative_scale", "double", "", by.forward([-1.0, -2.0])),
        ("constant_rows", "row_sum", "", by.forward(np.ones((2, 3)))),
        ("median", "median", "", by.forward(ROW)),
        ("atan2", "atan2", "", by.forward([1.0, 1.0], [-1.0, 1.0])),
        (
            "softplus_with_threshold",
            "softplus",
            "",
            by.forward([21.0], dtype="float64"),
        ),
        ("entropy", "entropy", "", by.forward([0.0, 1.0])),
        ("log_over_less_one", "log_over_less_one", "", by.forward([1.0, 2.0])),
        ("duplicate_rows", "double", "", by.forward(np.ones((2, 3)))),
        (
            "increment_through_int32",
            "increment",
            "int64:4x6",
            by.forward(np.array([2**32])),
        ),
        ("absolute_of_integers", "absolute", "int64:4x6", by.forward(np.array([-5]))),
        ("zeros_are_masked", "row_mean", "", by.forward([[0.0, 1.0, 2.0]])),
        ("descending_is_sorted", "sort", "", by.forward([[3.0, 2.0, 1.0]])),
        ("equal_inputs", "multiply", "", by.forward(GRID, GRID)),
        ("whole_numbers", "double", "", by.forward([1.0, 1.5])),
    ]
]

REGIMES += [
    Entry(
        f"wrong/regimes.py:{name}",
        name,
        "regime",
        witness=witness,
        missed="numbers beyond a thousand are not tried: many honest operators overflow there",
    )
    for name, witness in [
        ("hypot", by.forward([1e30, 1.0], [1e30, 1.0])),
        ("frobenius", by.forward([1e30, 1.0])),
    ]
]

SHAPES = [
    Entry(f"wrong/shapes.py:{name}", reference, "shape", "", witness)
    for name, reference, witness in [
        ("odd_length", "double", by.forward(np.ones((2, 3)))),
        ("tail_of_eight", "double", by.forward(np.ones(9))),
        ("tail_of_sixteen_rows", "double", by.forward(np.ones((2, 17)))),
        ("one_element", "softmax", by.forward([[2.0], [3.0]])),
        ("empty_sum", "row_sum", by.forward(np.zeros((2, 0)))),
        ("rank_three", "row_sum", by.forward(np.ones((2, 3, 4)))),
        ("rank_three_axes", "cumulative_sum", by.forward(np.ones((2, 3, 4)))),
        ("squeezed", "double", by.forward(np.ones((1, 4)))),
        ("large_batch", "double", by.forward(np.ones((65, 2)))),
        ("more_than_a_thousand", "double", by.forward(np.ones((2, 600)))),
        ("square_is_transposed", "double", by.forward(SQUARE)),
        ("single_row", "column_means", by.forward(np.ones((1, 4)))),
        ("kept_axis", "row_sum", by.forward(GRID)),
        ("boxed_scalar", "scalar_sum", by.forward(GRID)),
        ("swapped_outputs", "min_and_max", by.forward(GRID)),
        ("batch_norm_for_rows", "layer_norm", by.forward(GRID)),
        ("prime_length", "double", by.forward(np.arange(14.0).reshape(2, 7))),
        ("scalar", "double", by.forward(np.float64(3.0))),
        ("empty_batch", "double", by.forward(np.zeros((0, 4)))),
        ("three_outputs", "min_and_max", by.forward(GRID)),
        ("object_output", "tanh", by.forward(GRID)),
        ("complex_output", "tanh", by.forward(GRID)),
        ("nothing", "tanh", by.forward(GRID)),
    ]
]

SHAPES += [
    *_wrong(
        "shapes.py",
        "shape",
        "add_bias",
        {"bias_along_rows": by.forward(SQUARE, SQUARE[0])},
        "4x6,6",
    ),
    *_wrong(
        "shapes.py",
        "shape",
        "multiply",
        {"broadcast_row": by.forward(GRID[:1], GRID)},
        "1x6,4x6",
    ),
]

PRECISION = [
    Entry(f"wrong/precision.py:{name}", reference, "precision", "", witness)
    for name, reference, witness in [
        ("half_inside", "double", by.forward(GRID)),
        ("bfloat_inside", "tanh", by.forward(GRID)),
        ("single_inside", "tanh", by.forward(GRID, dtype="float64")),
        ("quantised", "tanh", by.forward(GRID)),
        ("off_by_a_ten_thousandth", "tanh", by.forward(GRID)),
        ("wide_output", "tanh", by.other_dtype(GRID, "float32")),
        ("narrow_output", "tanh", by.other_dtype(GRID, "float64")),
        ("rough_pi", "scale_by_pi", by.forward(GRID, dtype="float64")),
        ("half_accumulator", "row_sum", by.forward(GRID)),
        ("table_of_sines", "sine", by.forward(GRID)),
        ("HalfGradient", "cube", by.gradient(GRID)),
    ]
]

MEMORY = [
    *_wrong(
        "memory.py",
        "memory",
        "tanh",
        {
            "OverwritesOutputs": by.overwritten(GRID),
            "OverwritesInputs": by.overwritten(GRID),
            "OverwritesGradients": by.overwritten(GRID),
            "OverwritesAndRestores": by.overwritten(GRID),
            "KeepsLastForward": by.interleaved(GRID, OTHER),
            "GradientBufferReused": by.gradient_changed_later(GRID, OTHER),
            "OutputBufferReused": by.changed_later(GRID, OTHER),
            "PoolOfThree": by.changed_later(GRID, OTHER, calls=3),
            "MemoryOrder": by.transposed(GRID),
            "DataPointer": by.transposed(GRID),
            "GradientMemoryOrder": by.transposed_backward(GRID),
            "UnwrittenElement": by.unwritten(GRID),
            "UnwrittenGradient": by.unwritten_gradient(GRID * 2),
            "ChangesInputLater": by.changed_later(GRID, OTHER),
            "ChangesOutputLater": by.changed_later(GRID, OTHER),
        },
    ),
    *_wrong(
        "memory.py",
        "memory",
        "relu",
        {"InPlaceRelu": by.overwritten(GRID), "KeepsMask": by.interleaved(GRID, OTHER)},
    ),
    *_wrong("memory.py", "memory", "row_sum", {"UnwrittenSum": by.unwritten(GRID)}),
]

CACHING = [
    *_wrong(
        "caching.py",
        "caching",
        "tanh",
        {
            "ByIdentity": by.same_storage(GRID, OTHER),
            "ByAddress": by.same_storage(GRID, OTHER),
            "ByShape": by.sequence(GRID, OTHER),
            "ByFirstElement": by.sequence(
                GRID, np.where(np.arange(24).reshape(4, 6), OTHER, GRID)
            ),
            "BySum": by.sequence(GRID, GRID[::-1]),
            "ByEnds": by.sequence(GRID, GRID[:, ::-1] * 0 + GRID[[0, 2, 1, 3]]),
            "ByContent": by.sequence(np.zeros((20, 5)), np.eye(20, 5, -15)),
            "ByRoundedContent": by.sequence(GRID, GRID + 1e-5),
            "SameObject": by.same_storage(GRID, OTHER),
            "GradientByAddress": by.same_storage_backward(GRID, OTHER),
            "ByDtypeForgotten": by.forward(GRID, dtype="float64"),
            "ByText": by.sequence(
                np.zeros((40, 50)), np.pad([[1.0]], [(20, 19), (25, 24)])
            ),
            "CapturedShape": by.sequence(GRID[:2], GRID),
        },
    ),
    *_wrong(
        "caching.py", "caching", "copysign_one", {"ByValue": by.sequence(ZEROS, -ZEROS)}
    ),
    *_wrong(
        "caching.py",
        "caching",
        "matmul",
        {"SecondByAddress": by.same_storage(OTHER.T, GRID.T, GRID)},
        "4x6,6x3",
    ),
]

CHANGING = [
    *_wrong(
        "changing.py",
        "changing",
        "tanh",
        {
            "ThirdCall": by.repeated(GRID, 12),
            "EverySeventh": by.repeated(GRID, 12),
            "EveryEleventh": by.repeated(GRID, 12),
            "AfterTenOfAShape": by.repeated(GRID, 12),
            "GradientAfterSeven": by.backward_calls(GRID, 12),
            "Alternating": by.repeated(GRID, 12),
            "GlobalRandom": by.repeated(GRID, 12),
            "SometimesRandom": by.repeated(GRID, 1000),
            "ByTime": by.repeated(GRID, 1000, 0.001),
            "GlobalWarmUp": by.repeated(GRID, 20),
            "TunedToDraws": by.forward(GRID**3),
            "TunedToShape": by.forward(ROW),
            "TunedToRange": by.forward(ROW),
        },
    ),
    *_wrong(
        "changing.py",
        "changing",
        "tanh",
        {"OneValue": by.forward([0.7310585786300049], dtype="float64")},
        missed="one number in 2⁶⁴ is wrong, and only its source says which",
    ),
    *_wrong(
        "changing.py",
        "changing",
        "tanh",
        {"KnowsTheCheck": None},
        missed="whoever recognises the process that checks can behave while it looks",
    ),
    *_wrong(
        "asynchronous.py",
        "threads",
        "tanh",
        {
            "FillsLater": by.forward(GRID),
            "SpoilsLater": by.changed_later(GRID, OTHER, pause=60),
        },
    ),
    *_wrong(
        "asynchronous.py", "threads", "scalar_sum", {"SharedSum": by.repeated(GRID, 20)}
    ),
]

CHEATING = _wrong(
    "cheating.py",
    "cheating",
    "tanh",
    dict.fromkeys(
        [
            "ExitsQuietly",
            "ExitsByException",
            "WritesReply",
            "WritesReplyAndStays",
            "ForgesReport",
            "ForgesByItsOwnMeans",
            "RepliesAtExit",
            "RepliesWhenLoaded",
            "PatchesTesting",
            "PatchesBuiltins",
            "PatchesChecks",
            "PatchesComparison",
            "PatchesJson",
            "ZeroesCallersArrays",
            "TracesCallers",
            "ReadsTruthFromFrames",
            "ReadsTruthFromHeap",
            "ReturnsLiar",
            "ReturnsTurncoat",
            "ChangesTheQuestion",
            "ClosesDescriptors",
            "ForksAndAnswers",
            "RaisesWhenAsked",
            "DeclaresNothing",
            "NoDomain",
            "NegativeDomain",
            "ReplacesReference",
            "ReturnsExplosives",
            "ReturnsHugeView",
            "Crashes",
            "RaisesHalfOfTheTime",
            "HidesShape",
        ]
    ),
)

CPP = [
    *_wrong("", "C++ memory", "half_of_neighbours", {"reads_past_end": by.outside(8)}),
    *_wrong(
        "",
        "C++ memory",
        "double",
        {
            "peeks_past_end": by.outside(8),
            "reads_before_start": by.outside(8),
            "writes_past_end": by.outside(8),
            "writes_before_start": by.outside(8),
            "gradient_past_end": by.outside(8, backward=True),
            "overwrites_input": by.overwritten(GRID),
            "unwritten_output": by.poisoned_output(8),
            "unwritten_sum": by.poisoned_output(8),
            "unwritten_scratch": by.unwritten(np.linspace(-1, 1, 200)),
            "vector_tail": by.forward(np.ones(9)),
            "short_index": by.forward(np.arange(40000.0)),
            "cache_by_pointer": by.same_storage(GRID, OTHER),
            "every_seventh_call": by.repeated(GRID, 12),
            "first_shape": by.sequence(GRID[:2], GRID),
            "assumes_alignment": by.misaligned(16),
        },
    ),
    *_wrong(
        "",
        "C++ memory",
        "square",
        {
            "gradient_tail": by.gradient(np.ones(9)),
            "state_in_member": by.interleaved(GRID, OTHER),
            "keeps_pointer": by.interleaved(GRID, OTHER),
        },
    ),
    *_wrong(
        "", "C++ memory", "multiply", {"swapped_gradients": by.gradient(GRID, OTHER)}
    ),
    *_wrong(
        "",
        "C++ memory",
        "cumulative_sum",
        {"single_dimension": by.forward(np.ones((2, 3, 4)))},
    ),
    *_wrong(
        "",
        "C++ memory",
        "add_bias",
        {"second_input_short": by.forward(GRID, GRID[0])},
        "4x6,6",
    ),
    *_wrong(
        "", "C++ memory", "tanh", {"float_inside": by.forward(GRID, dtype="float64")}
    ),
    *_wrong("", "C++ memory", "softplus", {"naive_softplus": by.forward(EXTREMES)}),
    *_wrong("", "C++ threads", "normalise_by_sum", {"race_sum": by.large(2_000_000)}),
    *_wrong("", "C++ threads", "cube", {"race_private": by.large(2_000_000)}),
    *_wrong(
        "", "C++ threads", "histogram_counts", {"race_histogram": by.large(2_000_000)}
    ),
    *_wrong(
        "",
        "C++ threads",
        "row_maximum",
        {"race_maximum": by.large(2_000_000)},
        missed="a lost maximum is as near to the next one as rounding; --sanitize finds it",
    ),
    *_wrong("", "C++ threads", "double", {"race_nowait": by.large(2_000_000)}),
    *_wrong("", "C++ threads", "double", {"drops_remainder": by.large(2_000_001)}),
    *_wrong(
        "",
        "C++ threads",
        "total_share",
        {"race_gradient": by.large(2_000_000, backward=True)},
    ),
]

WRONG = [
    *GRADIENTS,
    *REGIMES,
    *SHAPES,
    *PRECISION,
    *MEMORY,
    *CACHING,
    *CHANGING,
    *CHEATING,
    *CPP,
]

HONEST = [
    *_honest(
        "elementwise.py",
        "Softplus softplus",
        "Sigmoid sigmoid",
        "Tanh tanh",
        "Gelu gelu",
        "Log log",
        "StrictLog log",
        "Sqrt sqrt",
        "ArcCosh arccosh",
        "Atan2 atan2",
        "Clip clip",
        "ReluOneAtZero relu",
        "Absolute absolute",
        "Where where bool:4x6,4x6,4x6",
        "WideInside tanh",
        "Polynomial polynomial",
        "SignedZero copysign_one",
        "erf erf",
        "expm1 expm1",
        "log1p log1p",
        "hypot hypot",
        "reciprocal reciprocal",
        "is_finite is_finite",
        "rint rint",
        "increment increment int64:4x6",
        "floor floor",
        "RintWithoutSlope rint",
        "FastSine fast_sine",
        "Exp exp",
        "Tiny tiny",
        "Offset offset",
        "Entropy entropy",
        "RefusesNonFinite tanh",
        "logical_not logical_not bool:4x6",
    ),
    *_honest(
        "reductions.py",
        "Variance variance",
        "KahanSum row_sum",
        "PairwiseSum scalar_sum",
        "CumulativeSum cumulative_sum",
        "MaximumFirst maximum",
        "MaximumShared maximum",
        "LogSumExp logsumexp",
        "RowNorm row_norm",
        "ScalarSum scalar_sum",
        "frobenius frobenius",
        "count_positive count_positive",
        "argmax argmax",
        "median median",
        "dot dot",
        "histogram histogram",
        "min_and_max min_and_max",
        "mean mean",
        "row_sum row_sum",
        "column_means column_means",
    ),
    *_honest(
        "shapes.py",
        "Transpose transpose",
        "Flip flip",
        "Identity identity",
        "Strided strided",
        "Roll roll",
        "Pad pad",
        "Split split 4x7",
        "EvenRows even_rows",
        "FixedShape double 3x5",
        "MatricesOnly symmetric_difference 4x4",
        "FiveAxes sum_5d 2x3x2x3x2",
        "FortranOrder double",
        "ReadOnly double",
        "Concatenate concatenate 4x6,4x3",
        "Outer outer 4,6",
        "BroadcastView scalar_sum",
        "shape_of shape_of",
        "diagonal diagonal",
        "first_two first_two",
        "positive_only positive_only",
        "transpose transpose",
        "identity identity",
        "MultipleOfFour double 4x8",
        "Difference difference",
        "mean_of_integers row_mean int64:4x6",
    ),
    *_honest(
        "indexing.py",
        "Gather gather 6x4,int64<6:5",
        "Sort sort",
        "sort_by_random_pivots sort",
        "argsort argsort",
        "top_two top_two",
        "one_hot one_hot int64<5:7",
        "gather gather 6x4,int64<6:3x2",
        "nonzero nonzero",
        "where where bool:4x6,4x6,4x6",
        "sign sign",
    ),
    *_honest(
        "normalising.py",
        "Softmax softmax",
        "LogSoftmax log_softmax",
        "LayerNorm layer_norm",
        "BatchNorm batch_norm",
        "CosineSimilarity cosine_similarity",
        "Dropout dropout",
        "softmax softmax",
        "normalise_by_sum normalise_by_sum",
        "total_share total_share",
    ),
    *_honest(
        "products.py",
        "MatMul matmul 4x5,5x3",
        "Einsum matmul 4x5,5x3",
        "Linear linear 4x5,3x5,3",
        "Affine affine 4x6,6,6",
        "Conv1d conv1d 3x9,4",
        "BatchedSolve batched_solve 3x4x4,3x4",
        "InnerMatrix inner_matrix",
        "Distances distances 4x3,5x3",
        "WeightedSquare weighted_square",
    ),
    *_honest(
        "stateful.py",
        "ScratchSpace tanh",
        "CachedByContent tanh",
        "PreparedWeight matmul 4x5,5x3",
        "ThreadsOverRows tanh",
        "LockedTotal scalar_sum",
        "CountsCalls tanh",
        "BuildsTable tanh",
        "SeededPerCall double",
        "Chatty tanh",
        "OnItsOwnCopy tanh",
        "Chunks double",
        "NoBackward tanh",
        "LastForwardAsAHint tanh",
        "Slow tanh",
    ),
    *_honest(
        "formulas.py",
        "Places nonzero 4x6",
        "SumAndProduct sum_and_product 4x6,4x6",
        "Leaky leaky 4x6",
        "Cube cube 4x6",
    ),
    *_honest(
        "",
        "parallel_relu relu",
        "reduction normalise_by_sum",
        "critical_maximum row_maximum",
        "atomic_histogram histogram_counts",
        "two_inputs multiply",
        "blocks_of_eight double",
        "softmax_rows softmax",
        "two_outputs sine_and_cosine",
        "own_ending floor",
        "uneven_parts double",
        "double_inside tanh",
        "scratch_vector double",
        "neighbours half_of_neighbours",
    ),
]

CORPUS = [*WRONG, *HONEST]
