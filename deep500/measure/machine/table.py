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
    setup,
    software,
    source,
    storage,
)
from .host.files import Host

Weight = Literal["can change results", "can change speed", "context only"]

RESULTS: Weight = "can change results"
SPEED: Weight = "can change speed"
CONTEXT: Weight = "context only"
WEIGHTS = (RESULTS, SPEED, CONTEXT)  # what matters most first


class Row(NamedTuple):
    """One fact; without a probe it is the text of the file that `source` names."""

    fact: str
    source: str
    weight: Weight
    probe: Callable[[Host], object] | None = None


def _variables(weight: Weight, *names: str) -> list[Row]:
    rows = []
    for name in names:
        probe = software.variable(name)
        rows.append(Row(name, "environment variable", weight, probe))
    return rows


def _packages(weight: Weight, *names: str) -> list[Row]:
    rows = []
    for name in names:
        probe = software.package(name)
        fact = f"package {name}"
        rows.append(Row(fact, "importlib.metadata", weight, probe))
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
    Row("cpu model", "/proc/cpuinfo", RESULTS, compute.cpu_model),
    Row("cpu stepping", "/proc/cpuinfo", RESULTS, compute.cpu_stepping),
    Row("instruction sets", "/proc/cpuinfo", RESULTS, compute.instruction_sets),
    Row("logical cpus", f"{CPU}/online", RESULTS, compute.logical_cpus),
    Row("physical cores", f"{CPU}/cpu*/topology", SPEED, compute.physical_cores),
    Row("sockets", f"{CPU}/cpu*/topology", SPEED, compute.sockets),
    Row("simultaneous multithreading", f"{CPU}/cpu*/topology", SPEED, compute.smt_in_use),
    Row("accelerators", "/proc/driver/nvidia, NVML, /sys/class", RESULTS, compute.accelerators),
    Row("nvidia driver", "/proc/driver/nvidia/version", RESULTS, compute.nvidia_driver),
    Row("caches", f"{CPU}/cpu0/cache", SPEED, compute.caches),
    Row("frequency governor", f"{CPU}/cpufreq", SPEED, compute.governor),
    Row("frequency driver", f"{CPU}/cpufreq", SPEED, compute.frequency_driver),
    Row("frequency limits (MHz)", f"{CPU}/cpufreq", SPEED, compute.frequency_range),
    Row("boost", f"{CPU}/intel_pstate/no_turbo, {CPU}/cpufreq/boost", SPEED, compute.boost),
    Row("hypervisor", "/proc/cpuinfo, /sys/hypervisor, /sys/class/dmi", SPEED, compute.hypervisor),
    Row("microcode", "/proc/cpuinfo", SPEED, compute.microcode),
    Row("mitigations", f"{CPU}/vulnerabilities", SPEED, compute.mitigations),
    Row("frequency now (MHz)", "/proc/cpuinfo", CONTEXT, compute.frequency_now),
)  # fmt: skip

_HARDWARE_MEMORY = (
    Row("memory size (GiB)", "/proc/meminfo", SPEED, memory.memory_size),
    Row("memory modules", "/sys/firmware/dmi/entries", SPEED, memory.memory_type),
    Row("numa nodes", "/sys/devices/system/node", SPEED, memory.numa_nodes),
    Row("transparent huge pages", memory.HUGE_PAGES, SPEED, memory.transparent_huge_pages),
    Row("huge pages", "/proc/meminfo", SPEED, memory.huge_pages),
    Row("swap size (GiB)", "/proc/meminfo", SPEED, memory.swap_size),
    Row("swap used (GiB)", "/proc/meminfo", CONTEXT, memory.swap_used),
    Row("memory available (GiB)", "/proc/meminfo", CONTEXT, memory.memory_available),
)  # fmt: skip

_HARDWARE_NETWORK = (
    Row("interfaces", "/sys/class/net", SPEED, network.interfaces),
    Row("infiniband", "/sys/class/infiniband", SPEED, network.infiniband),
    Row("tcp congestion control", "/proc/sys/net/ipv4/tcp_congestion_control", SPEED),
)  # fmt: skip

_SOFTWARE_COMPILER = (
    Row("c++ compiler", "--version of $CXX, g++, clang++ or c++", RESULTS, software.cpp_compiler),
    *_variables(RESULTS, "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "NVCC_APPEND_FLAGS"),
    Row("python compiler", "platform", SPEED, software.python_compiler),
    Row("python build flags", "sysconfig CFLAGS", SPEED, software.python_build("CFLAGS")),
    Row("python build options", "sysconfig CONFIG_ARGS", SPEED, software.python_build("CONFIG_ARGS")),
)  # fmt: skip

_SOFTWARE_RUNTIME = (
    Row("python", "platform", RESULTS, software.python_version),
    Row("blas of numpy", "numpy/__config__.py", RESULTS, software.numpy_blas),
    Row("blas loaded", "/proc/self/maps", RESULTS, software.blas_loaded),
    Row("openmp loaded", "/proc/self/maps", RESULTS, software.openmp_loaded),
    *_packages(RESULTS, *_PACKAGES),
    Row("mpi launcher", "mpiexec --version", RESULTS, software.mpi),
    Row("c library", "confstr", RESULTS, software.libc),
    Row("distribution", "/etc/os-release", SPEED, software.distribution),
    Row("kernel", "uname", SPEED, software.kernel),
    Row("kernel build", "uname", SPEED, software.kernel_build),
    Row("kernel settings", "/proc/cmdline", SPEED, software.kernel_settings),
    Row("address space randomisation", "/proc/sys/kernel/randomize_va_space", SPEED, software.aslr),
    Row("python flags", "sys.flags", SPEED, software.python_flags),
    Row("garbage collection", "gc", SPEED, software.garbage_collection),
)  # fmt: skip

_SOFTWARE_STORAGE = (
    Row("file system of the working folder", storage.MOUNTS, SPEED, storage.working_folder),
    Row("device of the working folder", "/sys/dev/block", SPEED, storage.working_device),
    Row("file system of the temporary folder", storage.MOUNTS, SPEED, storage.temporary_folder),
)  # fmt: skip

_PROGRAM = (
    *_packages(RESULTS, "deep500-bench"),
    Row("main program", "__main__", RESULTS, source.main_program),
    Row("command line", "sys.orig_argv", CONTEXT, source.command_line),
    Row("python executable", "sys.executable", CONTEXT, source.executable),
)  # fmt: skip

_SETUP = (
    Row("usable cpus", "/proc/self/status", RESULTS, setup.usable_cpus),
    *_variables(RESULTS, *_RESULT_VARIABLES),
    *_variables(SPEED, *_SPEED_VARIABLES),
    Row("cpu quota (CPUs)", "/proc/self/cgroup, /sys/fs/cgroup", SPEED, cgroups.cpu_quota),
    Row("memory limit (GiB)", "/proc/self/cgroup, /sys/fs/cgroup", SPEED, cgroups.memory_limit),
    Row("clock source", f"{CLOCKS}/current_clocksource", SPEED),
    Row("clock sources offered", f"{CLOCKS}/available_clocksource", CONTEXT),
    Row("python clock", "time.get_clock_info", SPEED, setup.perf_counter),
    Row("scheduling", "/proc/self/stat", SPEED, setup.scheduling),
    Row("tracing", "sys.gettrace, sys.getprofile", SPEED, setup.tracing),
    Row("container", "/.dockerenv, /run, /proc/1/cgroup", SPEED, setup.container),
    Row("power source", "/sys/class/power_supply", SPEED, setup.power_source),
    Row("limit of stack", "/proc/self/limits", SPEED, setup.limit("Max stack size")),
    Row("limit of locked memory", "/proc/self/limits", SPEED, setup.limit("Max locked memory")),
    Row("limit of address space", "/proc/self/limits", SPEED, setup.limit("Max address space")),
    Row("limit of open files", "/proc/self/limits", CONTEXT, setup.limit("Max open files")),
    Row("cpu affinity", "/proc/self/status", CONTEXT, setup.affinity),
    Row("load (1 min)", "/proc/loadavg", CONTEXT, setup.load),
    Row("running tasks", "/proc/loadavg", CONTEXT, setup.running_tasks),
    Row("pressure on cpu (%)", "/proc/pressure/cpu", CONTEXT, setup.pressure("cpu")),
    Row("pressure on memory (%)", "/proc/pressure/memory", CONTEXT, setup.pressure("memory")),
    Row("pressure on io (%)", "/proc/pressure/io", CONTEXT, setup.pressure("io")),
    Row("cpu time stolen since boot (%)", "/proc/stat", CONTEXT, setup.stolen_time),
    Row("host name", "uname", CONTEXT, setup.host_name),
    Row("moment", "clock", CONTEXT, setup.moment),
    Row("time zone", "clock", CONTEXT, setup.time_zone),
    Row("hours since boot", "/proc/uptime", CONTEXT, setup.uptime),
)  # fmt: skip

_SOURCE_CODE = (
    Row("git commit", "git status", RESULTS, source.git_commit),
    Row("git branch", "git status", CONTEXT, source.git_branch),
    Row("git changed files", "git status", CONTEXT, source.git_changed_files),
    Row("git remote", "git config", CONTEXT, source.git_remote),
)  # fmt: skip

TABLE: dict[str, tuple[Row, ...]] = {
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
