"""What can be trained reproducibly, and what cannot."""

from ..contracts.executor import Executor
from ..contracts.framework import Framework
from ..contracts.reduction import DTYPES
from ..errors import Unsupported


def check_executor(executor: Executor) -> None:
    """Raise Unsupported, in one line, for an executor whose gradients of leaves would not be reproducible."""
    framework = executor.framework
    check_framework(framework)
    if type(executor).forward_kept is Executor.forward_kept:
        raise Unsupported(
            "a model of the framework's own cannot be trained reproducibly, since its operators are not known: give a "
            "d5.Network"
        )
    if not framework.on_host:
        raise Unsupported(
            f"{framework.word} cannot train reproducibly: its kernels choose their sums themselves; use --device cpu"
        )
    if executor.execution == "compiled":
        raise Unsupported(
            "a compiled network cannot be trained reproducibly: the compiler orders sums by shapes; leave compile out"
        )
    for node in executor.structure.nodes:
        if node.operator.adapted is not None:
            raise Unsupported(
                f"the node {node.name!r} ({type(node.operator).__name__}) is a custom operator, whose sums nobody "
                "knows: reproducible training takes operators of Deep500 only"
            )
    for dtype in executor.layout.sizes:
        if dtype not in DTYPES:
            raise Unsupported(
                f"parameters in {dtype} cannot be trained reproducibly: use {' or '.join(DTYPES)}"
            )


def check_framework(framework: Framework) -> None:
    """Raise Unsupported if a framework does not give a leaf's gradient the same bits every time."""
    if framework.lacks_leaves:
        raise Unsupported(
            f"{framework.name} cannot train reproducibly: {framework.lacks_leaves}; use the framework pytorch or "
            "reference"
        )
