"""Which convolution computes a batch in which parts: times of kernels, plans under a limit of memory, the operator.

batch_plan.py, planning.py, dividing.py    plans from times and workspaces; pure functions
times_table.py, timing.py              times that are measured once, and kept
micro_batched_conv.py                  the operator that runs a plan
network_plan.py                        plans for all convolutions of a network
"""
