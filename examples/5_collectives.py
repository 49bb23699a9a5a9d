"""Level 3: what does a sum over all ranks cost? Algorithms on virtual ranks, beside their models and a lower bound."""

import numpy as np

import deep500 as d5
from deep500.contracts.collective import Collective
from deep500.contracts.collective_cost import lower_bound
from deep500.contracts.sparse_stream import stream_of

RANKS = 8
NAMES = ("BinomialTree", "RecursiveDoubling", "Rabenseifner", "Ring", "Direct")
network = d5.LogGP(L=20e-6, o=2e-6, g=2e-6, G=1e-9)  # about 8 Gbit/s


def seconds(collective: Collective, count: int) -> float:
    """The virtual time of an allreduce."""
    virtual = d5.transports.Virtual(RANKS, network)
    arrays = [np.full(count, rank, np.float32) for rank in range(RANKS)]
    virtual.run(lambda rank: collective.all_reduce(rank, RANKS, arrays[rank]))
    return virtual.seconds


for count in (16, 1_000_000):
    bound = lower_bound("all_reduce", RANKS, 4 * count, network)["seconds"]
    print(f"{count} float32 on {RANKS} ranks: {1e6 * bound:.0f} µs at least")
    for name in NAMES:
        collective = getattr(d5.collectives, name)()
        cost = collective.cost("all_reduce", RANKS, count)
        print(
            f"  {name:18} {1e6 * seconds(collective, count):8.0f} µs, "
            f"predicted {1e6 * cost.seconds(network):8.0f} µs, "
            f"{cost.messages:3} messages, {cost.bytes / 1e6:6.2f} MB from the busiest rank"
        )

print("1 % of 1,000,000 elements on every rank, and up to 8 % in the sum")
random = np.random.default_rng(0)
arrays = [np.zeros(1_000_000, np.float32) for _ in range(RANKS)]
for array in arrays:
    array[random.choice(array.size, 10_000, replace=False)] = 1
sparse = d5.collectives.SparCML(network)
virtual = d5.transports.Virtual(RANKS, network)
results = virtual.run(
    lambda rank: sparse.switched(rank, RANKS, stream_of(arrays[rank]))
)
total, choice = results[0]
print(
    f"  {choice.chosen}: {1e6 * virtual.seconds:.0f} µs, predicted {1e6 * choice.seconds[choice.chosen]:.0f} µs; "
    f"{choice.came} entries came, and {choice.union:.0f} were expected"
)
