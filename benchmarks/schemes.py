"""Does every communication scheme train the digits to the recipe's target, on four virtual ranks?

    python benchmarks/schemes.py [--framework pytorch reference] [--seeds 3] [--ranks 4]

One line per scheme: test accuracy (median, least and largest over the seeds) and by how much the median misses the
target of `recipes/digits_mlp.py`, megabytes that the busiest rank sent, the distance from consensus
after the last epoch, and the virtual time of an epoch on a network with 10 µs latency and 1 GB/s, where a backprop and
an update take 1 ms each and rank 1 is 1.5 times slower than the others.
"""

import argparse
import statistics
from pathlib import Path

from deep500 import LogGP, schemes, simulate, topologies
from deep500.contracts.recipe import Recipe
from deep500.contracts.scheme import Scheme
from deep500.rerun.recipe_files import load_recipe

RECIPE = Path(__file__).parent.parent / "recipes" / "digits_mlp.py"
NETWORK = LogGP(L=10e-6, o=1e-6, g=1e-6, G=1e-9)
EVERY: list[Scheme] = [
    schemes.AllReduce(),
    schemes.ParameterServer(),
    schemes.ParameterServer(servers=2),
    schemes.ParameterServer(staleness=2),
    schemes.ParameterServer(staleness=None),
    schemes.HierarchicalParameterServer(),
    schemes.StaleAllReduce(),
    schemes.LocalSGD(),
    schemes.LocalSGD(period=8, synchronous_steps=100),
    schemes.DPSGD(),
    schemes.DPSGD(topology=topologies.Exponential()),
    schemes.PairwiseGossip(),
    schemes.PushSum(),
    schemes.ElasticAveraging(),
    schemes.AsyncElasticAveraging(),
    schemes.Ensemble(),
    schemes.Hogwild(),
]


def line(scheme: Scheme, recipe: Recipe, ranks: int, seeds: int, target: float) -> str:
    """What came out of all seeds."""
    accuracies, distances = [], [0.0]
    epochs = recipe.fixed["epochs"]
    for seed in range(seeds):
        done = simulate(
            scheme,
            recipe,
            ranks,
            NETWORK,
            seed,
            epochs=epochs,
            compute=1e-3,
            speed={1: 1.5},
        )
        history = done.history
        assert history is not None
        accuracy = history.final("test", "accuracy")
        accuracies.append(float("nan") if accuracy is None else accuracy)
        distances += history.series.get("consensus distance", [0.0])[-1:]
    median = statistics.median(accuracies)
    missed = f"misses by {target - median:.1f}" if median < target else "reached"
    megabytes = max(done.bytes.values()) / 1e6
    return (
        f"  {scheme!s:56} {median:5.1f} [{min(accuracies):.1f}, {max(accuracies):.1f}]  {missed:14}"
        f"{megabytes:9.1f} MB {max(distances):8.3f} {1e3 * done.seconds / epochs:8.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", nargs="+", default=["pytorch", "reference"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=4)
    args = parser.parse_args()
    for name in args.framework:
        recipe = load_recipe(RECIPE).with_settings({"executor": name})
        [target] = [bound for _, bound in recipe.metrics if bound is not None]
        print(f"{name}, {args.ranks} ranks, {args.seeds} seeds, target {target:g} %")
        for scheme in EVERY:
            print(line(scheme, recipe, args.ranks, args.seeds, target), flush=True)


if __name__ == "__main__":
    main()
