"""Facts of the hardware: processors and accelerators."""

from __future__ import annotations

import os
import re

from .files import Host, Unavailable, cpu_list
from .nvidia import device_names

CPU = "/sys/devices/system/cpu"
NONE = "none found"

# Instruction sets for which libraries carry kernels of their own.
_ISA = re.compile(
    r"sse4_[12]|avx\w*|fma|f16c|bmi2|amx\w*|vaes|vpclmulqdq|sha_ni|"
    r"asimd\w*|fphp|sve\w*|sme(?!p)\w*|bf16|i8mm|svei8mm|altivec|vsx"
)


def cpu_model(host: Host) -> str:
    first = host.cpuinfo[0]
    if "model name" in first:
        return first["model name"]
    arm = [
        f"{key} {first[key]}"
        for key in ("CPU implementer", "CPU part", "CPU variant")
        if key in first
    ]
    if not arm:
        raise Unavailable("/proc/cpuinfo: names no model")
    return ", ".join(arm)


def cpu_stepping(host: Host) -> str:
    first = host.cpuinfo[0]
    if "stepping" not in first:
        raise Unavailable("/proc/cpuinfo: no line 'stepping'")
    return " ".join(
        f"{key} {first.get(key, '?')}" for key in ("cpu family", "model", "stepping")
    )


def instruction_sets(host: Host) -> list[str]:
    return sorted(flag for flag in _flags(host) if _ISA.fullmatch(flag))


def microcode(host: Host) -> str:
    versions = sorted(
        {block["microcode"] for block in host.cpuinfo if "microcode" in block}
    )
    if not versions:
        raise Unavailable("/proc/cpuinfo: no line 'microcode'")
    return ", ".join(versions)


def logical_cpus(host: Host) -> int:
    return len(_online(host))


def physical_cores(host: Host) -> int:
    return len(
        {
            host.line(f"{CPU}/cpu{n}/topology/thread_siblings_list")
            for n in _online(host)
        }
    )


def sockets(host: Host) -> int:
    return len(
        {host.line(f"{CPU}/cpu{n}/topology/physical_package_id") for n in _online(host)}
    )


def smt_in_use(host: Host) -> bool:
    return logical_cpus(host) > physical_cores(host)


def caches(host: Host) -> list[str]:
    folders = host.glob(f"{CPU}/cpu0/cache/index[0-9]*")
    if not folders:
        raise Unavailable(f"{CPU}/cpu0/cache: no cache is listed")
    return [_cache(host, folder) for folder in folders]


def _cache(host: Host, folder: str) -> str:
    names = ("level", "type", "size", "shared_cpu_list", "coherency_line_size")
    level, kind, size, shared, line = (host.line(f"{folder}/{name}") for name in names)
    return f"L{level} {kind.lower()} {size}, {line} B lines, shared by CPU {shared}"


def governor(host: Host) -> str:
    return ", ".join(
        sorted({host.line(f"{policy}/scaling_governor") for policy in _policies(host)})
    )


def frequency_driver(host: Host) -> str:
    return ", ".join(
        sorted({host.line(f"{policy}/scaling_driver") for policy in _policies(host)})
    )


def frequency_range(host: Host) -> list[str]:
    return sorted({_limits(host, policy) for policy in _policies(host)})


def _limits(host: Host, policy: str) -> str:
    low, high = (
        host.number(f"{policy}/scaling_{end}_freq") // 1000 for end in ("min", "max")
    )
    return f"{low}-{high}"


def boost(host: Host) -> bool:
    if host.exists(f"{CPU}/intel_pstate/no_turbo"):
        return host.number(f"{CPU}/intel_pstate/no_turbo") == 0
    return host.number(f"{CPU}/cpufreq/boost") != 0


def frequency_now(host: Host) -> float:
    speeds = [float(block["cpu MHz"]) for block in host.cpuinfo if "cpu MHz" in block]
    if not speeds:
        raise Unavailable("/proc/cpuinfo: no line 'cpu MHz'")
    return round(sum(speeds) / len(speeds), 1)


def hypervisor(host: Host) -> str:
    if "flags" not in host.cpuinfo[0]:
        raise Unavailable(
            "/proc/cpuinfo: this architecture does not say whether it is virtual"
        )
    if "hypervisor" not in _flags(host):
        return "none seen"
    telling = ("/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor")
    return (
        ", ".join(host.line(path) for path in telling if host.exists(path))
        or "yes, of unknown make"
    )


def mitigations(host: Host) -> list[str]:
    files = host.glob(f"{CPU}/vulnerabilities/*")
    if not files:
        raise Unavailable(f"{CPU}/vulnerabilities: nothing is listed")
    states = [(os.path.basename(file), host.line(file)) for file in files]
    return [f"{name}: {state}" for name, state in states if state != "Not affected"]


def accelerators(host: Host) -> list[str] | str:
    nvidia = [
        host.field(file, "Model")
        for file in host.glob("/proc/driver/nvidia/gpus/*/information")
    ]
    found = nvidia or device_names()
    for card in host.glob("/sys/class/drm/card[0-9]") + host.glob(
        "/sys/class/accel/accel[0-9]*"
    ):
        vendor, device = (
            host.line(f"{card}/device/{name}") for name in ("vendor", "device")
        )
        if not (found and vendor == "0x10de"):  # NVIDIA's are already listed by name
            driver = host.link_name(f"{card}/device/driver")
            found.append(f"{os.path.basename(card)}: PCI {vendor}:{device}, {driver}")
    return found or NONE


def nvidia_driver(host: Host) -> str:
    path = "/proc/driver/nvidia/version"
    return host.line(path).splitlines()[0] if host.exists(path) else NONE


def _flags(host: Host) -> set[str]:
    first = host.cpuinfo[0]
    flags = first.get("flags", first.get("Features"))
    if flags is None:
        raise Unavailable("/proc/cpuinfo: no line 'flags' or 'Features'")
    return set(flags.split())


def _online(host: Host) -> list[int]:
    return cpu_list(host.line(f"{CPU}/online"))


def _policies(host: Host) -> list[str]:
    policies = host.glob(f"{CPU}/cpufreq/policy[0-9]*")
    if not policies:
        raise Unavailable(
            f"{CPU}/cpufreq: no policy is listed (a virtual machine, or no frequency driver)"
        )
    return policies
