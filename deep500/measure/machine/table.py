"""The one table of what is captured: class, fact, source, weight and the function that reads it.

To add a fact, add a row. The weight says what a difference of the fact can do between two measurements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from .host import (
    cgroups,
    compute,
    memory,
    network,
    own_source,
    setup,
    software,
    source,
    storage,
)
from .host.files import HostFiles

Weight = Literal["can change results", "can change speed", "context only"]

RESULTS: Weight = "can change results"
SPEED: Weight = "can change speed"
CONTEXT: Weight = "context only"
WEIGHTS = (RESULTS, SPEED, CONTEXT)  # what matters most first


class FactRow(NamedTuple):
    """One fact; without a probe it is the text of the file that `source` names."""

    fact: str
    source: str
    weight: Weight
    probe: Callable[[HostFiles], object] | None = None


def _variables(weight: Weight, *names: str) -> list[FactRow]:
    rows = []
    for name in names:
        probe = software.variable(name)
        rows.append(FactRow(name, "environment variable", weight, probe))
    return rows


def _packages(weight: Weight, *names: str) -> list[FactRow]:
    rows = []
    for name in names:
        probe = software.package(name)
        fact = f"package {name}"
        rows.append(FactRow(fact, "importlib.metadata", weight, probe))
    return rows


CPU = compute.CPU
CLOCKS = "/sys/devices/system/clocksource/clocksource0"
_PACKAGES = (
    "numpy",
    "scipy",
    "torch",
    "torchvision",
    "triton",
    "jax",
    "jaxlib",
    "tensorflow",
    "tensorflow-cpu",
    "keras",
    "onnx",
    "onnxruntime",
    "onnxruntime-gpu",
    "ml_dtypes",
    "numba",
    "mkl",
    "intel-openmp",
    "nvidia-cudnn-cu12",
    "nvidia-cublas-cu12",
    "mpi4py",
    "mpich",
    "openmpi",
)
_RESULT_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_DYNAMIC",
    "OMP_SCHEDULE",
    "MKL_DYNAMIC",
    "MKL_CBWR",
    "OPENBLAS_CORETYPE",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "TF_ENABLE_ONEDNN_OPTS",
    "TF_DETERMINISTIC_OPS",
    "XLA_FLAGS",
    "JAX_ENABLE_X64",
    "JAX_PLATFORMS",
    "CUDA_VISIBLE_DEVICES",
    "CUBLAS_WORKSPACE_CONFIG",
    "NVIDIA_TF32_OVERRIDE",
    "PYTHONHASHSEED",
    "LD_PRELOAD",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "SLURM_NTASKS",
)
_SPEED_VARIABLES = (
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_WAIT_POLICY",
    "GOMP_CPU_AFFINITY",
    "GOMP_SPINCOUNT",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "MALLOC_ARENA_MAX",
    "GLIBC_TUNABLES",
    "LD_LIBRARY_PATH",
    "PYTHONMALLOC",
    "SLURM_NNODES",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPU_BIND",
    "SLURM_DISTRIBUTION",
)

_HARDWARE_COMPUTE = (
    FactRow("cpu model", "/proc/cpuinfo", RESULTS, compute.cpu_model),
    FactRow("cpu stepping", "/proc/cpuinfo", RESULTS, compute.cpu_stepping),
    FactRow("instruction sets", "/proc/cpuinfo", RESULTS, compute.instruction_sets),
    FactRow("logical cpus", f"{CPU}/online", RESULTS, compute.logical_cpus),
    FactRow("physical cores", f"{CPU}/cpu*/topology", SPEED, compute.physical_cores),
    FactRow("sockets", f"{CPU}/cpu*/topology", SPEED, compute.sockets),
    FactRow("simultaneous multithreading", f"{CPU}/cpu*/topology", SPEED, compute.smt_in_use),
    FactRow("accelerators", "/proc/driver/nvidia, NVML, /sys/class", RESULTS, compute.accelerators),
    FactRow("nvidia driver", "/proc/driver/nvidia/version", RESULTS, compute.nvidia_driver),
    FactRow("caches", f"{CPU}/cpu0/cache", SPEED, compute.caches),
    FactRow("frequency governor", f"{CPU}/cpufreq", SPEED, compute.governor),
    FactRow("frequency driver", f"{CPU}/cpufreq", SPEED, compute.frequency_driver),
    FactRow("frequency limits (MHz)", f"{CPU}/cpufreq", SPEED, compute.frequency_range),
    FactRow("boost", f"{CPU}/intel_pstate/no_turbo, {CPU}/cpufreq/boost", SPEED, compute.boost),
    FactRow("hypervisor", "/proc/cpuinfo, /sys/hypervisor, /sys/class/dmi", SPEED, compute.hypervisor),
    FactRow("microcode", "/proc/cpuinfo", SPEED, compute.microcode),
    FactRow("mitigations", f"{CPU}/vulnerabilities", SPEED, compute.mitigations),
    FactRow("frequency now (MHz)", "/proc/cpuinfo", CONTEXT, compute.frequency_now),
)  # fmt: skip

_HARDWARE_MEMORY = (
    FactRow("memory size (GiB)", "/proc/meminfo", SPEED, memory.memory_size),
    FactRow("memory modules", "/sys/firmware/dmi/entries", SPEED, memory.memory_type),
    FactRow("numa nodes", "/sys/devices/system/node", SPEED, memory.numa_nodes),
    FactRow("transparent huge pages", memory.HUGE_PAGES, SPEED, memory.transparent_huge_pages),
    FactRow("huge pages", "/proc/meminfo", SPEED, memory.huge_pages),
    FactRow("swap size (GiB)", "/proc/meminfo", SPEED, memory.swap_size),
    FactRow("swap used (GiB)", "/proc/meminfo", CONTEXT, memory.swap_used),
    FactRow("memory available (GiB)", "/proc/meminfo", CONTEXT, memory.memory_available),
)  # fmt: skip

_HARDWARE_NETWORK = (
    FactRow("interfaces", "/sys/class/net", SPEED, network.interfaces),
    FactRow("infiniband", "/sys/class/infiniband", SPEED, network.infiniband),
    FactRow("tcp congestion control", "/proc/sys/net/ipv4/tcp_congestion_control", SPEED),
)  # fmt: skip

_SOFTWARE_COMPILER = (
    FactRow("c++ compiler", "--version of $CXX, g++, clang++ or c++", RESULTS, software.cpp_compiler),
    *_variables(RESULTS, "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "NVCC_APPEND_FLAGS"),
    FactRow("python compiler", "platform", SPEED, software.python_compiler),
    FactRow("python build flags", "sysconfig CFLAGS", SPEED, software.python_build("CFLAGS")),
    FactRow("python build options", "sysconfig CONFIG_ARGS", SPEED, software.python_build("CONFIG_ARGS")),
)  # fmt: skip

_SOFTWARE_RUNTIME = (
    FactRow("python", "platform", RESULTS, software.python_version),
    FactRow("blas of numpy", "numpy/__config__.py", RESULTS, software.numpy_blas),
    FactRow("blas loaded", "/proc/self/maps", RESULTS, software.blas_loaded),
    FactRow("openmp loaded", "/proc/self/maps", RESULTS, software.openmp_loaded),
    *_packages(RESULTS, *_PACKAGES),
    FactRow("mpi launcher", "mpiexec --version", RESULTS, software.mpi),
    FactRow("c library", "confstr", RESULTS, software.libc),
    FactRow("distribution", "/etc/os-release", SPEED, software.distribution),
    FactRow("kernel", "uname", SPEED, software.kernel),
    FactRow("kernel build", "uname", SPEED, software.kernel_build),
    FactRow("kernel settings", "/proc/cmdline", SPEED, software.kernel_settings),
    FactRow("address space randomisation", "/proc/sys/kernel/randomize_va_space", SPEED, software.aslr),
    FactRow("python flags", "sys.flags", SPEED, software.python_flags),
    FactRow("garbage collection", "gc", SPEED, software.garbage_collection),
)  # fmt: skip

_SOFTWARE_STORAGE = (
    FactRow("file system of the working folder", storage.MOUNTS, SPEED, storage.working_folder),
    FactRow("device of the working folder", "/sys/dev/block", SPEED, storage.working_device),
    FactRow("file system of the temporary folder", storage.MOUNTS, SPEED, storage.temporary_folder),
)  # fmt: skip

_PROGRAM = (
    *_packages(RESULTS, "deep500-bench"),
    FactRow("source of deep500", "SHA-256 of its .py files", RESULTS, own_source.package_source),
    FactRow("PYTHONPATH", "environment variable", RESULTS, own_source.python_path),
    FactRow("imported before the program", "sitecustomize, usercustomize", RESULTS, own_source.started_first),
    FactRow("main program", "__main__", RESULTS, source.main_program),
    FactRow("command line", "sys.orig_argv", CONTEXT, source.command_line),
    FactRow("python executable", "sys.executable", CONTEXT, source.executable),
)  # fmt: skip

_SETUP = (
    FactRow("usable cpus", "/proc/self/status", RESULTS, setup.usable_cpus),
    *_variables(RESULTS, *_RESULT_VARIABLES),
    *_variables(SPEED, *_SPEED_VARIABLES),
    FactRow("cpu quota (CPUs)", "/proc/self/cgroup, /sys/fs/cgroup", SPEED, cgroups.cpu_quota),
    FactRow("memory limit (GiB)", "/proc/self/cgroup, /sys/fs/cgroup", SPEED, cgroups.memory_limit),
    FactRow("clock source", f"{CLOCKS}/current_clocksource", SPEED),
    FactRow("clock sources offered", f"{CLOCKS}/available_clocksource", CONTEXT),
    FactRow("python clock", "time.get_clock_info", SPEED, setup.perf_counter),
    FactRow("scheduling", "/proc/self/stat", SPEED, setup.scheduling),
    FactRow("tracing", "sys.gettrace, sys.getprofile", SPEED, setup.tracing),
    FactRow("container", "/.dockerenv, /run, /proc/1/cgroup", SPEED, setup.container),
    FactRow("power source", "/sys/class/power_supply", SPEED, setup.power_source),
    FactRow("limit of stack", "/proc/self/limits", SPEED, setup.limit("Max stack size")),
    FactRow("limit of locked memory", "/proc/self/limits", SPEED, setup.limit("Max locked memory")),
    FactRow("limit of address space", "/proc/self/limits", SPEED, setup.limit("Max address space")),
    FactRow("limit of open files", "/proc/self/limits", CONTEXT, setup.limit("Max open files")),
    FactRow("cpu affinity", "/proc/self/status", CONTEXT, setup.affinity),
    FactRow("load (1 min)", "/proc/loadavg", CONTEXT, setup.load),
    FactRow("running tasks", "/proc/loadavg", CONTEXT, setup.running_tasks),
    FactRow("pressure on cpu (%)", "/proc/pressure/cpu", CONTEXT, setup.pressure("cpu")),
    FactRow("pressure on memory (%)", "/proc/pressure/memory", CONTEXT, setup.pressure("memory")),
    FactRow("pressure on io (%)", "/proc/pressure/io", CONTEXT, setup.pressure("io")),
    FactRow("cpu time stolen since boot (%)", "/proc/stat", CONTEXT, setup.stolen_time),
    FactRow("host name", "uname", CONTEXT, setup.host_name),
    FactRow("moment", "clock", CONTEXT, setup.moment),
    FactRow("time zone", "clock", CONTEXT, setup.time_zone),
    FactRow("hours since boot", "/proc/uptime", CONTEXT, setup.uptime),
)  # fmt: skip

_SOURCE_CODE = (
    FactRow("git commit", "git status", RESULTS, source.git_commit),
    FactRow("git branch", "git status", CONTEXT, source.git_branch),
    FactRow("git changed files", "git status", CONTEXT, source.git_changed_files),
    FactRow("git remote", "git config", CONTEXT, source.git_remote),
)  # fmt: skip

TABLE: dict[str, tuple[FactRow, ...]] = {
    "hardware compute": _HARDWARE_COMPUTE,
    "hardware memory": _HARDWARE_MEMORY,
    "hardware network": _HARDWARE_NETWORK,
    "software compiler": _SOFTWARE_COMPILER,
    "software runtime": _SOFTWARE_RUNTIME,
    "software storage": _SOFTWARE_STORAGE,
    "benchmark input and software": _PROGRAM,
    "benchmark measurement setup": _SETUP,
    "benchmark source code": _SOURCE_CODE,
}
