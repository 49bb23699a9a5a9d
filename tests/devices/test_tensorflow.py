"""TensorFlow on a device that is not the process's first: everything stays there, and nothing is copied unasked."""

from typing import Any

import pytest

from deep500.frameworks import framework

from .subjects import facts_of

TENSORFLOW = framework("tensorflow")
pytestmark = pytest.mark.skipif(
    not TENSORFLOW.available(), reason="tensorflow is not installed"
)


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    return facts_of(
        "two_tensorflow_devices",
        "devices",
        "missing",
        "losses_on_both",
        "stays",
        "elsewhere",
        "policy",
        "custom_operator",
        "waits",
    )


@pytest.fixture(scope="module")
def more_facts() -> dict[str, Any]:
    return facts_of(
        "two_tensorflow_devices",
        "no_parameters",
        "operators",
        "random_steps",
        "optimizer_of_keras",
        "wrapped",
    )


def test_devices_have_words(facts: dict[str, Any]) -> None:
    assert facts["devices"] == ["cpu", "cpu:1"]
    expected = "tensorflow has no device 'cpu:2' on this machine, only cpu, cpu:1"
    assert expected in facts["missing"]


def test_a_run_on_the_second_device_is_the_same_run(facts: dict[str, Any]) -> None:
    first, second = facts["losses_on_both"]
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize(
    "fact", ["no_parameters", "operators", "random_steps", "optimizer_of_keras"]
)
def test_everything_is_on_the_device(more_facts: dict[str, Any], fact: str) -> None:
    assert more_facts[fact] == ["CPU:1"]


def test_training_stays_on_the_device(facts: dict[str, Any]) -> None:
    assert facts["stays"] == {"deferred": ["CPU:1"], "eager": ["CPU:1"]}


@pytest.mark.slow
def test_a_keras_model_runs_where_its_variables_are(
    more_facts: dict[str, Any],
) -> None:
    assert more_facts["wrapped"]["there"] == ["CPU:1"]
    refused = more_facts["wrapped"]["refused"]
    assert "kernel is on CPU:0, and the network on cpu:1: create it in" in refused


def test_the_policy_refuses_a_copy_that_nobody_asked_for(
    facts: dict[str, Any],
) -> None:
    assert "Tensors on conflicting devices" in facts["policy"]


def test_a_batch_on_another_device_is_an_error(facts: dict[str, Any]) -> None:
    assert "an input is on CPU:0, and the network on cpu:1" in facts["elsewhere"]


def test_an_operator_of_the_host_is_refused_by_name(facts: dict[str, Any]) -> None:
    assert facts["custom_operator"].startswith("Unsupported: Twice runs in the host's")
    assert "from gpu:0 and back" in facts["custom_operator"]


def test_sync_waits_for_what_was_queued(facts: dict[str, Any]) -> None:
    assert facts["waits"] == [False, True]
