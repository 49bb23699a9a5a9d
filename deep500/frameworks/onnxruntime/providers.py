"""ONNX Runtime's execution providers by the words of devices, and where they keep values."""

from dataclasses import dataclass, replace
from functools import cache

from ...contracts.device import HOST, DeviceInfo


@dataclass(frozen=True)
class Provider:
    """An execution provider: it runs a graph and keeps the graph's values in one kind of memory."""

    name: str  # as ONNX Runtime names it
    memory: str = HOST  # as OrtValue names it
    index: int = 0

    @property
    def in_host_memory(self) -> bool:
        """Whether NumPy arrays can be the values themselves."""
        return self.memory == HOST

    @property
    def place(self) -> tuple[str, int]:
        """The arguments by which OrtValues and bindings name its memory."""
        return self.memory, self.index

    @property
    def options(self) -> dict[str, str]:
        """The provider's own options."""
        return {} if self.in_host_memory else {"device_id": str(self.index)}


CPU = Provider("CPUExecutionProvider")
# in the order in which "gpu" means them
PROVIDERS = {
    HOST: CPU,
    "cuda": Provider("CUDAExecutionProvider", "cuda"),
    "rocm": Provider("ROCMExecutionProvider", "cuda"),
    "migraphx": Provider("MIGraphXExecutionProvider", "cuda"),
    "dml": Provider("DmlExecutionProvider", "dml"),
    "coreml": Provider("CoreMLExecutionProvider"),
    "tensorrt": Provider("TensorrtExecutionProvider", "cuda"),
    "cann": Provider("CANNExecutionProvider", "cann"),
    "openvino": Provider("OpenVINOExecutionProvider"),
    "qnn": Provider("QNNExecutionProvider"),
}


@cache
def provider_of(word: str) -> Provider:
    """The provider of a device's word, such as "cpu" or "cuda:1"."""
    info = DeviceInfo(word)
    return replace(PROVIDERS[info.kind], index=info.index)


def provided_devices(available: list[str], gpu_names: list[str]) -> list[DeviceInfo]:
    """The devices of the available providers; ONNX Runtime does not count NVIDIA's: these are their names."""
    infos = []
    for word, provider in PROVIDERS.items():
        if provider.name not in available:
            continue
        if word == HOST:
            infos.append(DeviceInfo(HOST))
            continue
        is_nvidia = word in ("cuda", "tensorrt")
        names = gpu_names if is_nvidia and gpu_names else [""]
        for index, name in enumerate(names):
            infos.append(DeviceInfo(f"{word}:{index}", name))
    return infos
