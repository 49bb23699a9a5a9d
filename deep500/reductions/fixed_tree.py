"""Sums in a tree that the numbers' places fix, however they are divided (the idea of ReproRed, Stelz et al., 2025)."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..contracts.reduction import (
    Frame,
    ReproducibleReduction,
    checked_rows,
    checked_values,
)
from ._native import call, width

ATOM = 64
ATOM_LEVEL = 6
BLOCK = 4096  # elements of rows that are added at once: they stay in the caches


class FixedTree(ReproducibleReduction):
    """Neighbours are added in pairs, then neighbouring pairs, in float64: element 2 i to 2 i + 1, and so on.

    A part of the sum is the largest whole subtrees that lie in it, a few numbers. Unlike the other reductions it does
    depend on the order of the numbers, but not on how they are split. NaN, infinities, overflow and denormals are
    IEEE's; every NaN is the same one. The error is at most the depth of the tree times the unit roundoff, of the sum
    of magnitudes.
    """

    def partial(
        self, values: np.ndarray, first: int = 0, frame: Frame | None = None
    ) -> np.ndarray:
        """Rows of (level, place, value): the node `place` of a level has 2^level elements below it."""
        values = checked_values(values)
        stop = first + values.size
        first_atom = -(-first // ATOM)
        last_atom = max(first_atom, stop // ATOM)
        begin = min(first_atom * ATOM, stop)
        end = max(begin, last_atom * ATOM if stop >= last_atom * ATOM else begin)
        whole = values[begin - first : end - first]
        nodes: Nodes = {}
        for place in (*range(first, begin), *range(end, stop)):
            nodes[0, place] = float(values[place - first])
        _add_subtrees(nodes, atoms(whole), begin // ATOM)
        return _rows(nodes)

    def merge(self, partials: Sequence[np.ndarray]) -> np.ndarray:
        nodes: Nodes = {}
        for partial in partials:
            for level, place, value in partial.reshape(-1, 3).tolist():
                nodes[int(level), int(place)] = value
        _join_atoms(nodes)
        _join_pairs(nodes)
        return _rows(nodes)

    def finish(self, partial: np.ndarray) -> float:
        """The sum; a node at the right edge has no neighbour, and goes up as it is."""
        nodes: Nodes = {}
        for level, place, value in partial.reshape(-1, 3).tolist():
            nodes[int(level), int(place)] = value
        _fill_last_atom(nodes)
        total: float | None = None
        # subtrees at the right edge are smaller and smaller: the last two are added first
        for node in sorted(nodes):
            total = nodes[node] if total is None else _plus(nodes[node], total)
        return 0.0 if total is None else total

    def bound(self, values: np.ndarray) -> float:
        values = checked_values(values)
        depth = max(values.size - 1, 0).bit_length()
        with np.errstate(over="ignore"):
            magnitudes = float(np.abs(values).sum(dtype=np.float64))
        # the magnitudes' sum is rounded itself, by another tree
        rounding = depth * np.finfo(np.float64).eps / 2
        return magnitudes * rounding / (1 - 2 * rounding)

    def sum_rows(self, rows: Sequence[np.ndarray], out: np.ndarray) -> None:
        rows = checked_rows(rows, out)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, out.size, BLOCK):
                block = slice(start, start + BLOCK)
                out[block] = _in_pairs(row[block] for row in rows)

    def workspace(self, rows: int, elements: int) -> int:
        """One subtree of every size that is in the number of rows, as its binary digits are."""
        return 8 * rows.bit_length() * min(elements, BLOCK)


def _in_pairs(leaves: Iterable[np.ndarray]) -> np.ndarray:
    """The sum of the arrays by the tree: of subtrees, two of one size are added as soon as they are there."""
    subtrees: list[np.ndarray] = []
    for place, leaf in enumerate(leaves, 1):
        subtrees.append(leaf.astype(np.float64))
        while place % 2 == 0:
            subtrees[-2] += subtrees[-1]
            subtrees.pop()
            place //= 2
    while len(subtrees) > 1:
        subtrees[-2] += subtrees[-1]
        subtrees.pop()
    return subtrees[0]


Nodes = dict[tuple[int, int], float]


def atoms(values: np.ndarray) -> np.ndarray:
    """Every 64 neighbours as one number: the first half plus the second one, and so on."""
    count = values.size // ATOM
    sums = np.empty(count)
    if call(f"atoms{width(values.dtype)}", values, count, sums):
        return sums
    rest = values[: count * ATOM].reshape(count, ATOM).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        while rest.shape[1] > 1:
            half = rest.shape[1] // 2
            rest = rest[:, :half] + rest[:, half:]
    return rest[:, 0]


def _add_subtrees(nodes: Nodes, sums: np.ndarray, first: int) -> None:
    """Add neighbouring pairs as far as they go; what has no neighbour in this part is a node of its own."""
    level = ATOM_LEVEL
    while sums.size:
        if first % 2:
            nodes[level, first] = float(sums[0])
            sums, first = sums[1:], first + 1
        if sums.size % 2:
            nodes[level, first + sums.size - 1] = float(sums[-1])
            sums = sums[:-1]
        with np.errstate(over="ignore", invalid="ignore"):
            sums = sums[0::2] + sums[1::2]
        level, first = level + 1, first // 2


def _join_atoms(nodes: Nodes) -> None:
    """Single elements as atoms, where all 64 are there."""
    loose = sorted(place for level, place in nodes if level == 0)
    for atom in sorted({place // ATOM for place in loose}):
        places = range(atom * ATOM, (atom + 1) * ATOM)
        if all((0, place) in nodes for place in places):
            values = np.array([nodes.pop((0, place)) for place in places])
            nodes[ATOM_LEVEL, atom] = float(atoms(values)[0])


def _join_pairs(nodes: Nodes) -> None:
    """Neighbouring nodes of one level as one of the next, from the atoms up."""
    level = ATOM_LEVEL
    while any(node >= level for node, _ in nodes):
        for place in sorted(place for node, place in nodes if node == level):
            if place % 2 == 0 and (level, place + 1) in nodes:
                left, right = nodes.pop((level, place)), nodes.pop((level, place + 1))
                nodes[level + 1, place // 2] = _plus(left, right)
        level += 1


def _fill_last_atom(nodes: Nodes) -> None:
    """The elements behind the last whole atom as one, with nothing in the places that are left."""
    loose = sorted(place for level, place in nodes if level == 0)
    if not loose:
        return
    values = np.zeros(ATOM)
    for place in loose:
        values[place % ATOM] = nodes.pop((0, place))
    nodes[ATOM_LEVEL, loose[0] // ATOM] = float(atoms(values)[0])
    _join_pairs(nodes)


def _plus(left: float, right: float) -> float:
    total = left + right
    return math.nan if math.isnan(total) else total


def _rows(nodes: Nodes) -> np.ndarray:
    rows = [(*node, nodes[node]) for node in sorted(nodes)]
    return np.array(rows, np.float64).reshape(-1)
