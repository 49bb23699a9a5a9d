"""Operators in CUDA, on a runtime that writes launches down: addresses and streams are those that a framework gave."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.errors import Deep500Error, Unsupported

from . import fake_cudart
from .fake_cudart import MACHINE_CODE, PTX, launch
from .subjects import ROOT

SOURCES = Path(__file__).parent
STREAM = 0x7000
needs_nvcc = pytest.mark.skipif(
    fake_cudart.NVCC is None, reason="nvcc is not installed"
)


def facts_on_fake(folder: Path, facts: str) -> dict[str, Any]:
    """What cuda_launches.py finds in a process with the fake runtime; one architecture is enough for it."""
    library = fake_cudart.build(folder, fake_cudart.nvcc_version())
    done = subprocess.run(
        [sys.executable, "-m", "tests.devices.cuda_launches", facts],
        cwd=ROOT,
        env=fake_cudart.environment(library) | {"CUDAARCHS": "80"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@needs_nvcc
def test_launches_have_the_addresses_and_the_stream_of_the_call(tmp_path: Path) -> None:
    facts = facts_on_fake(tmp_path, "launches")
    assert facts["on the host"] == [0, 1, 4] and not facts["launches on the host"]
    assert_launches(facts)


def assert_launches(facts: dict[str, Any]) -> None:
    """Forward took x and y, backward dy, x, y and dx, of which its kernel does not read y."""
    forward, backward = facts["kernels"]
    assert facts["forward"] == [launch(forward, 1000, STREAM, [0x1000, 0x2000, 1000])]
    gradient_addresses = [0x3000, 0x1000, 0x4000]
    assert facts["backward"] == [launch(backward, 1000, STREAM, gradient_addresses)]


@needs_nvcc
@pytest.mark.slow
def test_jax_launches_on_the_stream_and_with_the_buffers_of_xla(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    facts = facts_on_fake(tmp_path, "jax")
    assert_launches(facts)
    assert facts["planted"] == "a planted error"


@needs_nvcc
@pytest.mark.slow
def test_pytorch_launches_on_its_stream_with_the_addresses_of_its_tensors(
    tmp_path: Path,
) -> None:
    """Tensors of the simulated device, forward and backward, on the usual stream and on another."""
    usual, side = facts_on_fake(tmp_path, "pytorch")["streams"]
    for found in (usual, side):
        for line, words in zip(found["lines"], ("forward", "backward"), strict=True):
            kernel = line.split()[1]
            assert line == launch(kernel, 1000, found["handle"], found[words])
    assert usual["handle"] != side["handle"]


def test_the_page_shows_the_operator_of_these_tests() -> None:
    page = (ROOT / "docs" / "cpp-operators.md").read_text()
    _, _, rest = page.partition("```cuda\n")
    assert rest.partition("```")[0] == (SOURCES / "square.cu").read_text()


@needs_nvcc
def test_jax_takes_the_functions_for_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA gets the addresses of both functions; for other platforms than these two, it gets none."""
    jax = pytest.importorskip("jax")
    framework = d5.framework("jax")
    monkeypatch.setenv("CUDAARCHS", "80")
    op = d5.compile_custom_cppop("square", SOURCES / "square.cu")
    square = framework.custom_op(op)
    x = framework.tensor(np.arange(3, dtype=np.float32))
    gradient = jax.jit(jax.grad(lambda values: square(values).sum()))
    assert gradient(x).tolist() == [0, 2, 4]
    ours = [jax.export.DisabledSafetyCheck.custom_call("deep500_custom_op")]

    def exported(platform: str) -> str:
        export = jax.export.export(gradient, platforms=[platform], disabled_checks=ours)
        return export(x).mlir_module()

    library = op.library("float32")
    for function in library.functions:
        address = ctypes.cast(function, ctypes.c_void_p).value
        assert f"= {address} : i64" in exported("cuda")
    for platform in ("rocm", "tpu"):
        with pytest.raises(Unsupported, match=f"square.* cannot call it on {platform}"):
            exported(platform)


@needs_nvcc
@pytest.mark.slow
def test_faults_of_operators_in_cuda(tmp_path: Path) -> None:
    facts = facts_on_fake(tmp_path, "faults")
    assert facts["planted"] == "a planted error" and facts["after"] is None
    assert facts["waiting"] == ["allocates", "waits for a stream", "frees"]
    assert facts["without backward"]
    expected = "forward_cuda takes the pointers of forward, then a cudaStream_t"
    assert expected in facts["streamless"]


@needs_nvcc
@pytest.mark.slow
def test_two_architectures_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDAARCHS", raising=False)
    op = d5.compile_custom_cppop("square", SOURCES / "square.cu")
    code = fake_cudart.device_code(op.library("float32").path)
    assert {(MACHINE_CODE, 80), (MACHINE_CODE, 90), (PTX, 90)} <= code
    assert (MACHINE_CODE, 75) not in code
    assert op.in_dtype("float16").library("float16").forward_cuda is not None


def test_a_cu_file_without_nvcc_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    with pytest.raises(Unsupported, match="there is no nvcc on the PATH: install"):
        d5.compile_custom_cppop("square", SOURCES / "square.cu")
    monkeypatch.setenv("CUDA_HOME", os.fspath(tmp_path))
    with pytest.raises(Unsupported, match=f"no nvcc in CUDA_HOME={tmp_path}: install"):
        d5.compile_custom_cppop("square", SOURCES / "square.cu")


@needs_nvcc
def test_an_architecture_that_is_no_number_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDAARCHS", "80;--shared")
    with pytest.raises(Deep500Error, match="CUDAARCHS is '80;--shared': give the num"):
        d5.compile_custom_cppop("square", SOURCES / "square.cu")


def test_an_operator_in_cpp_has_nothing_for_cuda(tmp_path: Path) -> None:
    (tmp_path / "same.cpp").write_text(
        "struct same : deep500::CustomOperator {"
        " void forward(const float *x, float *y) { y[0] = x[0]; } };"
    )
    op = d5.compile_custom_cppop("same", tmp_path / "same.cpp")
    assert not op.runs_on_cuda
    assert op.run([np.ones(1, np.float32)])[0] == 1
