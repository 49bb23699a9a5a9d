"""A virtual cluster: an allreduce on more ranks than this machine has, with and without noise, and where time goes."""

import deep500 as d5

# a node of 8 ranks, and a network between nodes; nanoseconds
node = d5.ClusterLevel(8, L=300, o=200, g=100, G=0.05)
between = d5.ClusterLevel(L=1500, o=300, g=100, G=0.1)
network = d5.ClusterNetwork((node, between))
noise = d5.Disturbances(d5.noises.RandomDetours(every=1e-3, lasting=25e-6))

for ranks in (16, 64, 256):
    schedule = d5.collective_schedule("RecursiveDoubling()", ranks, nbytes=8)
    quiet = d5.simulate_schedule(schedule, network).makespan
    noisy = []
    for seed in range(20):
        run = d5.simulate_schedule(schedule, network, noise, seed)
        noisy.append(run.makespan)
    slower = sorted(noisy)[10] / quiet
    print(f"{ranks} ranks: {quiet} ns; with noise {slower:.2f} times that")

run = d5.simulate_schedule(schedule, network, record=True)
spent: dict[str, int] = {}
for stretch in d5.critical_path(schedule, network, run):
    length = stretch.end - stretch.begin
    spent[stretch.activity] = spent.get(stretch.activity, 0) + length
print("the critical path:", spent)
