"""Architectures exported from PyTorch, run and trained on every framework, set beside PyTorch's own autograd.

An output or a gradient agrees if it is no further from PyTorch in float64 than ten times what PyTorch in float32 is,
plus what rounding of the largest number explains. Every number that PyTorch trains must be a trained parameter.
"""

import argparse
import io
import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import torch
from _architectures import ARCHITECTURES

import deep500 as d5
from deep500.errors import Deep500Error

FRAMEWORKS = ("reference", "pytorch", "jax", "tensorflow", "onnxruntime")
TARGET = "wanted output"
Arrays = dict[str, np.ndarray]


def exported(model: torch.nn.Module, example: tuple, optimize: bool) -> bytes:
    file = io.BytesIO()
    silent = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(silent), redirect_stderr(silent):
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            model, example, dynamo=True, optimize=optimize, verbose=False
        )
        program.save(file)
    return file.getvalue()


def differentiated(
    model: torch.nn.Module, example: tuple, target: torch.Tensor
) -> Arrays:
    """The output of a module and the gradients of the mean squared error, by PyTorch itself."""
    model.zero_grad()
    output = model(*example)
    torch.nn.functional.mse_loss(output, target).backward()
    arrays = {"output": output.detach().numpy()}
    for name, param in model.named_parameters():
        arrays[name] = param.grad.numpy()
    return {name: array.copy() for name, array in arrays.items()}


def in_double(values: tuple) -> tuple:
    return tuple(v.double() if v.is_floating_point() else v for v in values)


class Truth:
    """What PyTorch says in float64, and how far its float32 is from that."""

    def __init__(self, make):
        torch.manual_seed(0)
        self.model, self.example = make()
        self.model.eval()
        with torch.no_grad():
            for param in self.model.parameters():
                # no two alike, as after training
                param += 0.05 * torch.randn_like(param)
        self.weights = {
            n: p.detach().numpy().copy() for n, p in self.model.named_parameters()
        }
        with torch.no_grad():
            self.target = torch.randn_like(self.model(*self.example))
        self.single = differentiated(self.model, self.example, self.target)
        twin = make()[0].eval()
        twin.load_state_dict(self.model.state_dict())
        self.double = differentiated(
            twin.double(), in_double(self.example), self.target.double()
        )

    def bound(self, name: str) -> float:
        own = np.abs(self.single[name] - self.double[name]).max(initial=0)
        largest = np.abs(self.double[name]).max(initial=0)
        return float(10 * own + 1e-5 * largest + 1e-7)

    def original(self, weight: np.ndarray) -> tuple[str, bool] | None:
        """The parameter of the module that a weight is, and whether it is transposed."""
        for name, own in self.weights.items():
            if own.shape == weight.shape and np.array_equal(own, weight):
                return name, False
            if (
                own.ndim == 2
                and own.T.shape == weight.shape
                and np.array_equal(own.T, weight)
            ):
                return name, True
        return None


def faults(truth: Truth, network: d5.Network, framework: str) -> Iterator[str]:
    """What is wrong with a network on a framework."""
    trained = d5.losses.MeanSquaredError().attach(network, network.outputs[0], TARGET)
    batch = dict(zip(network.inputs, (x.numpy() for x in truth.example), strict=True))
    executor = d5.framework(framework).executor(trained)
    array = executor.framework.array
    yield from compared(
        truth, "output", array(executor.inference(batch)[network.outputs[0]])
    )
    executor.training = False
    executor.inference_and_backprop(batch | {TARGET: truth.target.numpy()})
    gradients: dict[str, np.ndarray | int] = {}
    for name, gradient in executor.gradients.items():
        known = truth.original(network.params[name])
        if known is None:
            continue  # folded with others by the exporter: PyTorch has no such gradient
        original, transposed = known
        value = array(gradient)
        # An exporter may write a shared weight twice: what PyTorch calls its gradient is the sum.
        gradients[original] = gradients.get(original, 0) + (
            value.T if transposed else value
        )
    for name, value in gradients.items():
        yield from compared(truth, name, np.asarray(value))
    sizes = {name: weight.size for name, weight in truth.weights.items()}
    count = sum(network.params[name].size for name in trained.trainable)
    if count < sum(sizes.values()) and not has_folded_statistics(truth.model):
        yield f"trains {count} numbers of {sum(sizes.values())}"


def has_folded_statistics(model: torch.nn.Module) -> bool:
    return any(isinstance(part, torch.nn.BatchNorm2d) for part in model.modules())


def compared(truth: Truth, name: str, value: np.ndarray) -> Iterator[str]:
    wanted = truth.double[name]
    if value.shape != wanted.shape:
        yield f"{name} has the shape {value.shape}, not {wanted.shape}"
        return
    error = np.abs(value - wanted).max(initial=0)
    if not error <= truth.bound(name):
        yield f"{name} is off by {error:.2e}, bound {truth.bound(name):.2e}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", default=[*ARCHITECTURES], help="architectures"
    )
    parser.add_argument("--framework", nargs="+", default=FRAMEWORKS)
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    right = total = 0
    for name in args.names or ARCHITECTURES:
        truth = Truth(ARCHITECTURES[name])
        for optimize in (True, False):
            model = exported(truth.model, truth.example, optimize)
            for framework in args.framework:
                total += 1
                try:
                    network = d5.Network.from_onnx(model)
                    wrong = [*faults(truth, network, framework)]
                except Deep500Error as error:
                    wrong = [str(error)]
                right += not wrong
                if wrong:
                    print(
                        f"{name} optimize={optimize} {framework}: {'; '.join(wrong[:3])}"
                    )
                    sys.stdout.flush()
    print(
        f"{right} of {total} agree ({len(args.names)} architectures, both ways of exporting)"
    )
    return int(right < total)


if __name__ == "__main__":
    sys.exit(main())
