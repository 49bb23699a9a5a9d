"""Do two networks compute the same? Judged by the reference, for networks of float64."""

import numpy as np

import deep500 as d5

Arrays = dict[str, np.ndarray]


def random_batch(network: d5.Network, examples: int) -> Arrays:
    """Numbers for every input; whole ones are 0 or 1."""
    rng = np.random.default_rng(1)
    arrays = {}
    for name, tensor in network.inputs.items():
        shape = [examples if isinstance(size, str) else size for size in tensor.shape]
        numbers = rng.standard_normal(shape)
        arrays[name] = (
            numbers if "float" in tensor.dtype else (numbers > 0).astype(tensor.dtype)
        )
    return arrays


def computed(network: d5.Network, batch: Arrays, gradients: bool) -> Arrays:
    executor = d5.framework("reference").executor(network, seed=2)
    values = dict(executor.inference(batch))
    if gradients:
        trained = executor.inference_and_backprop(batch, "loss")
        values |= {f"{name} in training": value for name, value in trained.items()}
        values |= {
            f"gradient of {name}": value for name, value in executor.gradients.items()
        }
        values |= {
            f"{name} after a step": executor.params[name]
            for name in network.state_updates
        }
    return values


def assert_equivalent(
    before: d5.Network, after: d5.Network, examples: int = 6, gradients: bool = True
) -> None:
    """Outputs, gradients and moved statistics agree within what float64 explains."""
    batch = random_batch(before, examples)
    expected = computed(before, batch, gradients)
    actual = computed(after, batch, gradients)
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        assert actual[name].shape == value.shape, name
        np.testing.assert_allclose(actual[name], value, 1e-9, 1e-12, err_msg=name)


def passes_the_check(network: d5.Network, original: d5.Network, batch: int = 3) -> bool:
    """Whether `check_network` finds no difference, in outputs and gradients."""
    report = d5.check_network(
        network,
        against=original,
        framework="reference",
        dimensions={"batch": batch},
        isolated=False,
    )
    return report.ok
