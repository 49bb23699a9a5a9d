"""Asks another machine to do the work."""

import socket

import deep500 as d5

socket.create_connection(("192.0.2.1", 80), timeout=5)

MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
