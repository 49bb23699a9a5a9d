"""Opens sessions that run on the provider that was asked for, and nowhere else."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import onnxruntime as ort  # type: ignore[import-untyped]
from onnxruntime.capi.onnxruntime_pybind11_state import (  # type: ignore[import-untyped]
    Fail,
    NotImplemented,
)

from ...errors import Unsupported, one_line
from .providers import CPU, Provider

NO_FALLBACK = "session.disable_cpu_ep_fallback"


def open_session(
    model: bytes, threads: int, provider: Provider, profile: Path | None = None
) -> Any:
    """A session of a model; with `profile`, it writes a profile beginning with this path.

    Raises `Unsupported` if the provider is missing or has no kernel for a part of the model: ONNX Runtime would run
    it on the CPU.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    serialized = _Opening(model, options)
    if provider.name == CPU.name:
        return serialized.on_cpu()
    return serialized.on(provider)


class _Opening:
    """A model that is about to be a session."""

    def __init__(self, model: bytes, options: Any):
        self.model = model
        self.options = options

    def on_cpu(self) -> Any:
        try:
            return self._session(CPU)
        except NotImplemented as error:
            reason = str(error).splitlines()[0]
            raise Unsupported(
                f"ONNX Runtime has no kernel for this: {reason}"
            ) from error

    def on(self, provider: Provider) -> Any:
        """A session on this provider alone, whose notes about a fallback become an error."""
        _check_available(provider)
        self.options.add_session_config_entry(NO_FALLBACK, "1")
        notes = io.StringIO()
        try:
            with redirect_stdout(notes):
                session = self._session(provider)
        except (Fail, NotImplemented) as error:
            raise Unsupported(
                f"a part of this graph has no kernel on {provider.name}, and nothing else may run it: "
                f"{one_line(error)}"
            ) from error
        _check_provider(session.get_providers(), provider, notes.getvalue())
        return session

    def _session(self, provider: Provider) -> Any:
        providers = [(provider.name, provider.options)]
        return ort.InferenceSession(self.model, self.options, providers=providers)


def _check_available(provider: Provider) -> None:
    available = ort.get_available_providers()
    if provider.name not in available:
        offered = ", ".join(available)
        raise Unsupported(
            f"this ONNX Runtime has no {provider.name}, only {offered}: install a package with it, such as "
            "onnxruntime-gpu, or leave the device out"
        )


def _check_provider(providers: list[str], provider: Provider, notes: str) -> None:
    """Raise an error if a session got other providers than the one that was asked for."""
    if providers[0] == provider.name:
        return
    actual = ", ".join(providers)
    reason = " ".join(notes.split())[:200] or "no reason given"
    raise Unsupported(
        f"{provider.name} does not start here, and ONNX Runtime took {actual} in its place: {reason}"
    )
