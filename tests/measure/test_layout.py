"""The place of data in memory: drawn for every process, recorded with its blocks."""

from collections import Counter

import pytest

from deep500 import bundle, measure
from deep500.errors import Deep500Error
from deep500.measure.bench_blocks import check_blocks
from deep500.measure.bench_plan import check_plan
from deep500.measure.layout import MOST_ALLOCATIONS, allocate, draw_layout
from deep500.measure.plan import make_plan
from deep500.schema import encoded

CANDIDATES = {"a": "x.sort()", "b": "x.sort( )", "c": "x .sort()"}


def test_every_setup_runs_first_equally_often():
    layouts = [draw_layout(7, process, 3) for process in range(3000)]
    first = Counter(layout.setups[0] for layout in layouts)
    assert set(first) == {0, 1, 2} and all(
        850 < count < 1150 for count in first.values()
    )
    assert all(sorted(layout.setups) == [0, 1, 2] for layout in layouts)
    padded = [layout.allocations[0] for layout in layouts]
    assert (
        0 <= min(padded) < 50 and MOST_ALLOCATIONS - 50 < max(padded) < MOST_ALLOCATIONS
    )


def test_the_seed_decides_and_processes_differ():
    assert draw_layout(7, 1, 3) == draw_layout(7, 1, 3)
    assert len({str(draw_layout(7, process, 3)) for process in range(20)}) == 20
    assert draw_layout(7, 1, 3) != draw_layout(8, 1, 3)


def test_a_group_keeps_its_share_of_the_layout():
    whole = draw_layout(3, 0, 5)
    part = whole.part([1, 4])
    assert part.environment == whole.environment
    places = [whole.setups.index(i) for i in (1, 4)]
    assert list(part.setups) == ([0, 1] if places[0] < places[1] else [1, 0])
    assert sorted(part.allocations) == sorted(whole.allocations[p] for p in places)


def test_allocations_move_what_comes_after_them():
    sizes = [len(block) for block in allocate(500)]
    assert len(sizes) == 500 and min(sizes) < 64 and max(sizes) > 1500


def test_setups_run_in_the_order_that_the_blocks_record(tmp_path):
    log = tmp_path / "log"
    setup = f"import os; open({str(log)!r}, 'a').write(f'{{os.getpid()}} {{name}}\\n'); x = [1]"
    plan = make_plan(
        {"s": "x.sort()"},
        setup=setup,
        factors={"name": [0, 1, 2]},
        processes=4,
        budget_s=1,
        seed=5,
    )
    result = measure.execute(plan, tmp_path / "run")
    started: dict[str, list[int]] = {}
    for line in log.read_text().splitlines():
        pid, name = line.split()
        started.setdefault(pid, []).append(int(name))
    recorded = {b.process: (b.layout or {})["setups"] for b in result.blocks}
    assert list(started.values()) == list(recorded.values())
    assert len({tuple(order) for order in recorded.values()}) > 1
    assert bundle.read(tmp_path / "run").blocks == encoded(result.blocks)


def test_the_environment_has_the_recorded_size(tmp_path):
    log = tmp_path / "log"
    setup = f"import os; open({str(log)!r}, 'a').write(f'{{len(os.environ[\"DEEP500_PADDING\"])}}\\n')"
    result = measure.run({"a": "pass"}, setup=setup, processes=3, budget_s=0.6)
    sizes = list(dict.fromkeys((b.layout or {})["environment"] for b in result.blocks))
    assert [int(size) for size in log.read_text().split()] == sizes


@pytest.mark.parametrize(
    "planted",
    [
        {"layout": 3},
        {"load": {}},
        {"load": {"others": 2.0, "cpus": 2}},
        {"load": {"others": float("nan"), "cpus": 2}},
        {"load": {"others": 0.5, "cpus": True}},
        {"load": {"others": 0.5, "cpus": 2, "used": [1.0, 1.0]}},
        {"span_s": [2.0, 1.0]},
        {"span_s": ["a", "b"]},
        {"span_s": 4},
    ],
)
def test_a_block_of_another_form_is_refused(planted):
    plan = check_plan(make_plan({"a": "pass"}, seed=1).to_json())
    block = {"process": 0, "calls": [1], "orders": [[0]], "ns": [[5]]}
    good = {
        "load": {"others": 0.5, "cpus": 2, "used": [1.0]},
        "span_s": [0.0, 1],
        "layout": {},
    }
    assert check_blocks(plan, [block, block | good])
    with pytest.raises(Deep500Error, match="block 0: "):
        check_blocks(plan, [block | planted])
