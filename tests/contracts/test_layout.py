"""The layout contract: offsets, buckets, views, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500.contracts.layout import ALIGNMENT, FlatBuffers, Layout
from deep500.contracts.operator import TensorSpec
from deep500.errors import Deep500Error

DTYPES = ("float32", "float64", "float16", "bfloat16")
shapes = st.lists(st.integers(1, 7), max_size=3).map(tuple)
tensors = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=4),
    st.builds(TensorSpec, shapes, st.sampled_from(DTYPES)),
    min_size=1,
    max_size=12,
)


@given(tensors)
def test_every_tensor_is_aligned_and_none_overlap(specs: dict[str, TensorSpec]) -> None:
    layout = Layout.of(specs)
    assert [slot.name for slot in layout.slots] == list(specs)
    buffers = layout.zeros()
    for number, (name, view) in enumerate(layout.views(buffers).items(), start=1):
        assert view.ctypes.data % ALIGNMENT == 0
        assert view.shape == specs[name].shape and view.dtype == np.dtype(
            specs[name].dtype
        )
        assert not view.any()  # no earlier tensor was written into it
        view[...] = number
    for number, view in enumerate(layout.views(buffers).values(), start=1):
        assert (view == number).all()
    elements = sum(int((buffer != 0).sum()) for buffer in buffers.values())
    # what lies between is zero
    assert elements == sum(spec.size for spec in specs.values())


@given(tensors, st.integers(1, 4000))
def test_buckets_hold_every_tensor_once_from_the_last_to_the_first(
    specs: dict[str, TensorSpec], most: int
) -> None:
    layout = Layout.of(specs)
    buckets = layout.buckets(most)
    names = [name for bucket in buckets for name in reversed(bucket.names)]
    assert names == [slot.name for slot in reversed(layout.slots)]
    places = {slot.name: slot for slot in layout.slots}
    for bucket in buckets:
        first, last = places[bucket.names[0]], places[bucket.names[-1]]
        assert (bucket.start, bucket.stop) == (first.offset, last.stop)
        size = (bucket.stop - bucket.start) * np.dtype(bucket.dtype).itemsize
        assert size <= most or len(bucket.names) == 1


def test_gather_copies_and_views_do_not() -> None:
    arrays = {"a": np.arange(3, dtype="float32"), "b": np.ones((2, 2), "float32")}
    layout = Layout.of(
        {name: TensorSpec(a.shape, a.dtype.name) for name, a in arrays.items()}
    )
    buffers = layout.gather(arrays)
    views = layout.views(buffers)
    assert all(np.array_equal(views[name], arrays[name]) for name in arrays)
    arrays["a"][0] = 9
    assert views["a"][0] == 0
    views["b"][0, 1] = 7
    assert (buffers["float32"] == 7).sum() == 1


def test_buffers_of_another_layout_are_refused() -> None:
    layout = Layout.of({"a": TensorSpec((3,), "float32")})
    layout.check(layout.zeros())
    with pytest.raises(
        Deep500Error, match="float32 are needed, and these were given: none"
    ):
        layout.check({})
    with pytest.raises(Deep500Error, match=r"16 elements, and float32\[3\] was given"):
        layout.check({"float32": np.zeros(3, "float32")})
    with pytest.raises(Deep500Error, match=r"float64\[16\] was given"):
        layout.check({"float32": np.zeros(16)})


def test_flat_buffers_are_refused_after_the_next_step() -> None:
    layout = Layout.of({"a": TensorSpec((3,), "float32")})
    generation = [0]
    buffers = FlatBuffers(layout.zeros(), layout, lambda: generation[0])
    assert buffers.views()["a"].shape == (3,)
    generation[0] += 1
    with pytest.raises(Deep500Error, match="older than the executor's last step"):
        buffers["float32"]
