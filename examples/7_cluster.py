"""A virtual cluster: an allreduce on more ranks than this machine has, with and without noise, and where time goes."""

from deep500.bench.simulated.subjects import CollectiveChoice, collective_subject
from deep500.cluster.critical_path import critical_path
from deep500.cluster.disturbances import Disturbances
from deep500.cluster.engine import simulate_schedule
from deep500.cluster.network import ClusterNetwork, Level
from deep500.noises.random_detours import RandomDetours

# a node of 8 ranks, and a network between nodes; nanoseconds
network = ClusterNetwork((Level(8, 300, 200, 100, 0.05), Level(0, 1500, 300, 100, 0.1)))
noise = Disturbances(RandomDetours(every=1e-3, lasting=25e-6))

for ranks in (16, 64, 256):
    choice = CollectiveChoice("RecursiveDoubling()", ranks, nbytes=8)
    schedule = collective_subject(choice, network).schedule
    quiet = simulate_schedule(schedule, network)
    noisy = [
        simulate_schedule(schedule, network, noise, seed).makespan for seed in range(20)
    ]
    slower = sorted(noisy)[10] / quiet.makespan
    print(f"{ranks} ranks: {quiet.makespan} ns; with noise {slower:.2f} times that")

outcome = simulate_schedule(schedule, network, record=True)
spent: dict[str, int] = {}
for stretch in critical_path(schedule, network, outcome, None):
    length = stretch.end - stretch.begin
    spent[stretch.activity] = spent.get(stretch.activity, 0) + length
print("the critical path:", spent)
