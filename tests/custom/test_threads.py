"""A C++ operator computes with the threads that its framework was told, on every framework."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

TEAM = """
#include <omp.h>

template<typename T>
struct team : deep500::CustomOperator {
    int64_t n;
    team(int64_t length) : n(length) {}
    static T count() {
        int size = 1;
        #pragma omp parallel
        #pragma omp single
        size = omp_get_num_threads();
        return T(size);
    }
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = count();
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        for (int64_t i = 0; i < n; ++i) dx[i] = count();
    }
};
"""
# in a process of its own: some frameworks start their threads once
SCRIPT = """
import sys

import numpy as np

import deep500 as d5

name, threads = sys.argv[1], int(sys.argv[2])
op = d5.compile_custom_cppop("team", "team.cpp")
x = np.ones(1, "float32")

net = d5.Network("team")
net.add_input("x", (1,))
net.add_param("w", x)
net.add_node("Mul", ["x", "w"], ["moved"])
net.add_node(op, ["moved"], ["y"])
net.add_node("ReduceMean", ["y"], ["loss"], keepdims=0)
net.add_output("loss")
framework = d5.framework(name)
executor = framework.executor(net, threads=threads)
y = framework.array(executor.inference({"x": x})["loss"])
executor.inference_and_backprop({"x": x})
gradient = framework.array(executor.gradients["w"])
[z] = d5.evaluate(op.operator, [x], framework=name)
print(int(y), int(gradient[0]), int(z[0]))
"""
COUNT = 3  # neither one nor all CPUs of a usual machine
SLOW = [
    pytest.param("pytorch", marks=pytest.mark.slow),
    pytest.param("jax", marks=pytest.mark.slow),
    pytest.param("tensorflow", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("framework", ["reference", "onnxruntime", *SLOW])
def test_executors_tell_the_operator(framework: str, tmp_path: Path) -> None:
    (tmp_path / "team.cpp").write_text(TEAM)
    environment = dict(os.environ)
    for name in ("PJRT_NPROC", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, framework, str(COUNT)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(COUNT)] * 3
