"""A torch.nn.Module through from_model: the same bits as a loop by hand, and everything else that an executor has."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.loss import Loss
from deep500.contracts.network import Network
from deep500.contracts.optimizer import Optimizer
from deep500.frameworks import framework
from deep500.optimizers import SGD, Adam, Momentum

torch: Any = pytest.importorskip("torch")
PYTORCH = framework("pytorch")
CROSS_ENTROPY = torch.nn.CrossEntropyLoss()


@pytest.fixture(autouse=True)
def one_thread() -> None:
    PYTORCH.set_threads(1)


def network() -> Any:
    torch.manual_seed(0)
    layers = [
        torch.nn.Linear(6, 8),
        torch.nn.BatchNorm1d(8),
        torch.nn.ReLU(),
        torch.nn.Linear(8, 3),
    ]
    return torch.nn.Sequential(*layers)


class Tied(torch.nn.Module):
    """An embedding whose weight is that of the last layer too."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = torch.nn.Embedding(7, 4)
        self.middle = torch.nn.Linear(4, 4)
        self.logits = torch.nn.Linear(4, 7, bias=False)
        self.logits.weight = self.embedding.weight

    def forward(self, tokens: Any, scale: Any = None) -> Any:
        hidden = torch.tanh(self.middle(self.embedding(tokens)))
        return self.logits(hidden if scale is None else hidden * scale)


def batch(i: int, size: int = 5) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(i)
    x = rng.standard_normal((size, 6)).astype("float32")
    return {"input": x, "label": rng.integers(0, 3, size)}


def same_bits(a: Any, b: Any) -> bool:
    pairs = zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    return all(torch.equal(x, y) for x, y in pairs)


RULES = {
    "sgd": (SGD(0.1), lambda params: torch.optim.SGD(params, 0.1)),
    "adam": (Adam(0.01), lambda params: torch.optim.Adam(params, 0.01, fused=True)),
}


@pytest.mark.parametrize("rule", RULES)
def test_steps_are_those_of_a_loop_by_hand_to_the_bit(rule: str) -> None:
    ours, theirs = network(), network()
    optimizer, native = RULES[rule]
    by_hand = native(theirs.parameters())
    step = PYTORCH.from_model(ours, loss=CROSS_ENTROPY).training_step(optimizer)
    for i in range(4):
        arrays = {name: torch.from_numpy(value) for name, value in batch(i).items()}
        by_hand.zero_grad()
        loss = CROSS_ENTROPY(theirs(arrays["input"]), arrays["label"])
        loss.backward()
        by_hand.step()
        assert torch.equal(step(batch(i))["loss"], loss)
    assert same_bits(ours, theirs) and not same_bits(ours, network())
    theirs[0].weight.data[0, 0] += 1e-6
    assert not same_bits(ours, theirs)


@pytest.mark.parametrize(
    "rule", [SGD(0.1), Adam(), Momentum(0.1)], ids=lambda r: type(r).__name__
)
def test_halves_are_the_whole_to_the_bit(rule: Optimizer) -> None:
    one, two = network(), network()
    whole = PYTORCH.from_model(one, loss=CROSS_ENTROPY).training_step(rule)
    executor = PYTORCH.from_model(two, loss=CROSS_ENTROPY)
    halves = executor.training_step(rule)
    for i in range(3):
        whole(batch(i))
        halves.backprop(batch(i))
        gradients = executor.flat_gradients()["float32"]
        gradients *= 1.0  # what an all-reduce of one rank does
        halves.update()
    assert same_bits(one, two)
    assert whole.state().keys() == halves.state().keys()


def test_what_is_written_to_flat_gradients_is_what_an_update_uses() -> None:
    module = network()
    executor = PYTORCH.from_model(module, loss=CROSS_ENTROPY)
    step = executor.training_step(SGD(0.1))
    before = module[0].weight.detach().clone()
    step.backprop(batch(0))
    executor.flat_gradients()["float32"][:] = 1.0
    step.update()
    assert torch.allclose(module[0].weight, before - 0.1)


def test_parameters_stay_the_modules_own() -> None:
    module = network()
    addresses = [value.data_ptr() for value in module.state_dict().values()]
    parameters = [*module.parameters()]
    executor = PYTORCH.from_model(module, loss=CROSS_ENTROPY)
    executor.training_step(Adam())(batch(0))
    executor.load(executor.arrays())
    assert [value.data_ptr() for value in module.state_dict().values()] == addresses
    assert all(a is b for a, b in zip(module.parameters(), parameters, strict=True))
    assert [*executor.params] == [*module.state_dict()]
    assert executor.network.get_params() == [
        name for name, _ in module.named_parameters()
    ]
    executor.network.feed_tensor("3.bias", np.array([1, 2, 3]))
    assert module[3].bias.tolist() == [1, 2, 3]
    [bias, gradient] = executor.network.fetch_tensors(["3.bias", "3.bias.grad"])
    assert bias is module[3].bias and gradient is module[3].bias.grad
    with torch.no_grad():
        module[3].bias.zero_()
    assert not executor.arrays()["3.bias"].any()


def test_flat_parameters_are_a_copy_that_can_be_taken_back() -> None:
    module = network()
    executor = PYTORCH.from_model(module, loss=CROSS_ENTROPY)
    buffers = executor.flat_params()
    assert np.array_equal(buffers.views()["0.weight"], module[0].weight.detach())
    buffers["float32"][:] = 0.5
    assert module[0].weight[0, 0] != 0.5
    executor.load_flat_params(buffers)
    assert (module[0].weight == 0.5).all() and executor.copies["to host"] == 1


def test_the_mode_follows_training_and_inference_evaluates() -> None:
    module = network()
    executor = PYTORCH.from_model(module, loss=CROSS_ENTROPY)
    start = module[1].running_mean.clone()
    executor.inference(batch(0))
    assert torch.equal(module[1].running_mean, start) and module.training
    executor.inference_and_backprop(batch(0))
    assert not torch.equal(module[1].running_mean, start)
    executor.training = False
    assert not module.training
    moved = module[1].running_mean.clone()
    outputs = executor.inference_and_backprop(batch(1))
    assert torch.equal(module[1].running_mean, moved)
    assert torch.allclose(outputs["output"], executor.inference(batch(1))["output"])


def test_a_part_that_its_user_put_into_evaluation_stays_there() -> None:
    module = network()
    module[1].eval()
    executor = PYTORCH.from_model(module, loss=CROSS_ENTROPY)
    executor.inference(batch(0))
    executor.inference_and_backprop(batch(0))
    assert module.training and module[1].num_batches_tracked == 0


def test_tied_and_frozen_weights() -> None:
    module, alone = Tied(), Tied()
    for one in (module, alone):
        one.middle.bias.requires_grad_(False)
    executor = PYTORCH.from_model(
        module, loss=lambda output, label: output[:, label].mean()
    )
    assert executor.network.get_params() == ["embedding.weight", "middle.weight"]
    assert list(executor.structure.inputs) == ["tokens", "label"]
    tokens, label = np.array([0, 3, 6]), np.array([1, 2])
    executor.training_step(SGD(0.5))({"tokens": tokens, "label": label})
    alone(torch.from_numpy(tokens))[:, torch.from_numpy(label)].mean().backward()
    expected = alone.embedding.weight - 0.5 * alone.embedding.weight.grad
    assert torch.allclose(module.embedding.weight, expected)
    assert module.logits.weight is module.embedding.weight
    half = executor.inference({"tokens": tokens, "scale": np.float32(0)})
    assert not half["output"].any()


def test_labels_keep_their_dtype() -> None:
    seen = []

    def loss(output: Any, label: Any) -> Any:
        seen.append(label.dtype)
        return output.sum()

    executor = PYTORCH.from_model(network(), loss=loss)
    for dtype in ("int64", "uint8", "float32"):
        executor.inference(batch(0) | {"label": np.zeros(5, dtype)})
    assert seen == [torch.int64, torch.uint8, torch.float32]


def test_our_loss_is_theirs() -> None:
    ours = PYTORCH.from_model(network(), loss=d5.losses.CrossEntropy())
    theirs = PYTORCH.from_model(network(), loss=CROSS_ENTROPY)
    for i in range(2):
        a, b = (one.inference_and_backprop(batch(i)) for one in (ours, theirs))
        assert torch.allclose(a["loss"], b["loss"])
    assert all(
        torch.allclose(ours.gradients[n], g) for n, g in theirs.gradients.items()
    )


def test_with_a_seed_dropout_draws_by_the_step() -> None:
    def losses(seed: int, steps: list[int]) -> list[float]:
        module = torch.nn.Sequential(torch.nn.Dropout(0.5), network())
        executor = PYTORCH.from_model(module, loss=CROSS_ENTROPY, seed=seed)
        return [
            float(executor.inference_and_backprop(batch(0), step=i)["loss"])
            for i in steps
        ]

    state = torch.get_rng_state()
    three = losses(1, [0, 1, 2])
    assert len({*three}) == 3 and losses(1, [2, 0]) == [three[2], three[0]]
    assert losses(2, [0]) != three[:1]
    torch.set_rng_state(state)
    network()
    expected = torch.rand(1)
    torch.set_rng_state(state)
    losses(1, [0])
    assert torch.equal(torch.rand(1), expected)


class Several(torch.nn.Module):
    def __init__(self, form: Any):
        super().__init__()
        self.layer, self.form = torch.nn.Linear(6, 3), form

    def forward(self, x: Any) -> Any:
        y = self.layer(x)
        return self.form(y)


@pytest.mark.parametrize(
    ("form", "names"),
    [
        (lambda y: (y, y + 1), ["output", "output_1"]),
        (lambda y: (y, (y + 1, None, y + 2)), ["output", "output_1", "output_2"]),
        (lambda y: {"logits": y, "hidden": [y, y]}, ["logits", "hidden", "hidden_1"]),
    ],
)
def test_several_outputs_have_names(form: Any, names: list[str]) -> None:
    executor = PYTORCH.from_model(Several(form), loss=CROSS_ENTROPY)
    outputs = executor.inference_and_backprop(
        {"x": batch(0)["input"], "label": batch(0)["label"]}
    )
    assert [*outputs] == [*names, "loss"] == executor.structure.outputs
    executor.inference_and_backprop(
        {"x": batch(0)["input"], "label": batch(0)["label"]}, "loss"
    )
    assert executor.network.gradient("loss")[0] == ("layer.weight", "layer.weight.grad")


def test_a_model_with_its_own_loss_needs_none() -> None:
    executor = PYTORCH.from_model(
        Several(lambda y: {"loss": y.square().mean(), "logits": y})
    )
    outputs = executor.inference_and_backprop({"x": batch(0)["input"]})
    assert [*outputs] == ["loss", "logits"] and executor.gradients["layer.weight"].any()


class HalfSquares(Loss):
    trained: bool = False

    def add(self, network: Network, prediction: str, target: str) -> str:
        half = np.array(0.5, "float32")
        factor = network.add_param("half", half, trainable=self.trained)
        error = network.add_node("Sub", (prediction, target))
        square = network.add_node("Mul", (error, error))
        scaled = network.add_node("Mul", (square, factor))
        return network.add_node("ReduceMean", (scaled,), ["loss"], keepdims=0)


def test_a_loss_with_a_constant_array() -> None:
    module = Several(lambda y: y)
    executor = PYTORCH.from_model(module, loss=HalfSquares())
    x = batch(0)["input"]
    y = module.layer(torch.tensor(x))
    target = np.ones(tuple(y.shape), "float32")
    outputs = executor.inference_and_backprop({"x": x, "label": target})
    expected = 0.5 * (y - torch.tensor(target)).square().mean()
    assert outputs["loss"].item() == pytest.approx(expected.item(), rel=1e-6)
    trained = PYTORCH.from_model(module, loss=HalfSquares(True))
    with pytest.raises(d5.Deep500Error, match="'half'.* trainable=False"):
        trained.inference_and_backprop({"x": x, "label": target})


def test_other_names() -> None:
    module = Several(lambda y: (y, y + 1))
    options: dict[str, Any] = {
        "inputs": ["pixels"],
        "outputs": ["logits"],
        "label": "target",
    }
    executor = PYTORCH.from_model(module, loss=CROSS_ENTROPY, **options)
    assert [*executor.structure.inputs] == ["pixels", "target"]
    assert executor.structure.outputs == ["logits", "loss"]
    arrays = {"pixels": batch(0)["input"], "target": batch(0)["label"]}
    assert [*executor.inference(arrays)] == ["logits", "loss"]


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # of PyTorch's own, about itself
def test_compiled() -> None:
    ours, theirs = network(), network()
    step = PYTORCH.from_model(ours, loss=CROSS_ENTROPY, compile=True).training_step(
        SGD(0.1)
    )
    plain = PYTORCH.from_model(theirs, loss=CROSS_ENTROPY).training_step(SGD(0.1))
    for i in range(2):
        assert torch.allclose(
            step(batch(i))["loss"], plain(batch(i))["loss"], rtol=1e-5
        )
    executor = PYTORCH.from_model(torch.compile(ours), loss=CROSS_ENTROPY)
    assert [*executor.params] == [*ours.state_dict()]
    assert executor.inference(batch(0))["loss"].shape == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": 3}, "loss is a int: give a function of output and label"),
        ({"loss": torch.nn.CrossEntropyLoss}, "loss is a type: give a function"),
        ({"inputs": ["a", "b"]}, "the model takes input, and inputs names a, b"),
        ({"inputs": "x"}, "inputs is 'x': give a list of names"),
        (
            {"params": {}},
            "pytorch takes a torch.nn.Module, a d5.Network or an ONNX model",
        ),
        ({"device": "gpu"}, "pytorch has no device 'gpu'"),
    ],
)
def test_what_cannot_be_wrapped(options: dict[str, Any], message: str) -> None:
    with pytest.raises(d5.Deep500Error, match=message):
        PYTORCH.from_model(network(), **options)


def test_what_cannot_be_run() -> None:
    with pytest.raises(d5.Deep500Error, match=r"not a function|not a Linear"):
        PYTORCH.from_model(network)
    with pytest.raises(
        d5.Deep500Error, match=r"'weight' of LazyLinear has no shape yet"
    ):
        PYTORCH.from_model(torch.nn.LazyLinear(3))
    executor = PYTORCH.from_model(network(), loss=CROSS_ENTROPY)
    with pytest.raises(
        d5.Deep500Error, match="the input 'input' is missing; these came: label"
    ):
        executor.inference({"label": batch(0)["label"]})
    with pytest.raises(
        d5.Deep500Error, match="the input 'label' is missing; these came: input"
    ):
        executor.inference_and_backprop({"input": batch(0)["input"]})
    with pytest.raises(
        d5.Deep500Error, match="has no output 'lost'; its outputs are: output"
    ):
        executor.inference_and_backprop(batch(0), "lost")
    with pytest.raises(d5.Deep500Error, match="a single number"):
        executor.inference_and_backprop(batch(0), "output")
    wrong = batch(0) | {"input": np.zeros((5, 7), "float32")}
    with pytest.raises(
        d5.Deep500Error, match="cannot run the network 'Sequential'.*mat1 and mat2"
    ):
        executor.inference(wrong)
    assert executor.inference(batch(0))["loss"] > 0 and executor.training
