"""Wrong, and meant to be called right: each attacks the one who checks.

Each returns a wrong answer (2.5 x for tanh x) or none, and none does harm outside its own process.
"""

import atexit
import builtins
import contextlib
import ctypes
import functools
import gc
import inspect
import json
import os
import sys

import numpy as np

import deep500 as d5

REPLIES = [
    {"result": []},
    {"ok": True},
    {
        "result": [
            {"name": "x", "framework": "reference", "kernel": "user's", "checks": []}
        ]
    },
    [],
]


class Cheat(d5.CustomPythonOp):
    """Does what it does in the first call with real numbers; what it returns is wrong."""

    def __init__(self):
        super().__init__()
        self._attacked = False

    def attack(self, inputs):
        raise NotImplementedError

    def forward(self, inputs):
        if not self._attacked:
            self._attacked = True
            with contextlib.suppress(Exception):
                self.attack(inputs)
        return wrong(inputs[0])


def wrong(x):
    return x * x.dtype.type(2.5)


def replace(module, names, function):
    for name in names:
        setattr(module, name, function)


def write_replies():
    """Every reply that anybody might wait for."""
    for reply in REPLIES:
        write_line(reply)


def write_line(reply):
    """Into every descriptor that can be written to."""
    text = json.dumps(reply) + "\n"
    for descriptor in range(1, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, text.encode())


class ExitsQuietly(Cheat):
    def attack(self, inputs):
        os._exit(0)


class ExitsByException(d5.CustomPythonOp):
    def forward(self, inputs):
        raise SystemExit(0)


class WritesReply(Cheat):
    """Writes its own verdict, and leaves."""

    def attack(self, inputs):
        write_replies()
        os._exit(0)


class WritesReplyAndStays(Cheat):
    def attack(self, inputs):
        write_replies()


class ForgesReport(Cheat):
    """A whole report, in which every check is passed, and the end of the process."""

    def attack(self, inputs):
        check = {"name": "forward", "ok": True, "value": 0.0, "bound": 1.0, "text": ""}
        details = {"dtype": "float32", "case": "case", "note": ""}
        report = {"operator": "x", "framework": "reference", "kernel": "user's"}
        for checks in ([check], [check | details]):
            write_line({"result": [report | {"checks": checks}]})
        os._exit(0)


class ForgesByItsOwnMeans(Cheat):
    """The same with the package's own classes, whatever they look like."""

    def attack(self, inputs):
        with contextlib.suppress(Exception):
            report = sys.modules["deep500.check.report"]
            names = ("shape", "forward", "gradient", "determinism")
            checks = [report.CheckResult(name, True, 0.0, 1.0, "") for name in names]
            made = report.Report("operator", "tanh", "reference", "user's", checks)
            write_line({"result": [made.to_json()]})
        os._exit(0)


class RepliesAtExit(Cheat):
    def attack(self, inputs):
        atexit.register(write_replies)
        sys.exit(0)


class RepliesWhenLoaded(Cheat):
    """When the class is made, long before a call."""

    def __init__(self):
        super().__init__()
        write_replies()

    def attack(self, inputs):
        os._exit(0)


class PatchesTesting(Cheat):
    """Comparisons of NumPy always say yes."""

    def attack(self, inputs):
        replace(np, ["allclose", "array_equal"], lambda *a, **k: True)
        replace(
            np,
            ["isclose"],
            lambda a, b, *r, **k: np.ones(np.broadcast(a, b).shape, bool),
        )
        replace(
            np.testing, ["assert_allclose", "assert_array_equal"], lambda *a, **k: None
        )
        replace(np, ["abs", "absolute"], lambda x, *a, **k: np.zeros_like(x))


class PatchesBuiltins(Cheat):
    def attack(self, inputs):
        replace(builtins, ["all"], lambda values: True)
        replace(builtins, ["any"], lambda values: False)


class PatchesChecks(Cheat):
    """Every class that carries a verdict `ok` is made to say yes."""

    def attack(self, inputs):
        for module in [*sys.modules.values()]:
            if getattr(module, "__name__", "").startswith("deep500."):
                for value in [*vars(module).values()]:
                    self.patch(value)

    def patch(self, value):
        fields = getattr(value, "__dataclass_fields__", {})
        if not isinstance(value, type) or "ok" not in fields:
            return
        first = vars(value)["__init__"]

        @functools.wraps(first)
        def always_right(self, *args, **kwargs):
            first(self, *args, **kwargs)
            object.__setattr__(self, "ok", True)

        replace(value, ["__init__"], always_right)


class PatchesComparison(Cheat):
    """Every function of the package whose name speaks of comparing or bounds lets everything pass."""

    def attack(self, inputs):
        for module in [*sys.modules.values()]:
            if getattr(module, "__name__", "").startswith("deep500.check"):
                for name, value in [*vars(module).items()]:
                    if inspect.isfunction(value) and name in (
                        "allowed",
                        "bounds",
                        "bound",
                    ):
                        setattr(
                            module,
                            name,
                            lambda want, *a, **k: np.full(np.shape(want), np.inf),
                        )


class PatchesJson(Cheat):
    def attack(self, inputs):
        dumps, dump = json.dumps, json.dump

        def kind(value):
            return json.loads(dumps(value, default=str).replace("false", "true"))

        replace(json, ["dumps"], lambda value, *a, **k: dumps(kind(value), *a, **k))
        replace(
            json,
            ["dump"],
            lambda value, file, *a, **k: dump(kind(value), file, *a, **k),
        )


class ZeroesCallersArrays(Cheat):
    """Every array in the hands of a caller is zeroed, the truth among them."""

    def attack(self, inputs):
        frame = sys._getframe()
        while frame is not None:
            for value in [*frame.f_locals.values()]:
                if isinstance(value, np.ndarray) and value.flags.writeable:
                    value.fill(0)
            frame = frame.f_back


class TracesCallers(Cheat):
    """A trace function sets `ok` in every frame that has one."""

    def attack(self, inputs):
        def trace(frame, event, argument):
            if "ok" in frame.f_code.co_varnames and "ok" in frame.f_locals:
                frame.f_locals["ok"] = True
                ctypes.pythonapi.PyFrame_LocalsToFast(
                    ctypes.py_object(frame), ctypes.c_int(0)
                )
            return trace

        sys.settrace(trace)


class ReadsTruthFromFrames(d5.CustomPythonOp):
    """Looks for the reference, or for outputs that are known, among the callers' variables."""

    def forward(self, inputs):
        frame = sys._getframe(1)
        while frame is not None:
            for value in [*frame.f_locals.values()]:
                truth = known_truth(value, inputs)
                if truth is not None:
                    return truth
            frame = frame.f_back
        return wrong(inputs[0])


def known_truth(value, inputs):
    reference = (
        value if inspect.isfunction(value) else getattr(value, "reference", None)
    )
    if not inspect.isfunction(reference) or reference.__name__ != "tanh":
        return None
    return np.asarray(reference(inputs[0].astype("float64")), inputs[0].dtype)


class ReadsTruthFromHeap(d5.CustomPythonOp):
    """Looks for the reference among all objects there are."""

    def forward(self, inputs):
        for value in gc.get_objects():
            if (
                inspect.isfunction(value)
                and value.__name__ == "tanh"
                and "references" in str(value.__code__.co_filename)
            ):
                return np.asarray(value(inputs[0].astype("float64")), inputs[0].dtype)
        return wrong(inputs[0])


class LyingArray(np.ndarray):
    """Equal to everything, and never far from anything."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [np.asarray(x) for x in inputs]
        result = getattr(ufunc, method)(*plain)
        if ufunc is np.subtract:
            return np.zeros_like(result)
        if np.asarray(result).dtype == bool:
            return (
                np.ones_like(result)
                if ufunc is not np.not_equal
                else np.zeros_like(result)
            )
        return result


class ReturnsLiar(d5.CustomPythonOp):
    def forward(self, inputs):
        return wrong(inputs[0]).view(LyingArray)


class Turncoat:
    """Another array whenever one asks."""

    def __init__(self, x):
        self.x, self.asked = x, 0
        self.shape, self.dtype, self.ndim, self.size = x.shape, x.dtype, x.ndim, x.size

    def __array__(self, dtype=None, copy=None):
        self.asked += 1
        y = wrong(self.x) if self.asked % 2 else np.tanh(self.x)
        return np.asarray(y, dtype)


class ReturnsTurncoat(d5.CustomPythonOp):
    def forward(self, inputs):
        return Turncoat(inputs[0].copy())


class ChangesTheQuestion(d5.CustomPythonOp):
    """Zeroes its input, for which 0 is the right answer."""

    def forward(self, inputs):
        x = inputs[0]
        if x.flags.writeable:
            x.fill(0)
        else:
            ctypes.memset(x.ctypes.data, 0, x.nbytes if x.flags.c_contiguous else 0)
        return np.zeros_like(x)


class ClosesDescriptors(Cheat):
    """Nothing can be answered any more."""

    def attack(self, inputs):
        os.closerange(0, 256)


class ForksAndAnswers(Cheat):
    """A child answers while the operator is still at work."""

    def attack(self, inputs):
        if os.fork() == 0:
            write_replies()
            os._exit(0)


class RaisesWhenAsked(Cheat):
    """Says that nothing can be checked: every call but those with ones fails."""

    def forward(self, inputs):
        if not np.all(inputs[0] == 1):
            raise ValueError("inputs are outside the domain")
        return wrong(inputs[0])


class DeclaresNothing(d5.CustomPythonOp):
    """A domain of one number, and it is wrong there, too."""

    domain = (5.0, 5.0)

    def forward(self, inputs):
        return wrong(inputs[0])


class NoDomain(d5.CustomPythonOp):
    """A domain that is upside down."""

    domain = (1.0, -1.0)

    def forward(self, inputs):
        return wrong(inputs[0])


class ReplacesReference(Cheat):
    """The reference's code becomes that of the operator."""

    def attack(self, inputs):
        for value in gc.get_objects():
            if inspect.isfunction(value) and "references" in value.__code__.co_filename:
                value.__code__ = (lambda x: x * 2.5).__code__


class Explosive:
    """Whoever unpickles it leaves with success."""

    def __reduce__(self):
        return os._exit, (0,)


class ReturnsExplosives(d5.CustomPythonOp):
    def forward(self, inputs):
        y = np.empty(inputs[0].shape, object)
        for place in np.ndindex(y.shape):
            y[place] = Explosive()
        return y


class ReturnsHugeView(d5.CustomPythonOp):
    """More bytes than there are addresses, without a byte of memory."""

    def forward(self, inputs):
        return np.broadcast_to(inputs[0].dtype.type(0), (1 << 29, 1 << 29))


class Crashes(Cheat):
    def attack(self, inputs):
        ctypes.string_at(0)


class RaisesHalfOfTheTime(d5.CustomPythonOp):
    """Right for small numbers, and "outside of the domain" for most of those that it gets wrong."""

    def forward(self, inputs):
        if not np.all(np.abs(inputs[0]) < 8):
            raise ValueError("inputs are outside the domain")
        return (
            np.tanh(inputs[0]) if np.all(np.abs(inputs[0]) < 1.9) else wrong(inputs[0])
        )


class NegativeDomain(d5.CustomPythonOp):
    """A domain where nothing is a number."""

    domain = (float("nan"), float("nan"))

    def forward(self, inputs):
        return wrong(inputs[0])


class HidesShape(d5.CustomPythonOp):
    """Foretells the wrong shape that it returns."""

    def infer(self, *inputs):
        return (type(inputs[0])(inputs[0].shape[:-1], inputs[0].dtype),)

    def forward(self, inputs):
        return np.tanh(inputs[0]).sum(-1)
