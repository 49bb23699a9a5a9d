"""The recipe contract: its parts, its names, its divisions, its tiers, its canonical form."""

from typing import Any

import pytest

import deep500 as d5
from deep500.contracts.recipe import Recipe, own_definitions
from deep500.errors import Deep500Error
from deep500.hashing.canonical_form import canonical_form, form_hash
from deep500.training.events import LossReached

FIXED: dict[str, Any] = {"model": "mlp", "dataset": "digits", "epochs": 20}
MUTABLE: dict[str, Any] = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.Momentum,
    "optimizer_args": (0.1, 0.9),
}
METRICS: list[Any] = [(d5.TestAccuracy(), 93.0)]


def recipe(
    fixed: Any = (), mutable: Any = (), metrics: Any = METRICS, **more: Any
) -> Recipe:
    return Recipe("r", FIXED | dict(fixed), MUTABLE | dict(mutable), metrics, **more)


class Steps(d5.Metric):
    unit = "steps"
    kind = "count"
    better = None

    def value(self, history: d5.History) -> float:
        return float(history.steps)


class Halved(d5.optimizers.SGD):
    """An optimizer of the file's own."""


def test_an_entry_may_be_in_either_part_and_only_there() -> None:
    fixed = dict(FIXED, batch_size=32)
    mutable = {key: value for key, value in MUTABLE.items() if key != "batch_size"}
    strict = Recipe("r", fixed, mutable, METRICS)
    assert strict.entry("batch_size") == 32 and strict.is_fixed("batch_size")
    with pytest.raises(Deep500Error, match="'batch_size' is FIXED in recipe r"):
        strict.with_settings({"batch_size": 8})
    with pytest.raises(Deep500Error, match="'batch_size' is in FIXED and in MUTABLE"):
        Recipe("r", fixed, MUTABLE, METRICS)


def test_the_arguments_of_a_fixed_definition_are_fixed() -> None:
    with pytest.raises(Deep500Error, match="'model_kwargs' is FIXED.*--division open"):
        recipe().with_settings({"model_kwargs": {"hidden": (4,)}})


def test_the_open_division_records_what_differs() -> None:
    before = recipe()
    changed = before.with_settings({"epochs": 2, "batch_size": 8}, "open")
    assert changed.division == "open" and changed.differences == (("epochs", 20, 2),)
    assert changed.fixed_hash != before.fixed_hash and changed.entry("batch_size") == 8
    same = before.with_settings({"epochs": 20}, "open")
    assert same.differences == () and same.fixed_hash == before.fixed_hash
    with pytest.raises(
        Deep500Error, match="no division is named 'opne'. Did you mean 'open'"
    ):
        before.with_settings({}, "opne")


def test_another_optimizer_does_not_inherit_arguments() -> None:
    adam = recipe().with_settings({"optimizer": d5.optimizers.Adam})
    assert adam.make("optimizer") == d5.optimizers.Adam()
    both = recipe().with_settings({"optimizer": "SGD", "optimizer_args": (0.5,)})
    assert both.make("optimizer") == d5.optimizers.SGD(0.5)


def test_names_of_the_file_come_before_ours() -> None:
    own = own_definitions(globals())
    assert {"Steps", "Halved"} <= own.keys() and "Recipe" not in own
    named = recipe(
        mutable={"optimizer": "Halved", "optimizer_args": (0.5,)},
        metrics=[
            ("Steps", None),
            (Steps, None),
            ("test_accuracy", 90.0),
            (d5.FinalLoss, None),
        ],
        definitions=own,
    )
    assert named.make("optimizer") == Halved(0.5)
    kinds = [type(metric).__name__ for metric, _ in named.metrics]
    assert kinds == ["Steps", "Steps", "TestAccuracy", "FinalLoss"]
    assert len(named.to_json()["mutable"]["optimizer"]["source"]) == 64
    assert [*named.own_metrics] == ["Steps"]
    with pytest.raises(
        Deep500Error, match="no metric is named 'TestAcuracy'. Did you mean 'Test"
    ):
        recipe(metrics=[("TestAcuracy", 1.0)])


def test_a_target_needs_a_direction() -> None:
    with pytest.raises(Deep500Error, match="Steps has the target 5, and no direction"):
        recipe(metrics=[(Steps(), 5.0)])


def test_tiers_scale_work_and_nothing_else() -> None:
    tiers = {"tiny": {"seeds": 1, "epochs": 3, "model_kwargs": {"hidden": (4,)}}}
    scaled = recipe(
        {"model_kwargs": {"hidden": (8,), "activation": "Tanh"}}, tiers=tiers
    )
    tiny = scaled.at_tier("tiny")
    assert tiny.entry("epochs") == 3 and scaled.at_tier("small").entry("epochs") == 20
    assert tiny.entry("model_kwargs") == {"hidden": (4,), "activation": "Tanh"}
    assert tiny.hash == scaled.hash != recipe().hash
    with pytest.raises(
        Deep500Error, match="the tier 'tiny' sets 'optimizer', and a tier scales"
    ):
        recipe(tiers={"tiny": {"optimizer": "SGD"}})
    with pytest.raises(
        Deep500Error, match=r"TIERS\['tiny'\]\['epochs'\] cannot be 'few'"
    ):
        recipe(tiers={"tiny": {"epochs": "few"}})


def test_claims_are_written_as_python_and_recorded_as_data() -> None:
    claims = [d5.TestAccuracy() >= 97.0, d5.FinalLoss() <= 0.5]
    form = recipe(claims=claims).to_json()["claims"]
    assert form[0] == {
        "claim": "AtLeast",
        "metrics": {"metric": {"definition": "TestAccuracy", "settings": {}}},
        "numbers": {"bound": 97.0},
    }
    assert form[1]["claim"] == "AtMost"
    with pytest.raises(
        Deep500Error, match="CLAIMS holds 'accuracy >= 97': a claim is written"
    ):
        recipe(claims=["accuracy >= 97"])
    with pytest.raises(Deep500Error, match="Faster compares two costs or two rates"):
        d5.claims.Faster(d5.TestAccuracy(), d5.Throughput(), 2.0)


def test_the_hash_of_fixed_is_that_of_fixed_alone() -> None:
    one = recipe()
    assert one.fixed_hash == form_hash(canonical_form(FIXED))
    other = recipe(mutable={"batch_size": 1}, metrics=[(d5.FinalLoss(), None)])
    assert one.fixed_hash == other.fixed_hash and one.hash != other.hash
    assert recipe({"epochs": 21}).fixed_hash != one.fixed_hash


def test_an_event_is_hashed_by_its_settings_and_source() -> None:
    forms = [canonical_form(LossReached(bound)) for bound in (0.1, 0.2)]
    assert forms[0] != forms[1] and len(forms[0]["source"]) == 64
    with pytest.raises(Deep500Error, match="a recipe cannot hold"):
        canonical_form(object())


def test_a_device_is_only_looked_for_when_it_is_used() -> None:
    asked = recipe(mutable={"executor_kwargs": {"device": d5.GPUDevice()}})
    device = asked.to_json()["mutable"]["executor_kwargs"]["device"]
    assert device == {"definition": "GPUDevice", "settings": {"index": 0}}
    with pytest.raises(d5.Unsupported, match="has no device 'gpu'.*--device cpu"):
        d5.framework("reference").from_model(d5.Network("n"), device=d5.GPUDevice())
