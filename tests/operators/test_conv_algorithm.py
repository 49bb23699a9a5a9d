"""Conv by our own algorithms: in every framework and in networks, within the algorithm's bound, and never in a file."""

import numpy as np
import onnx
import pytest

import deep500 as d5
from deep500.contracts.convolution import ConvolutionProblem
from deep500.convolutions.winograd4 import Winograd4
from deep500.custom.operator_text import parsed_operator
from deep500.operators.conv import Conv
from tests.convolutions.problems import by_torch

FRAMEWORKS = ("reference", "pytorch", "jax", "tensorflow", "onnxruntime")
PROBLEM = ConvolutionProblem(2, 6, 11, 9, 5, (3, 3), pads=(1, 0, 1, 2))
PADS = (1, 0, 1, 2)


def arrays() -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(1)
    shapes = (PROBLEM.input_shape, PROBLEM.filter_shape, (5,), PROBLEM.out_shape)
    return tuple(random.standard_normal(shape, np.float32) for shape in shapes)


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("algorithm", ["winograd4", "fft_tiled"])
def test_frameworks_run_and_differentiate_it(framework: str, algorithm: str) -> None:
    operator = d5.operators.Conv(algorithm=algorithm, pads=PADS)
    x, w, b, dy = arrays()
    [y] = d5.evaluate(operator, [x, w, b], framework=framework)
    dx, dw, db = d5.gradient(operator, [x, w, b], grads=[dy], framework=framework)
    forward, data, filter_ = (
        by_torch(PROBLEM, *asked)
        for asked in (("forward", x, w), ("data", dy, w), ("filter", x, dy))
    )
    bounds = operator.own_bounds(x, w, b)
    of_gradients = operator.own_gradient_bounds([dy], x, w, b)
    right = forward + b[:, None, None]
    assert np.all(np.abs(y - right) <= bounds[0] + 1e-6 * np.abs(right))
    assert np.all(np.abs(dx - data) <= of_gradients[0])
    assert np.all(np.abs(dw - filter_) <= of_gradients[1])
    np.testing.assert_allclose(db, dy.sum(axis=(0, 2, 3)), rtol=1e-4)


def test_its_bits_are_those_of_the_algorithm() -> None:
    x, w, _, _ = arrays()
    operator = d5.operators.Conv(algorithm="Winograd4", pads=PADS)
    out = np.empty(PROBLEM.out_shape, np.float32)
    Winograd4().run(PROBLEM, "forward", x, w, out)
    [y] = d5.evaluate(operator, [x, w], framework="pytorch")
    assert y.tobytes() == out.tobytes()


def test_one_axis_is_a_plane_of_height_one() -> None:
    x, w = np.ones((2, 3, 11), np.float32), np.ones((4, 3, 5), np.float32)
    plain = d5.operators.Conv(pads=(2, 2))
    own = d5.operators.Conv(algorithm="direct", pads=(2, 2))
    [want] = d5.evaluate(plain, [x, w], framework="reference")
    [y] = d5.evaluate(own, [x, w], framework="reference")
    np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize(
    ("algorithm", "shape", "text"),
    [
        ("winograd5", (4, 6, 3, 3), "Known: direct, fft, fft_tiled, im2col, pointwise"),
        ("winograd4", (4, 6, 5, 5), "its kernel is 3 x 3, and this one is 5 x 5"),
        ("direct", (4, 6, 3, 3, 3), "over one or two axes, and there are 3"),
    ],
)
def test_what_cannot_be_is_one_line(algorithm: str, shape, text: str) -> None:
    x = np.ones((1, 6, *[9] * (len(shape) - 2)), np.float32)
    with pytest.raises(d5.Deep500Error) as caught:
        operator = d5.operators.Conv(algorithm=algorithm)
        d5.evaluate(operator, [x, np.ones(shape, np.float32)], framework="reference")
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_cases_that_it_cannot_compute_are_left_out() -> None:
    operator = d5.operators.Conv(algorithm="winograd4")
    report = d5.check_operator(operator, framework="reference", dtypes="float32")
    assert report.ok, report.text
    judged = {check.case for check in report.checks}
    assert judged and all(name.startswith("Conv-") for name in judged)
    assert len(judged) < len(Conv.cases)


def test_inputs_that_it_cannot_compute_are_no_wrong_answer() -> None:
    inputs = [np.ones((1, 6, 9, 9), np.float32), np.ones((4, 6, 3, 3), np.float32)]
    operator = d5.operators.Conv(algorithm="winograd4", strides=(2, 2))
    with pytest.raises(d5.Deep500Error, match="this one has stride 2 x 2"):
        d5.check_operator(operator, framework="reference", inputs=inputs)


def test_a_node_that_it_cannot_compute_is_named_at_once() -> None:
    network = d5.Network()
    network.add_input("x", ("batch", 1, 9, 9))
    network.add_param("w", np.ones((2, 1, 3, 3), np.float32))
    network.add_node("Conv", ("x", "w"), ["y"], name="strided", strides=(2, 2))
    network.add_output("y")
    with pytest.raises(d5.Deep500Error, match="'strided'.*this one has stride 2 x 2"):
        network.set_attributes("strided", algorithm="winograd4")
    assert network.node("strided").operator.settings["algorithm"] is None
    network.set_attributes("strided", algorithm="direct")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_no_framework_calls_it_a_kernel_of_its_own(framework: str) -> None:
    x, w, _, _ = arrays()
    operator = d5.operators.Conv(algorithm="direct", pads=PADS)
    _, kind = d5.framework(framework).kernel(operator, inputs=(x, w))
    assert kind == "composed"
    kinds = d5.framework(framework).executor(small_network()).kernels()
    convolutions = [
        node.name for node in small_network().nodes if isinstance(node.operator, Conv)
    ]
    assert {kinds[name] for name in convolutions} == {"composed"}


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"pads": (1, 1)},
            "a kernel of 2 axes needs 4 numbers, all at the beginning first",
        ),
        (
            {"strides": (1, 1, 1)},
            "strides are (1, 1, 1): a kernel of 2 axes needs 2 numbers",
        ),
        ({"dilations": (1,)}, "dilations are (1,): a kernel of 2 axes needs 2 numbers"),
    ],
)
def test_a_wrong_number_of_settings_is_explained(settings, text: str) -> None:
    x, w, _, _ = arrays()
    with pytest.raises(ValueError) as caught:
        d5.operators.Conv(**settings).infer(x, w)
    assert text in str(caught.value)


def small_network() -> d5.Network:
    network = d5.networks.create("lenet", outputs=10, shape=(1, 16, 16), seed=0)
    for node in network.ordered():
        if type(node.operator).__name__ == "Conv":
            network.set_attributes(node.name, algorithm="im2col")
    return network


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_networks_train_with_it(framework: str) -> None:
    batch = {
        "x": np.random.default_rng(0).random((4, 1, 16, 16), np.float32),
        "label": np.array([0, 1, 2, 3]),
    }
    plain = d5.networks.create("lenet", outputs=10, shape=(1, 16, 16), seed=0)
    gradients = []
    for network in (plain, small_network()):
        executor = d5.framework(framework).executor(network)
        executor.inference_and_backprop(batch)
        as_arrays = {}
        for name, gradient in executor.gradients.items():
            as_arrays[name] = executor.framework.array(gradient)
        gradients.append(as_arrays)
    want, have = gradients
    assert want.keys() == have.keys()
    for name in want:
        np.testing.assert_allclose(have[name], want[name], rtol=1e-3, atol=1e-6)


def test_files_do_not_name_it(tmp_path) -> None:
    network = small_network()
    network.save(tmp_path / "model.onnx")
    model = onnx.load(tmp_path / "model.onnx")
    names = {a.name for node in model.graph.node for a in node.attribute}
    assert "kernel_shape" in names or "strides" in names
    assert "algorithm" not in names
    for node in d5.Network.load(tmp_path / "model.onnx").nodes:
        assert node.operator.settings.get("algorithm") is None


class Unbounded(Conv):
    """The planted error: it says nothing of the way in which it computes."""

    def own_bounds(self, x, w, b=None):
        return None


@pytest.mark.parametrize(("cls", "ok"), [(Conv, True), (Unbounded, False)])
def test_it_is_checked_with_its_own_bound(cls: type[Conv], ok: bool) -> None:
    random = np.random.default_rng(0)
    shapes = ((1, 64, 12, 12), (8, 64, 3, 3))
    report = d5.check_operator(
        cls(algorithm="winograd6", pads=(1, 1, 1, 1)),
        inputs=[random.standard_normal(shape, np.float32) for shape in shapes],
        framework="reference",
        dtypes="float32",
    )
    assert report.ok is ok, report.text


def test_an_attribute_that_there_is_not_is_one_line() -> None:
    network = small_network()
    convolution = next(n for n in network.nodes if isinstance(n.operator, Conv))
    before = convolution.operator.settings
    with pytest.raises(
        d5.Deep500Error, match="no attribute of Conv is named 'algoritm'"
    ):
        network.set_attributes(convolution.name, algoritm="direct")
    network.set_attributes(convolution.name, algorithm=None)
    after = network.node(convolution.name).operator.settings
    assert after == before | {"algorithm": None}


def test_a_word_on_a_command_line_needs_no_quotes() -> None:
    bare = parsed_operator("Conv(algorithm=winograd4, pads=(1, 1, 1, 1))")
    assert bare == parsed_operator('Conv(algorithm="winograd4", pads=[1, 1, 1, 1])')
