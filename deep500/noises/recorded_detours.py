"""Detours that `d5 doctor --noise` recorded on a machine, or that LogGOPSim's tools did."""

from pathlib import Path

from ..contracts.noise import Detours, Noise
from ..contracts.noise_trace import read_noise_trace


class RecordedDetours(Noise):
    """The detours of a file, again and again; every host begins at another place in it, unless all do it `together`."""

    file: str = "noise.txt"
    together: bool = False

    def detours(self) -> Detours:
        trace = read_noise_trace(Path(self.file))
        return Detours(trace.starts, trace.ends, trace.period, together=self.together)
