"""The engine under networks: graph, shapes, constants, programs and passes, for the executors of all frameworks."""
