"""Where regions write: every thread grows its own tree of nodes, one node per path of names.

The trees are merged when they are read, and those of ended threads are kept. A path is open at most once in
one thread (recursion makes a longer path), so a node itself holds the start of its open call; entering and
leaving take no lock. Memory is bounded: a node keeps a thinning of its durations, and new paths beyond
MAX_PATHS share one node below their parent, OTHER.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from time import perf_counter

from .durations import Durations, Path

MAX_PATHS = 4096
OTHER = "…other"


class RegionNode(dict[str, "RegionNode"]):
    """One path in one thread: its children by name, the start of its open call, the durations of ended calls."""

    __slots__ = (
        "durations",
        "name",
        "parent",
        "path",
        "pending",
        "start",
        "tree",
    )

    def __init__(self, tree: Tree, parent: RegionNode | None, path: Path) -> None:
        self.tree = tree
        self.parent = self if parent is None else parent
        self.path = path
        self.name = path[-1] if path else None
        self.start = 0.0
        self.forget()

    def __missing__(self, name: str) -> RegionNode:
        return forest.grow(self, name)

    def forget(self) -> None:
        self.durations = Durations()
        self.pending: list[float] = []

    def fold(self) -> None:
        with forest.lock:
            # at once: a signal handler may come through here as well
            taken, self.pending = self.pending, []
            self.durations.add(taken)

    def seen(self) -> Durations:
        """A copy of all durations; the lock is held, so that nobody folds."""
        copy = Durations()
        copy.join(self.durations)
        copy.add(self.pending.copy())
        return copy


class Unlisted(RegionNode):
    """What new paths beyond MAX_PATHS share (OTHER), and, made anew each time, what is inside of them."""

    __slots__ = ()

    def __missing__(self, name: str) -> RegionNode:
        return Unlisted(self.tree, self, (*self.path, name))


class Cursor:
    """Where one thread is in its tree; it lives as long as the thread."""

    __slots__ = ("__weakref__", "node")

    def __init__(self, node: RegionNode) -> None:
        self.node = node

    def open(self) -> list[tuple[RegionNode, float]]:
        """The open nodes with their starts, innermost first."""
        open_nodes = []
        node = self.node
        while node is not node.parent:
            open_nodes.append((node, node.start))
            node = node.parent
        return open_nodes


class Tree:
    """The nodes of one thread, which has ended when `cursor()` is None."""

    def __init__(self) -> None:
        self.root = RegionNode(self, None, ())
        self.nodes: list[RegionNode] = []
        self.out_of_order = 0
        self.cursor: Callable[[], Cursor | None] = lambda: None


class Forest:
    """The trees of all living threads, and the merged durations of ended ones."""

    def __init__(self) -> None:
        # re-entered by a signal handler that uses regions
        self.lock = threading.RLock()
        self.trees: list[Tree] = []
        self.paths: set[Path] = set()
        self.ended: dict[Path, Durations] = {}
        self.out_of_order = 0  # in ended threads

    def enrol(self) -> Cursor:
        """Add a tree for a new thread and return its cursor."""
        with self.lock:
            self._merge_ended()
            tree = Tree()
            cursor = Cursor(tree.root)
            tree.cursor = weakref.ref(cursor)
            self.trees.append(tree)
            return cursor

    def grow(self, parent: RegionNode, name: str) -> RegionNode:
        with self.lock:
            path = (*parent.path, name)
            if path in self.paths or len(self.paths) < MAX_PATHS:
                self.paths.add(path)
                child = RegionNode(parent.tree, parent, path)
            elif OTHER in parent:
                return parent[OTHER]
            else:
                child = Unlisted(parent.tree, parent, (*parent.path, OTHER))
            parent[child.path[-1]] = child
            parent.tree.nodes.append(child)
            return child

    def read(self) -> tuple[dict[Path, Durations], int]:
        """The durations of every path, and how many regions ended out of order."""
        with self.lock:
            self._merge_ended()
            merged: dict[Path, Durations] = {}
            out_of_order = self.out_of_order
            for path, durations in self.ended.items():
                copy = merged.setdefault(path, Durations())
                copy.join(durations)
            for tree in self.trees:
                _read_tree(tree, merged)
                out_of_order += tree.out_of_order
            return merged, out_of_order

    def clear(self) -> None:
        with self.lock:
            self._merge_ended()
            self.ended.clear()
            self.paths.clear()
            self.out_of_order = 0
            for tree in self.trees:
                _clear_tree(tree)
                self.paths.update(node.path for node in tree.nodes)

    def _merge_ended(self) -> None:
        """Merge the trees of ended threads, so that thousands of short threads do not fill the memory."""
        ended = [tree for tree in self.trees if tree.cursor() is None]
        for tree in ended:
            self.trees.remove(tree)
            self.out_of_order += tree.out_of_order
            for node in tree.nodes:
                durations = self.ended.setdefault(node.path, Durations())
                durations.join(node.seen())


def _read_tree(tree: Tree, merged: dict[Path, Durations]) -> None:
    """Add the durations of a tree; a call counts as open if it was open before and after they were read."""
    cursor = tree.cursor()
    before = _open_nodes(cursor)
    for node in tree.nodes:
        durations = merged.setdefault(node.path, Durations())
        durations.join(node.seen())
    after = {id(node): start for node, start in _open_nodes(cursor)}
    now = perf_counter()
    for node, start in before:
        is_still_open = after.get(id(node)) == start
        if is_still_open and node.path in merged:
            durations = merged[node.path]
            durations.open += 1
            durations.total += now - start


def _clear_tree(tree: Tree) -> None:
    """Forget all but the nodes that are open, which start anew."""
    cursor = tree.cursor()
    open_nodes = {id(node): node for node, _ in _open_nodes(cursor)}
    for node in [tree.root, *tree.nodes]:
        node.forget()
        for name, child in list(node.items()):
            if id(child) not in open_nodes:
                del node[name]
    tree.nodes = [node for node in tree.nodes if id(node) in open_nodes]
    tree.out_of_order = 0
    now = perf_counter()
    for node in open_nodes.values():
        node.start = now


def _open_nodes(cursor: Cursor | None) -> list[tuple[RegionNode, float]]:
    """The open nodes of a thread with their starts; none if it has ended."""
    if cursor is None:
        return []
    return cursor.open()


class Here(threading.local):
    """The cursor of the thread that asks."""

    def __init__(self) -> None:  # runs once in every thread that comes along
        self.cursor = forest.enrol()


forest = Forest()
here = Here()
