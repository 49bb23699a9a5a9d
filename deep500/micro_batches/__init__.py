"""Which convolution computes a batch in which parts: times of kernels, plans under a limit of memory, the operator.

batch_plan.py, planning.py, dividing.py   plans from times and workspaces; pure functions
times_table.py, timing.py                 times that are measured once, and kept
running.py, micro_batched_conv.py         runs a plan; the operator that does
network_plan.py                           plans for all convolutions of a network
"""
