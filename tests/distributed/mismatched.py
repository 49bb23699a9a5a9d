"""A user's script whose ranks call a collective with other shapes: python tests/distributed/mismatched.py WHAT"""

import sys

import numpy as np

import deep500 as d5

comm = d5.communication(deadline=20)
array = np.zeros((2, 3 + comm.rank), np.float32)
if sys.argv[1] == "all_reduce":
    comm.all_reduce(array)
if sys.argv[1] == "all_gather":
    comm.all_gather(array)
if sys.argv[1] == "broadcast":
    comm.broadcast(array)
if sys.argv[1] == "reduce_from_neighbors":
    comm.reduce_from_neighbors(array)
if sys.argv[1] == "root":
    comm.broadcast(array[:, :3], root=comm.rank)
