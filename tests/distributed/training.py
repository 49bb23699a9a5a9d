"""Small networks, data and runs for tests of distributed training."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from deep500.contracts.dataset import Split
from deep500.contracts.executor import Executor
from deep500.contracts.network import Network
from deep500.contracts.optimizer import Optimizer
from deep500.contracts.scheme import Scheme
from deep500.contracts.transport import Transport
from deep500.datasets.digits import Digits
from deep500.distributed.trainer import DistributedTrainer
from deep500.frameworks import framework
from deep500.networks.mlp import Mlp
from deep500.operators.dropout import Dropout
from deep500.optimizers.momentum import Momentum
from deep500.samplers.shuffle_sampler import ShuffleSampler
from deep500.tasks.classification import Classification
from deep500.transports.virtual import Virtual

LAST_BATCH = 5  # rows of the last batch of an epoch, fewer than some tests have ranks


@cache
def splits(examples: int = 96 + LAST_BATCH) -> dict[str, Split]:
    """The first examples of the digits."""
    data = Digits().load()
    train = data["train"].batch(slice(0, examples))
    small = data["validation"].batch(slice(0, 50))
    return {"train": Split(train), "validation": Split(small), "test": Split(small)}


def network(dropout: bool = False) -> Network:
    """A multilayer perceptron for the digits, with a loss; with a Dropout behind its hidden layer if asked for."""
    return _network(dropout).copy()


@cache
def _network(dropout: bool) -> Network:
    built = Mlp(hidden=(12,)).for_task(Classification(), splits()["train"], seed=3)
    made = Classification().attach_loss(built)
    if dropout:
        [relu] = [node for node in made.nodes if type(node.operator).__name__ == "Relu"]
        _insert_dropout(made, relu.outputs[0])
    return made


def _insert_dropout(net: Network, value: str) -> None:
    [user] = net.consumers(value)
    net.add_node(Dropout(), [value, 0.5, True], ["dropped"], name="dropout")
    net.add_edge("dropped", user.name, user.inputs.index(value))


def distributed(
    scheme: Scheme,
    ranks: int = 2,
    engine: str = "reference",
    optimizer: Optimizer | None = None,
    epochs: int = 2,
    batch_size: int = 32,
    transport: Transport | None = None,
    data: Mapping[str, Split] | None = None,
    make: Callable[[], Network] = network,
    **options: Any,
) -> DistributedTrainer:
    """A run on virtual ranks, or on those of another transport."""
    transport = transport or Virtual(ranks)
    executors: dict[int, Executor] = {}
    for rank in transport.ranks:
        executors[rank] = framework(engine).from_model(make(), seed=11, **options)
    return DistributedTrainer(
        scheme,
        transport,
        executors,
        optimizer or Momentum(0.1, 0.9),
        splits=data or splits(),
        sampler=ShuffleSampler(batch_size, seed=7),
        epochs=epochs,
        events=[],
    )
