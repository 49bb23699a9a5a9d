"""The state of a DDP hook goes on in new processes: nothing that was not sent yet is lost."""

from pathlib import Path

import numpy as np
import pytest

from deep500.distributed.launching import launch, python_command

ROOT = Path(__file__).parents[2]
RATE = 0.5
STEPS = 3  # of each of two launches
SHAPES = [(30, 20), (7,), (40, 3)]
# The gradients of this model do not depend on its parameters, so that the test knows them
SCRIPT = """
import gc, sys
from pathlib import Path
import numpy as np
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
import deep500 as d5
from deep500.frameworks.pytorch import ddp_hook
from tests.frameworks.test_pytorch_ddp_checkpoint import RATE, SHAPES, STEPS, gradients

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tensors = torch.nn.ParameterList([torch.zeros(shape) for shape in SHAPES])

    def forward(self, weights):
        return sum((p * w).sum() for p, w in zip(self.tensors, weights))

folder, first, load = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
model = Model()
hook = ddp_hook(d5.codecs.TopK(0.05))
if first:
    for number, p in enumerate(model.tensors):
        p.data = torch.from_numpy(np.load(folder / f"params-{number}.npy"))
if load == "load":
    with np.load(folder / f"hook-{rank}.npz") as arrays:
        hook.buckets.load_state_dict(arrays)
ddp = DistributedDataParallel(model, bucket_cap_mb=0.001)
ddp.register_comm_hook(None, hook)
optimizer = torch.optim.SGD(ddp.parameters(), RATE)
for step in range(first, first + STEPS):
    optimizer.zero_grad()
    ddp([torch.from_numpy(g) for g in gradients(step, rank)]).backward()
    optimizer.step()
np.savez(folder / f"hook-{rank}.npz", **hook.buckets.state_dict())
if rank == 0:
    for number, p in enumerate(model.tensors):
        np.save(folder / f"params-{number}.npy", p.detach().numpy())
del ddp, hook, optimizer  # they hold the process group, which must not outlive Python
gc.collect()
dist.destroy_process_group()
"""


def gradients(step: int, rank: int) -> list[np.ndarray]:
    rng = np.random.default_rng([step, rank])
    return [rng.standard_normal(shape).astype("float32") for shape in SHAPES]


def unsent(folder: Path) -> float:
    """The mean over the ranks of what residuals still hold, summed over all elements."""
    total = 0.0
    for rank in range(2):
        with np.load(folder / f"hook-{rank}.npz") as arrays:
            residuals = [arrays[name] for name in arrays if name.endswith("/residual")]
        assert len(residuals) == len(SHAPES)
        total += sum(float(residual.sum(dtype=float)) for residual in residuals) / 2
    return total


def applied(folder: Path) -> float:
    """The sum of all gradients that have reached the parameters."""
    params = [np.load(folder / f"params-{number}.npy") for number in range(len(SHAPES))]
    return -sum(float(param.sum(dtype=float)) for param in params) / RATE


def train_twice(folder: Path, load: str) -> float:
    """Two launches; the mean gradient of all steps minus what was applied and what is still to be sent."""
    for first in (0, STEPS):
        words = ["-W", "ignore", "-c", SCRIPT, str(folder), str(first)]
        command = python_command(*words, load if first else "fresh")
        done = launch(command, 2, "torch", capture=True, env={"PYTHONPATH": str(ROOT)})
        assert done.code == 0, done.output
    total = 0.0
    for step in range(2 * STEPS):
        for rank in range(2):
            for gradient in gradients(step, rank):
                total += float(gradient.sum(dtype=float)) / 2
    return total - applied(folder) - unsent(folder)


def test_sent_and_unsent_are_all_gradients_after_a_restart(tmp_path: Path) -> None:
    assert train_twice(tmp_path, "load") == pytest.approx(0.0, abs=1e-3)


def test_without_the_state_gradients_are_lost(tmp_path: Path) -> None:
    """Or the test above could not fail."""
    assert abs(train_twice(tmp_path, "forget")) > 1.0
