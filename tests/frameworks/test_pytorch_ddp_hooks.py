"""Codecs inside of PyTorch's DDP, with two real processes over gloo, against the same steps in this process."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.codec import Key, run_together
from deep500.contracts.layout import Slot
from deep500.definition_text import definition_of

torch = pytest.importorskip("torch")

STEPS = 4
SCRIPT = """
import gc, json, os, sys
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from deep500.definition_text import definition_of
from deep500.frameworks.pytorch import ddp_hook

def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Tanh(), torch.nn.Linear(30, 5))

rank = int(os.environ["RANK"])
torch.set_num_threads(1)
dist.init_process_group("gloo")
results = {}
for text in sys.argv[1:]:
    ddp = DistributedDataParallel(model(), bucket_cap_mb=0.001)
    hook = ddp_hook(definition_of(text, "codecs"))
    ddp.register_comm_hook(None, hook)
    optimizer = torch.optim.SGD(ddp.parameters(), 0.1)
    for step in range(STEPS):
        inputs = torch.randn(8, 20, generator=torch.Generator().manual_seed(100 * step + rank))
        optimizer.zero_grad()
        ddp(inputs).square().mean().backward()
        optimizer.step()
    results[text] = [p.detach().flatten().tolist() for p in ddp.parameters()]
    results[text + " groups"] = len(hook.buckets.states)
    results[text + " state"] = sorted(hook.buckets.state_dict())
dist.barrier()
if rank == 0:
    print("RESULT" + json.dumps(results))
del ddp, hook, optimizer  # they hold the process group, which must not outlive Python
gc.collect()
dist.destroy_process_group()
"""
CODECS = [
    "Identity",
    "Float16",
    "BFloat16",
    "TopK(0.2)",
    "Threshold(0.001)",
    "OneBit(64)",
    "PowerSGD(2)",
]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    """The parameters after some steps of DDP with every codec, as rank 0 has them."""
    code = SCRIPT.replace("STEPS", str(STEPS))
    facts = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": "2",
    }
    facts |= {"GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(Path(__file__).parents[2])}
    processes = []
    for rank in range(2):
        environment = os.environ | facts | {"RANK": str(rank)}
        command = [sys.executable, "-W", "ignore", "-c", code, *CODECS]
        processes.append(
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, text=True
            )
        )
    try:
        outputs = [process.communicate(timeout=180)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0]
    return json.loads(outputs[0].split("RESULT")[1])


def virtual(codec: d5.Codec) -> list[np.ndarray]:
    """The same steps of both ranks in this process, every parameter a bucket of its own."""
    torch.manual_seed(0)
    linear = torch.nn.Linear
    model = torch.nn.Sequential(linear(20, 30), torch.nn.Tanh(), linear(30, 5))
    parameters = list(model.parameters())
    states: list[dict] = [{}, {}]
    for step in range(STEPS):
        gradients = []
        for rank in range(2):
            inputs = torch.randn(
                8, 20, generator=torch.Generator().manual_seed(100 * step + rank)
            )
            model.zero_grad()
            model(inputs).square().mean().backward()
            gradients.append([p.grad.numpy().copy() for p in parameters])
        for number, parameter in enumerate(parameters):
            slot = Slot(f"parameter{number}", tuple(parameter.shape), "float32", 0)
            aggregations = []
            for rank in range(2):
                buffer = gradients[rank][number].reshape(-1)
                if number not in states[rank]:
                    states[rank][number] = codec.init(buffer.size, "float32", [slot])
                key = Key(0, step, rank, 2, slot.name)
                state = states[rank][number]
                aggregations.append(codec.aggregate(buffer, state, key, [slot]))
            mean = run_together(aggregations)[0].reshape(tuple(parameter.shape))
            with torch.no_grad():
                parameter -= 0.1 * torch.from_numpy(mean)
    return [p.detach().numpy().reshape(-1) for p in parameters]


@pytest.mark.parametrize("text", ["Identity", "Float16", "BFloat16"])
def test_ddp_with_a_linear_codec_is_the_virtual_computation(trained, text) -> None:
    codec = definition_of(text, "codecs")
    for real, simulated in zip(trained[text], virtual(codec), strict=True):
        np.testing.assert_allclose(real, simulated, rtol=2e-6, atol=1e-7)


def test_buckets_are_formed_anew_and_states_follow_the_parameters(trained) -> None:
    """One state per bucket, with none left over from the buckets of the first step."""
    assert trained["TopK(0.2) groups"] <= 4
    residuals = [f"parameter{number}/residual" for number in range(4)]
    assert trained["TopK(0.2) state"] == [*residuals, "step"]
    assert "parameter0/q" in trained["PowerSGD(2) state"]


class Bucket:
    """What the hook asks of DDP's bucket, for one process."""

    def __init__(self, buffer: Any, parameters: list):
        self._buffer, self._parameters = buffer, parameters

    def buffer(self) -> Any:
        return self._buffer

    def parameters(self) -> list:
        return self._parameters

    def is_last(self) -> bool:
        return True

    def gradients(self) -> list:
        sizes = [p.numel() for p in self._parameters]
        parts = torch.split(self._buffer, sizes)
        return [
            part.view(p.shape) for part, p in zip(parts, self._parameters, strict=True)
        ]


@pytest.fixture
def alone(tmp_path: Path):
    """A process group of this process only."""
    dist = torch.distributed
    dist.init_process_group("gloo", f"file://{tmp_path}/group", rank=0, world_size=1)
    yield None
    dist.destroy_process_group()


@pytest.mark.parametrize("text", ["TopK(0.1)", "PowerSGD(1)"])
def test_a_hook_goes_on_from_a_checkpoint_to_the_same_bits(alone, text) -> None:
    from deep500.frameworks.pytorch.ddp_hooks import CodedBuckets

    parameters = [torch.zeros(6, 8), torch.zeros(8)]
    gradients = torch.randn(5, 56, generator=torch.Generator().manual_seed(0))
    codec = definition_of(text, "codecs")
    whole, resumed = CodedBuckets(codec, 0, None), CodedBuckets(codec, 0, None)
    means = []
    for step, gradient in enumerate(gradients):
        means.append(whole.mean(Bucket(gradient.clone(), parameters)))
        if step == 2:
            resumed.load_state_dict(whole.state_dict())
    for step in (3, 4):
        again = resumed.mean(Bucket(gradients[step].clone(), parameters))
        assert torch.equal(again, means[step])
    assert not torch.equal(
        CodedBuckets(codec, 0, None).mean(Bucket(gradients[4].clone(), parameters)),
        means[4],
    )


@pytest.mark.parametrize("text", CODECS)
def test_lossy_codecs_train_near_to_the_dense_ones(trained, text) -> None:
    torch.manual_seed(0)
    start = torch.nn.Linear(20, 30).weight.detach().numpy().reshape(-1)
    dense = np.array(trained["Identity"][0])
    assert np.linalg.norm(np.array(trained[text][0]) - dense) < np.linalg.norm(
        dense - start
    )


def test_a_hook_without_a_process_group_is_one_line() -> None:
    from deep500.frameworks.pytorch import ddp_hook

    with pytest.raises(d5.Deep500Error, match="init_process_group first"):
        ddp_hook(d5.codecs.Identity())


class Failing(d5.codecs.Identity):
    def exchange(self, x, state, key, slots):
        raise d5.Deep500Error("this codec cannot do it")
        yield


def test_what_a_codec_raises_leaves_backward_as_it_is(alone) -> None:
    """In PyTorch's words it would be: Unable to cast this codec cannot do it to Tensor."""
    from deep500.frameworks.pytorch import ddp_hook

    layers = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Linear(30, 5))
    model = torch.nn.parallel.DistributedDataParallel(layers, bucket_cap_mb=0.001)
    model.register_comm_hook(None, ddp_hook(Failing()))
    with pytest.raises(d5.Deep500Error, match="^this codec cannot do it$"):
        model(torch.ones(2, 20)).sum().backward()


HOOKS = """
import numpy as np, torch, torch.distributed as dist
import deep500 as d5
from deep500.contracts.codec import Key, run_together
from deep500.contracts.layout import Slot
from deep500.frameworks.pytorch.ddp_own_hooks import TorchHook
dist.init_process_group("gloo", rank=0, world_size=1, init_method="tcp://127.0.0.1:PORT")
rng = np.random.default_rng(0)
slots = [Slot("w", (40, 30), "float32", 0), Slot("b", (30,), "float32", 1200)]
low = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
x = np.concatenate([low.reshape(-1), rng.standard_normal(30)]).astype(np.float32)
for hook, tolerance in [("allreduce", 0), ("fp16", 1e-3), ("powersgd", 1e-4)]:
    codec = TorchHook(hook)
    state = codec.init(x.size, "float32", slots)
    for step in range(4):
        [mean] = run_together([codec.aggregate(x, state, Key(0, step), slots)])
    error = np.abs(mean - x).max() / np.abs(x).max()
    assert error <= tolerance, (hook, error)
print("fine")
"""


def test_hooks_of_pytorch_run_as_codecs() -> None:
    """A gradient of rank 2 is exact for PowerSGD of rank 2, once it has begun."""
    code = HOOKS.replace("PORT", str(free_port()))
    command = [sys.executable, "-W", "ignore", "-c", code]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.strip() == "fine", done.stderr[-2000:]
