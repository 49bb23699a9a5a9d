"""Facts of the hardware: processors and accelerators."""

from __future__ import annotations

import os
import re

from .files import HostFiles, Unavailable, cpu_list
from .nvidia import device_names

CPU = "/sys/devices/system/cpu"
NONE = "none found"

# Instruction sets for which libraries carry kernels of their own.
_ISA = re.compile(
    r"sse4_[12]|avx\w*|fma|f16c|bmi2|amx\w*|vaes|vpclmulqdq|sha_ni|"
    r"asimd\w*|fphp|sve\w*|sme(?!p)\w*|bf16|i8mm|svei8mm|altivec|vsx"
)


def cpu_model(host: HostFiles) -> str:
    first = host.cpuinfo[0]
    if "model name" in first:
        return first["model name"]
    arm = []
    for key in ("CPU implementer", "CPU part", "CPU variant"):
        if key in first:
            value = first[key]
            arm.append(f"{key} {value}")
    if not arm:
        raise Unavailable("/proc/cpuinfo: names no model")
    return ", ".join(arm)


def cpu_stepping(host: HostFiles) -> str:
    first = host.cpuinfo[0]
    if "stepping" not in first:
        raise Unavailable("/proc/cpuinfo: no line 'stepping'")
    family = first.get("cpu family", "?")
    model = first.get("model", "?")
    stepping = first["stepping"]
    return f"cpu family {family} model {model} stepping {stepping}"


def instruction_sets(host: HostFiles) -> list[str]:
    flags = filter(_ISA.fullmatch, _flags(host))
    return sorted(flags)


def microcode(host: HostFiles) -> str:
    versions = set()
    for block in host.cpuinfo:
        if "microcode" in block:
            versions.add(block["microcode"])
    if not versions:
        raise Unavailable("/proc/cpuinfo: no line 'microcode'")
    return ", ".join(sorted(versions))


def logical_cpus(host: HostFiles) -> int:
    return len(_online(host))


def physical_cores(host: HostFiles) -> int:
    return len(_topology(host, "thread_siblings_list"))


def sockets(host: HostFiles) -> int:
    return len(_topology(host, "physical_package_id"))


def _topology(host: HostFiles, name: str) -> set[str]:
    """The distinct values of one file of the topology of the CPUs that are online."""
    cpus = _online(host)
    values = set()
    for number in cpus:
        values.add(host.line(f"{CPU}/cpu{number}/topology/{name}"))
    return values


def smt_in_use(host: HostFiles) -> bool:
    return logical_cpus(host) > physical_cores(host)


def caches(host: HostFiles) -> list[str]:
    folders = host.glob(f"{CPU}/cpu0/cache/index[0-9]*")
    if not folders:
        raise Unavailable(f"{CPU}/cpu0/cache: no cache is listed")
    return [_cache(host, folder) for folder in folders]


def _cache(host: HostFiles, folder: str) -> str:
    level = host.line(f"{folder}/level")
    kind = host.line(f"{folder}/type").lower()
    size = host.line(f"{folder}/size")
    shared = host.line(f"{folder}/shared_cpu_list")
    line = host.line(f"{folder}/coherency_line_size")
    return f"L{level} {kind} {size}, {line} B lines, shared by CPU {shared}"


def governor(host: HostFiles) -> str:
    return _of_policies(host, "scaling_governor")


def frequency_driver(host: HostFiles) -> str:
    return _of_policies(host, "scaling_driver")


def _of_policies(host: HostFiles, name: str) -> str:
    values = set()
    for policy in _policies(host):
        values.add(host.line(f"{policy}/{name}"))
    return ", ".join(sorted(values))


def frequency_range(host: HostFiles) -> list[str]:
    ranges = {_limits(host, policy) for policy in _policies(host)}
    return sorted(ranges)


def _limits(host: HostFiles, policy: str) -> str:
    low_khz = host.number(f"{policy}/scaling_min_freq")
    high_khz = host.number(f"{policy}/scaling_max_freq")
    return f"{low_khz // 1000}-{high_khz // 1000}"


def boost(host: HostFiles) -> bool:
    no_turbo = f"{CPU}/intel_pstate/no_turbo"
    if host.exists(no_turbo):
        return host.number(no_turbo) == 0
    return host.number(f"{CPU}/cpufreq/boost") != 0


def frequency_now(host: HostFiles) -> float:
    speeds = []
    for block in host.cpuinfo:
        if "cpu MHz" in block:
            speeds.append(float(block["cpu MHz"]))
    if not speeds:
        raise Unavailable("/proc/cpuinfo: no line 'cpu MHz'")
    mean = sum(speeds) / len(speeds)
    return round(mean, 1)


def hypervisor(host: HostFiles) -> str:
    if "flags" not in host.cpuinfo[0]:
        raise Unavailable(
            "/proc/cpuinfo: this architecture does not say whether it is virtual"
        )
    if "hypervisor" not in _flags(host):
        return "none seen"
    paths = ("/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor")
    names = [host.line(path) for path in paths if host.exists(path)]
    return ", ".join(names) or "yes, of unknown make"


def mitigations(host: HostFiles) -> list[str]:
    files = host.glob(f"{CPU}/vulnerabilities/*")
    if not files:
        raise Unavailable(f"{CPU}/vulnerabilities: nothing is listed")
    states = []
    for file in files:
        state = host.line(file)
        if state != "Not affected":
            name = os.path.basename(file)
            states.append(f"{name}: {state}")
    return states


def accelerators(host: HostFiles) -> list[str] | str:
    files = host.glob("/proc/driver/nvidia/gpus/*/information")
    nvidia = [host.field(file, "Model") for file in files]
    devices = nvidia or device_names()
    cards = host.glob("/sys/class/drm/card[0-9]")
    cards += host.glob("/sys/class/accel/accel[0-9]*")
    for card in cards:
        vendor = host.line(f"{card}/device/vendor")
        device = host.line(f"{card}/device/device")
        if devices and vendor == "0x10de":
            continue  # NVIDIA's are already listed by name
        driver = host.link_name(f"{card}/device/driver")
        name = os.path.basename(card)
        devices.append(f"{name}: PCI {vendor}:{device}, {driver}")
    return devices or NONE


def nvidia_driver(host: HostFiles) -> str:
    path = "/proc/driver/nvidia/version"
    if not host.exists(path):
        return NONE
    return host.line(path).splitlines()[0]


def _flags(host: HostFiles) -> set[str]:
    first = host.cpuinfo[0]
    flags = first.get("flags", first.get("Features"))
    if flags is None:
        raise Unavailable("/proc/cpuinfo: no line 'flags' or 'Features'")
    return set(flags.split())


def _online(host: HostFiles) -> list[int]:
    return cpu_list(host.line(f"{CPU}/online"))


def _policies(host: HostFiles) -> list[str]:
    policies = host.glob(f"{CPU}/cpufreq/policy[0-9]*")
    if not policies:
        raise Unavailable(
            f"{CPU}/cpufreq: no policy is listed (a virtual machine, or no frequency driver)"
        )
    return policies
