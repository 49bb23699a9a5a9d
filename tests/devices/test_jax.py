"""JAX on a device that is not the process's first: everything stays there, and nothing is copied unasked."""

from typing import Any

import pytest

import deep500 as d5
from deep500 import registry
from deep500.errors import Unsupported
from deep500.frameworks import framework
from deep500.networks._architecture import Architecture

from .subjects import batch, facts_of, tiny, with_custom_operator

JAX: Any = framework("jax")
pytestmark = pytest.mark.skipif(not JAX.available(), reason="jax is not installed")
PLATFORMS = ("cuda", "rocm", "tpu")
QUICK = {"DigitsCnn", "GPT"}


def architectures() -> list[Any]:
    found = []
    for name in registry.known("networks"):
        kind = registry.find("networks", name)
        if issubclass(kind, Architecture):
            marks = [] if kind.__name__ in QUICK else [pytest.mark.slow]
            found.append(pytest.param(kind, marks=marks, id=kind.__name__))
    return found


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    return facts_of(
        "two_jax_devices",
        "devices",
        "missing",
        "losses_on_both",
        "stays",
        "no_parameters",
        "operators",
        "guarded",
        "random_steps",
        "elsewhere",
        "waits",
    )


def test_devices_have_words(facts: dict[str, Any]) -> None:
    assert facts["devices"] == ["cpu", "cpu:1"]
    expected = "jax has no device 'cpu:2' on this machine, only cpu, cpu:1"
    assert expected in facts["missing"]


def test_a_run_on_the_second_device_is_the_same_run(facts: dict[str, Any]) -> None:
    first, second = facts["losses_on_both"]
    assert first == second


@pytest.mark.parametrize("fact", ["stays", "no_parameters", "operators"])
def test_everything_is_committed_to_the_device(
    facts: dict[str, Any], fact: str
) -> None:
    places = facts[fact]
    assert all(place == ["cpu:1"] for place in places.values()), places


@pytest.mark.slow
def test_a_wrapped_function_stays_on_the_device() -> None:
    assert facts_of("two_jax_devices", "wrapped")["wrapped"] == ["cpu:1"]


def test_nothing_is_copied_to_the_device_unasked(facts: dict[str, Any]) -> None:
    guarded = facts["guarded"]
    assert guarded["step"] == guarded["inference"] == ""
    # the guard works: a batch in the host's memory is such a copy
    assert "Disallowed host-to-device transfer" in guarded["from the host"]


def test_all_random_keys_are_one_copy(facts: dict[str, Any]) -> None:
    assert facts["random_steps"] == {"step": "", "copies": 1}


def test_a_batch_on_another_device_is_an_error(facts: dict[str, Any]) -> None:
    assert facts["elsewhere"].startswith("Deep500Error: jax cannot run the network")
    assert "incompatible devices" in facts["elsewhere"]


def test_sync_waits_for_what_was_queued(facts: dict[str, Any]) -> None:
    assert facts["waits"] == {"output": [False, True], "device": [False, True]}


@pytest.mark.parametrize("kind", architectures())
def test_training_exports_for_accelerators(kind: type[Architecture]) -> None:
    network = tiny(kind)
    step = JAX.executor(network).training_step(d5.optimizers.Adam())
    for platform in PLATFORMS:
        exported = step.exported(batch(network), platform)
        assert exported.platforms == (platform,)
        assert "custom_call" not in exported.mlir_module()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_operator_of_the_host_is_refused_by_name(platform: str) -> None:
    network = with_custom_operator()
    step = JAX.executor(network).training_step(d5.optimizers.SGD(0.1))
    step(batch(network))
    with pytest.raises(Unsupported, match=f"Twice.* cannot call it on {platform}"):
        step.exported(batch(network), platform)
