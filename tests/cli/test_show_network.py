"""d5 show network, from a file to a table, JSON and a picture."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import deep500 as d5
from deep500.cli import main
from deep500.costs.network_costs import network_costs
from deep500.costs.picture import grouped, network_svg
from deep500.networks import DigitsCnn


@pytest.fixture
def cnn(tmp_path):
    path = tmp_path / "cnn.onnx"
    DigitsCnn().build((1, 8, 8), 10).to_onnx(str(path))
    return str(path)


def show(capfd, *words):
    code = main(["show", "network", *words])
    said = capfd.readouterr()
    return code, said.out, said.err


def test_the_table_has_every_node_and_the_totals(cnn, capfd):
    code, out, _ = show(capfd, cnn, "--batch", "4")
    assert code == 0
    parameters = sum(p.size for p in DigitsCnn().build((1, 8, 8), 10).params.values())
    assert f"{parameters:,} parameters" in out
    assert "for a batch of 4" in out
    assert re.search(r"depth D = \d+, average parallelism W/D = ", out)
    assert "Memory of a training step" in out
    assert len(re.findall(r"\| Conv +\|", out)) == 2


def test_the_batch_is_the_one_that_was_counted(cnn, capfd):
    _, by_batch, _ = show(capfd, cnn, "--batch", "4")
    _, by_name, _ = show(capfd, cnn, "--set", "batch=4")
    assert by_name == by_batch


def test_json_holds_the_same_numbers_as_the_library(cnn, d5, capfd):
    answer = d5("show", "network", cnn, "--batch", "4", "--json").json
    costs = network_costs(load(cnn), 4)
    assert answer["flops"] == costs.flops
    assert [node["name"] for node in answer["nodes"]] == [
        node.name for node in costs.nodes
    ]
    assert answer["training"]["peak"] == costs.training.peak


def load(path):
    return d5.Network.load(path)


def test_a_picture_has_a_box_for_every_node(cnn, capfd, tmp_path):
    picture = tmp_path / "graph.svg"
    code, out, _ = show(capfd, cnn, "--picture", str(picture))
    assert code == 0 and str(picture) in out
    tree = ElementTree.fromstring(picture.read_text())
    titles = {
        t.text.partition(":")[0] for t in tree.iter("{http://www.w3.org/2000/svg}title")
    }
    assert {node.name for node in load(cnn).nodes} <= titles


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.onnx"], "nothing.onnx"),
        (["CNN", "--picture", "graph.png"], "graph.png is none"),
        (["CNN", "--set", "length=3"], "has no open dimension 'length'"),
        (["CNN", "--batch", "0"], "a batch of 0"),
        (["CNN", "--most", "0"], "--most 0 shows nothing"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(words, said, cnn, capfd):
    code, _, err = show(capfd, *[cnn if word == "CNN" else word for word in words])
    assert code == 2
    assert said in err and err.count("\n") == 1


def test_a_bundle_can_still_be_shown(capfd):
    assert main(["show", "no-such-bundle"]) == 2
    assert "no bundle 'no-such-bundle'" in capfd.readouterr().err


def long_network(layers: int, named: bool) -> "d5.Network":
    network = d5.Network("long")
    x = network.add_input("x", (0, 4))
    network.add_param("w", np.eye(4, dtype="float32"))
    for i in range(layers):
        stem = f"blocks.{i}" if named else f"n{i}"
        y = network.add_node(
            "MatMul", (x, "w"), name=f"{stem}.product" if named else f"{stem}a"
        )
        y = network.add_node("Relu", (y,), name=f"{stem}.relu" if named else f"{stem}b")
        x = network.add_node("Add", (x, y), name=f"{stem}.add" if named else f"{stem}c")
    network.add_output(x)
    return network


def test_thousands_of_nodes_are_drawn_in_groups():
    for named, most in ((True, 250), (False, 250)):
        network = long_network(1000, named)
        costs = network_costs(network, 2)
        groups = grouped(costs.nodes)
        assert sum(len(group.nodes) for group in groups) == 3000
        assert len(groups) <= most
        svg = network_svg(network, costs)
        assert f"3000 nodes, 16 parameters, in {len(groups)} groups" in svg
        assert len(svg) < 500_000


def test_repeated_blocks_become_one():
    costs = network_costs(long_network(1000, named=True), 2)
    assert [group.repeats for group in grouped(costs.nodes)] in ([1], [1000])


def test_two_hundred_nodes_are_drawn_each_without_overlap():
    network = long_network(66, named=True)
    svg = network_svg(network, network_costs(network, 2))
    tree = ElementTree.fromstring(svg)
    rects = [
        r for r in tree.iter("{http://www.w3.org/2000/svg}rect") if r.get("stroke")
    ]
    places = [(float(r.get("x")), float(r.get("y"))) for r in rects]
    assert len(places) == 200
    for i, (x, y) in enumerate(places):
        for other_x, other_y in places[i + 1 :]:
            assert abs(x - other_x) >= 168 or abs(y - other_y) >= 34
