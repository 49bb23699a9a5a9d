"""GOAL files: written and read again they are the same, and what is wrong with them is named with its line or byte."""

import random
import struct

import pytest

from deep500.cluster.engine import simulate_schedule
from deep500.cluster.goal import read_goal, write_goal
from deep500.cluster.network import ClusterNetwork
from deep500.cluster.patterns import dissemination
from deep500.errors import Deep500Error

from .programs import binomial_reduce, random_schedule

TEXT = """num_ranks 2
// a comment
rank 0 {
l1: calc 100 cpu 0
l2: send 10b to 1 tag 5 cpu 0 nic 0 /* another
one */
l2 requires l1
}
rank 1 {
a: recv 10b from -1 tag -1
calc 7
b: calc 9
b irequires a
}
"""


def operations(schedule):
    ranks = range(schedule.size)
    return [list(schedule.operations(rank)) for rank in ranks]


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_written_and_read_again(tmp_path, binary):
    file = tmp_path / "x.goal"
    for seed in range(25):
        schedule = random_schedule(seed, 1 + seed % 3, wildcards=True)
        write_goal(schedule, file, binary)
        again = read_goal(file)
        assert operations(again) == operations(schedule)
        assert (again.cpus, again.nics) == (schedule.cpus, schedule.nics)
        assert (again.wildcards, again.starts) == (schedule.wildcards, schedule.starts)


def test_the_text_of_the_format(tmp_path):
    file = tmp_path / "x.goal"
    file.write_text(TEXT)
    assert operations(read_goal(str(file))) == operations(read_goal(file))
    schedule = read_goal(file)
    first, second = operations(schedule)
    assert [(o.kind, o.size, o.tag, o.after) for o in first] == [
        (3, 100, 0, []),
        (1, 10, 5, [0]),
    ]
    assert [(o.kind, o.size, o.behind) for o in second] == [
        (2, 10, []),
        (3, 7, []),
        (3, 9, [0]),
    ]
    outcome = simulate_schedule(schedule, ClusterNetwork())
    assert outcome.nanoseconds.tolist() == [1600, 100 + 1500 + 2500 + 1500 + 54]


def test_the_bytes_of_the_format(tmp_path):
    # by hand, as LogGOPSim's Parser.hpp reads them
    node = struct.Struct("<IBIQIBBIIII")
    sender = struct.pack("<III", 2, 1, 0)
    sender += node.pack(0, 3, 0, 500, 0, 0, 0, 1, 0, 0, 0xFFFFFFFF)
    sender += node.pack(1, 1, 1, 8, 3, 0, 0, 0, 999, 0, 0xFFFFFFFF)
    sender += struct.pack("<I", 1)
    receiver = struct.pack("<III", 1, 1, 0)
    receiver += node.pack(0, 2, 0, 8, 3, 0, 0, 0, 999, 0, 0xFFFFFFFF)
    start = 6 + 32
    ends = start + len(sender), start + len(sender) + len(receiver)
    head = struct.pack("<QIBB", 4223, 2, 0, 0)
    table = struct.pack("<4Q", start, ends[0], ends[0], ends[1])
    file = tmp_path / "x.bin"
    file.write_bytes(head + table + sender + receiver)
    schedule = read_goal(file)
    outcome = simulate_schedule(schedule, ClusterNetwork())
    assert outcome.nanoseconds.tolist() == [2000, 500 + 1500 + 2500 + 1500 + 42]
    write_goal(schedule, tmp_path / "y.bin", binary=True)
    assert operations(read_goal(tmp_path / "y.bin")) == operations(schedule)


@pytest.mark.parametrize(
    "change, expected",
    [
        (("num_ranks 2", "num_ranks 0"), "line 1: a schedule of 0 ranks"),
        (("num_ranks 2", "num_ranks"), "line 1: expected one number"),
        (("num_ranks 2\n", ""), "expected num_ranks before the first rank"),
        (("num_ranks 2", "num_ranks 3"), "rank 2 of 3 has no block"),
        (("num_ranks 2", "num_ranks 4000000000"), "line 1"),
        (("num_ranks 2", "num_ranks 2000000000"), "GiB of memory"),
        (("rank 1 {", "rank 0 {"), "line 9: rank 0 has a block already"),
        (("rank 1 {", "rank 2 {"), "line 9: '2' is too large: at most 1"),
        (("calc 100", "calk 100"), "line 4: expected send, recv or calc"),
        (("calc 100", "calc -5"), "line 4: expected a number"),
        (("calc 100", "calc 999999999999999999"), "line 4: .* too large"),
        (("10b to 1", "10 to 1"), "line 5: expected b, for bytes, instead of 'to'"),
        (("10b to 1", "10b from 1"), "line 5: expected to instead of 'from'"),
        (("to 1 tag", "to 7 tag"), "line 5: '7' is too large"),
        (("to 1 tag", "to -1 tag"), "line 5: expected a number"),
        (("tag 5", "tag x"), "line 5: expected a number"),
        (("nic 0", "nik 0"), "line 5: expected tag, cpu, nic"),
        (("one */", "one"), "line 5: a comment without an end"),
        (("l2 requires l1", "l2 requires l9"), "line 7: the label 'l9' is not defined"),
        (("l2 requires l1", "l2 requires"), "line 7: expected one label"),
        (("calc 7", "a: calc 7"), "line 11: the label 'a' is there already"),
        (("calc 7", "calc 7 \x00"), r"line 11: the byte '\\x00' has no meaning"),
        (("b irequires a\n}\n", "b irequires a\n"), "the file ends within rank 1"),
        (("rank 0 {", "rank 0 { rank 1 {"), "line 3: a block within rank 0"),
    ],
)
def test_text_that_is_wrong(tmp_path, change, expected):
    file = tmp_path / "x.goal"
    right, wrong = change
    assert right in TEXT
    file.write_text(TEXT.replace(right, wrong, 1))
    with pytest.raises(Deep500Error, match=expected) as caught:
        read_goal(file)
    assert "\n" not in str(caught.value)


def test_no_byte_of_a_binary_file_brings_the_reader_down(tmp_path):
    """Every changed byte is refused with its place, or gives another schedule that can be simulated."""
    file = tmp_path / "x.bin"
    write_goal(binomial_reduce(), file, binary=True)
    good = file.read_bytes()
    draw = random.Random(5)
    refused = 0
    for place in draw.sample(range(8, len(good)), 300):
        bad = bytearray(good)
        bad[place] ^= draw.choice([0xFF, 0x80, 1])
        file.write_bytes(bad)
        try:
            simulate_schedule(read_goal(file), ClusterNetwork())
        except Deep500Error as error:
            refused += 1
            assert "byte " in str(error) or "memory" in str(error)
    assert refused > 100
    for length in draw.sample(range(1, len(good)), 60):
        file.write_bytes(good[:length])
        with pytest.raises(Deep500Error, match="byte |line 1"):
            read_goal(file)


@pytest.mark.parametrize(
    "place, value, expected",
    [
        (8, b"\xff\xff\xff\x7f", "byte 8: 2147483647 ranks have no room"),
        (8, bytes(4), "byte 8: it has no ranks"),
        (14, b"\xff" * 8, "byte 14: rank 0 is said to be in bytes"),
    ],
)
def test_a_bad_byte_is_named(tmp_path, place, value, expected):
    file = tmp_path / "x.bin"
    write_goal(dissemination(8), file, binary=True)
    data = bytearray(file.read_bytes())
    data[place : place + len(value)] = value
    file.write_bytes(data)
    with pytest.raises(Deep500Error, match=expected):
        read_goal(file)


def test_a_bad_byte_far_into_a_large_file(tmp_path):
    file = tmp_path / "x.bin"
    write_goal(dissemination(4096), file, binary=True)
    data = bytearray(file.read_bytes())
    [start] = struct.unpack_from("<Q", data, 14 + 16 * 4000)
    place = start + 8 + 8 + 8 + 4  # magic, counts, two roots, dependences
    assert data[place] == 1
    data[place] = 9
    file.write_bytes(data)
    with pytest.raises(Deep500Error, match=f"byte {place}: an operation of type 9"):
        read_goal(file)


def test_files_that_are_none(tmp_path):
    with pytest.raises(Deep500Error, match="No such file"):
        read_goal(tmp_path / "nothing.goal")
    empty = tmp_path / "empty.goal"
    empty.touch()
    with pytest.raises(Deep500Error, match="is empty"):
        read_goal(empty)
    used = tmp_path / "used.bin"
    used.write_bytes((2342).to_bytes(8, "little"))
    with pytest.raises(Deep500Error, match="save-mem"):
        read_goal(used)
