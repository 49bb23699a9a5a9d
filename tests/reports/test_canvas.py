"""Figures as SVG: smaller than they were drawn, and no label changed."""

import re

from deep500.reports.canvas import figure, settings, svg


def test_labels_keep_their_digits_and_coordinates_lose_some():
    with settings():
        canvas = figure(2.0)
        axes = canvas.subplots()
        axes.plot([0.123456789, 1], [0.987654321, 2])
        axes.set_title("Adam(0.00375), 1.23456 s")
        text = svg(canvas, "name", "a line")
    assert "Adam(0.00375), 1.23456 s" in text
    tags = "".join(re.findall(r"<[^>]*>", text))
    assert re.search(r"\d\.\d\d", tags) and not re.search(r"\d\.\d\d\d", tags)
