"""The simulated accelerator: its memory is forbidden to the host, its work is done later, and it counts."""

import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.testing import simulated_device

SLOW_S = 0.02


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    simulated_device.load()
    yield
    torch.accelerator.synchronize()


def in_a_process(code: str) -> subprocess.CompletedProcess:
    """Run the code where the device is loaded, so that a crash ends that process alone."""
    setup = "import ctypes, torch\nfrom deep500.testing import simulated_device\n"
    setup += "simulated_device.load()\nx = torch.ones(4, device='sim')\n"
    command = [sys.executable, "-X", "faulthandler", "-c", setup + code]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_a_read_by_the_host_ends_the_process_and_shows_the_line() -> None:
    done = in_a_process("ctypes.string_at(x.data_ptr(), 4)")
    assert done.returncode == -11
    assert 'File "<string>", line 5' in done.stderr


def test_a_process_that_has_used_it_ends_without_an_error() -> None:
    done = in_a_process(
        "y = (x @ x).requires_grad_(); (y * 2).backward(); print('end')"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_numpy_gets_no_view_of_its_memory() -> None:
    x = torch.ones(4, device="sim")
    with pytest.raises(TypeError):
        x.numpy()


def test_calls_return_before_their_results_exist() -> None:
    x = torch.ones(8, 8, device="sim")
    _ = x @ x  # the first one loads what knows the shapes of results
    begin, end = (torch.Event("sim", enable_timing=True) for _ in range(2))
    with simulated_device.latency(SLOW_S):
        began = time.perf_counter()
        begin.record()
        y = x @ x
        end.record()
        launched = time.perf_counter() - began
        torch.accelerator.synchronize()
        whole = time.perf_counter() - began
    assert launched < SLOW_S <= whole
    assert begin.elapsed_time(end) >= SLOW_S * 1e3
    assert y.cpu().tolist() == [[8.0] * 8] * 8


def test_latency_ends_with_its_block() -> None:
    with simulated_device.latency(SLOW_S):
        pass
    x = torch.ones(4, device="sim")
    _ = x + x
    torch.accelerator.synchronize()
    began = time.perf_counter()
    _ = x + x
    torch.accelerator.synchronize()
    assert time.perf_counter() - began < SLOW_S


def test_a_copy_to_the_host_that_is_read_too_early_is_not_a_number() -> None:
    x = torch.ones(4, device="sim")
    with simulated_device.latency(SLOW_S):
        host = x.to("cpu", non_blocking=True)
        early = host.clone()
        torch.accelerator.synchronize()
    assert torch.isnan(early).all() and (host == 1).all()


def test_streams_work_side_by_side_and_events_order_them() -> None:
    x = torch.ones(4, device="sim")
    torch.accelerator.synchronize()
    side = torch.Stream("sim")
    done = torch.Event("sim")
    with simulated_device.latency(SLOW_S):
        with side:
            y = x + 1
            done.record(side)
        torch.accelerator.current_stream().wait_event(done)
        z = y + 1
    assert z.cpu().tolist() == [3.0] * 4


def test_launches_waits_and_copies_are_counted_by_name() -> None:
    pinned = torch.ones(4).pin_memory()
    with simulated_device.counting() as counts:
        x = pinned.to("sim", non_blocking=True)
        y = x + 1
    assert (counts.launches, counts.waits, counts.copies_to_device) == (2, 0, 1)
    assert counts.bytes_to_device == 16
    with simulated_device.counting() as counts:
        y.sum().item()
        y.nonzero()
        torch.ones(4).to("sim")
    assert counts.waited_in == {"item": 1, "aten::nonzero": 1, "copy to the device": 1}
    assert counts.copies_to_host == 1


def test_what_is_not_pinned_makes_the_host_wait_as_on_a_gpu() -> None:
    host = torch.ones(4)
    with simulated_device.counting() as counts:
        host.to("sim", non_blocking=True)
    assert counts.waits == 1
    assert not host.is_pinned() and host.pin_memory().is_pinned()


def test_memory_is_counted_by_the_device_that_holds_it() -> None:
    before = torch.accelerator.memory_allocated(1)
    torch.accelerator.reset_peak_memory_stats(1)
    x = torch.zeros(1 << 20, device="sim:1")
    assert torch.accelerator.memory_allocated(1) - before == x.nbytes
    del x
    assert torch.accelerator.memory_allocated(1) == before
    assert torch.accelerator.max_memory_allocated(1) - before == 4 << 20
    with pytest.raises(torch.OutOfMemoryError, match="asked for.*in use"):
        torch.zeros(1 << 31, device="sim")


def test_tensors_of_two_devices_are_not_mixed() -> None:
    x = torch.ones(4, device="sim:0")
    for other in (torch.ones(4, device="sim:1"), torch.ones(4)):
        with pytest.raises(RuntimeError, match="same device"):
            x + other
    assert (x + torch.tensor(1.0)).cpu().tolist() == [2.0] * 4


DRAWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.1),
    "rand": torch.rand_like,
    "normal": lambda x: torch.normal(x, 1.0),
    "randperm": lambda x: torch.randperm(40, device=x.device),
    "bernoulli": torch.bernoulli,
    "multinomial": lambda x: torch.multinomial(x, 3),
    "rrelu": lambda x: torch.nn.functional.rrelu(x - 0.5, training=True),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_draws_follow_the_seed_at_their_call(
    draw: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    """The host seeds its generator again while the kernels still wait for their turn."""
    x = torch.linspace(0.1, 1, 35).reshape(5, 7)
    drawn = []
    for values in (x, x.to("sim")):
        with torch.random.fork_rng([]), simulated_device.latency(SLOW_S / 10):
            torch.manual_seed(3)
            first = draw(values)
            torch.manual_seed(7)
            second = draw(values)
            torch.manual_seed(9)
            drawn.append([first.tolist(), second.tolist()])
    assert drawn[0] == drawn[1]


def test_kernels_have_the_threads_that_are_set_now() -> None:
    """Sums of other numbers of threads have other bits, and the thread of a stream lives on."""
    x = torch.ones(8, 8, device="sim")
    before = torch.get_num_threads()
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            _ = x + x
            torch.accelerator.synchronize()
            assert simulated_device.load().simulated_threads() == count
    finally:
        torch.set_num_threads(before)


def test_an_error_of_a_kernel_is_raised_by_the_next_wait() -> None:
    x = torch.ones(4, device="sim")
    index = torch.tensor([9]).to("sim")
    _ = x[index]
    with pytest.raises(RuntimeError, match="a kernel on the simulated device failed"):
        torch.accelerator.synchronize()
    torch.accelerator.synchronize()


def test_the_framework_names_it_and_gpu_never_means_it() -> None:
    bound = framework("pytorch@sim:1")
    assert bound is framework("pytorch@sim:1") and bound.word == "pytorch@sim:1"
    assert framework("pytorch").on("sim").device == "sim:0"
    assert bound.device_info.memory == 4 << 30
    with pytest.raises(Deep500Error, match="no device 'sim:2'.*only cpu, sim:0, sim:1"):
        framework("pytorch").on("sim:2")
    if not torch.cuda.is_available():
        with pytest.raises(Deep500Error, match="no device 'gpu'"):
            framework("pytorch").on("gpu")
    with pytest.raises(Deep500Error, match="reference has no device 'sim'"):
        framework("reference").on("sim")


def test_events_overwriting_and_peaks_of_memory() -> None:
    bound = framework("pytorch@sim:1")
    begin, end = bound.event(), bound.event()
    assert begin is not None and end is not None
    x = bound.tensor(np.ones((4, 4), "float32"))
    with simulated_device.latency(SLOW_S):
        begin.record()
        bound.overwrite(x, np.full((4, 4), 2, "float32"))
        end.record()
    assert begin.elapsed_ns(end) >= SLOW_S * 1e9
    assert bound.array(x).tolist() == [[2.0] * 4] * 4
    gc.collect()  # tensors of earlier tests would be freed inside
    with bound.allocations() as seen:
        y = bound.tensor(np.ones(1 << 20, "float32"))
        seen.mark()
        z = y + y
        del z
    assert seen.peak == 8 << 20


LATE = """
import numpy as np
import deep500 as d5

network = d5.networks.Mlp(hidden=(4,)).build((3,), 2, seed=0)
batch = {"x": np.ones((2, 3), np.float32), "label": np.array([0, 1])}
for device in ("cpu", "sim"):
    try:
        executor = d5.framework("pytorch").executor(network, device=device)
        executor.inference_and_backprop(batch)
    except d5.Deep500Error as error:
        print(device, error)
"""


def test_a_device_that_is_loaded_behind_a_backward_pass_is_explained() -> None:
    command = [sys.executable, "-c", LATE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("sim PyTorch counts its devices at the first")
    assert done.stdout.count("\n") == 1
