"""Divides the batch of every convolution into micro-batches that are fastest within a limit of memory (µ-cuDNN)."""

from collections.abc import Sequence

from ..contracts.byte_count import byte_count
from ..contracts.network import Network
from ..contracts.transformation import Transformation
from ..errors import Deep500Error
from ..measure.sensing.others import allowed_cpus
from ..micro_batches.micro_batched_conv import MicroBatchedConv
from ..micro_batches.network_plan import (
    LayerPlan,
    Progress,
    Request,
    convolution_layers,
    plan_layers,
    plan_texts,
    say_nothing,
)
from ..micro_batches.planning import POWERS, micro_batches
from ..micro_batches.running import algorithm, algorithm_names
from ..micro_batches.times_table import TimesTable
from ..micro_batches.timing import Timing
from ..progress import ProgressLine


class MicroBatch(Transformation):
    """Computes every convolution in the micro-batches and by the algorithms that are fastest within `workspace` bytes.

    `policy` says how a batch may be divided: "undivided", "powers of two" or "any". `workspace` is the limit of each
    direction of each convolution, which all share the memory; with `division` it is one budget for all, which keep
    their own. Times are measured when they are first needed, and kept. A network for any batch size needs `batch`:
    plans are for it, and other batches use their parts in turn. `algorithms` are those to choose from (all), `threads`
    those that compute (0: one per CPU).
    """

    workspace: str = "64 MiB"
    policy: str = POWERS
    division: bool = False
    batch: int | None = None
    algorithms: tuple[str, ...] = ()
    threads: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if byte_count(self.workspace) is None:
            raise Deep500Error(
                f"workspace of MicroBatch is {self.workspace!r}: give an amount of memory, such as '64 MiB' "
                "(SplitBatch divides a single node)"
            )
        if self.batch is not None and self.batch < 1:
            raise Deep500Error(f"a batch of {self.batch} is none: give 1 or more")
        if not 0 <= self.threads <= 4096:
            raise Deep500Error(f"threads is {self.threads}: give 1 or more, or 0")
        micro_batches(self.policy, 1)  # raises for an unknown policy
        for name in self.algorithms:
            algorithm(name)  # raises for an unknown name

    @property
    def _threads(self) -> int:
        return self.threads or len(allowed_cpus())

    @property
    def request(self) -> Request:
        limit = byte_count(self.workspace)
        assert limit is not None  # __post_init__ has seen to it
        names = [name.lower() for name in self.algorithms] or algorithm_names()
        return Request(limit, self.policy, self.division, names)

    def plans(
        self, network: Network, progress: Progress = say_nothing
    ) -> Sequence[LayerPlan]:
        """The plan of every direction of every convolution; what is not known of its times is measured."""
        layers = convolution_layers(network, self.batch)
        timing = Timing(TimesTable(), self._threads)
        return plan_layers(layers, self.request, timing, progress)

    def apply(self, network: Network) -> None:
        with ProgressLine() as progress:
            plans = self.plans(network, progress)
        texts = plan_texts(plans)
        layers = {each.layer.node: each.layer for each in plans}
        for node, layer in layers.items():
            divided = MicroBatchedConv(
                layer.conv, texts[node], self._threads, layer.bias, self.division
            )
            network.replace_node(node, divided.operator)
