"""Losses refuse labels that are no class, on every framework; what ignore_index names costs nothing."""

import numpy as np
import pytest

from deep500.contracts.operator import Operator
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework
from deep500.operators.negative_log_likelihood_loss import NegativeLogLikelihoodLoss
from deep500.operators.softmax_cross_entropy_loss import SoftmaxCrossEntropyLoss

SCORES = np.log(np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], "float32"))
LOSSES = [SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss]
each = pytest.mark.parametrize("loss", LOSSES)


@pytest.mark.parametrize("name", available_frameworks())
@each
@pytest.mark.parametrize("label", [3, -1, -100])
def test_a_label_that_is_no_class_is_refused(
    name: str, loss: type[Operator], label: int
) -> None:
    labels = np.array([0, label])
    for composed in (True, False):
        with pytest.raises(
            Deep500Error, match=f"the label {label} is none of the 3 classes 0 to 2"
        ):
            framework(name).evaluate(loss(), [SCORES, labels], composed)
    with pytest.raises(Deep500Error, match=f"the label {label} is none"):
        framework(name).gradient(loss(), [SCORES, labels], [np.array(1, np.float32)])


@each
@pytest.mark.parametrize("label", [3, -1, 1])
def test_an_ignored_label_costs_nothing(loss: type[Operator], label: int) -> None:
    operator, labels = loss(ignore_index=label), np.array([0, label])  # type: ignore[call-arg]
    assert np.allclose(
        framework("reference").evaluate(operator, [SCORES, labels])[0], -np.log(0.2)
    )
    gradient = framework("reference").gradient(
        operator, [SCORES, labels], [np.array(1, np.float32)]
    )[0]
    assert gradient is not None and gradient[0].any() and not gradient[1].any()
    with pytest.raises(Deep500Error, match=f"nor the ignore_index \\({label}\\)"):
        framework("reference").evaluate(operator, [SCORES, np.array([0, 7])])


@each
def test_where_nobody_looks_at_labels_first_a_wrong_one_shows_as_nan(
    loss: type[Operator],
) -> None:
    xp = framework("reference").xp
    assert np.isnan(loss().run(xp, SCORES, np.array([0, 3]))[0])
    assert not np.isnan(loss().run(xp, SCORES, np.array([0, 2]))[0])
