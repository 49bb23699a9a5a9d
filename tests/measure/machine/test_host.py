"""Facts read from planted files: what each function makes of them, and of files that are missing or odd."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500.measure.machine.host import (
    cgroups,
    compute,
    files,
    memory,
    network,
    setup,
    software,
    source,
    storage,
)
from deep500.measure.machine.host.files import HostFiles, Unavailable, cpu_list
from deep500.measure.machine.host.secrets import without_secrets, words_without_secrets

CPU = "/sys/devices/system/cpu"
CPUINFO = """processor\t: 0
model name\t: Planted CPU 9000
cpu family\t: 6
model\t\t: 85
stepping\t: 7
microcode\t: 0x5003
cpu MHz\t\t: 2100.5
flags\t\t: fpu smep avx2 avx512f amx_tile fma

processor\t: 1
model name\t: Planted CPU 9000
microcode\t: 0x5003
cpu MHz\t\t: 2099.5
flags\t\t: fpu smep avx2 avx512f amx_tile fma
"""
TREE = {
    "/proc/cpuinfo": CPUINFO,
    f"{CPU}/online": "0-1\n",
    **{f"{CPU}/cpu{n}/topology/thread_siblings_list": "0-1\n" for n in (0, 1)},
    **{f"{CPU}/cpu{n}/topology/physical_package_id": "0\n" for n in (0, 1)},
    f"{CPU}/cpu0/cache/index0/level": "1\n",
    f"{CPU}/cpu0/cache/index0/type": "Data\n",
    f"{CPU}/cpu0/cache/index0/size": "48K\n",
    f"{CPU}/cpu0/cache/index0/shared_cpu_list": "0-1\n",
    f"{CPU}/cpu0/cache/index0/coherency_line_size": "64\n",
    f"{CPU}/cpufreq/policy0/scaling_governor": "powersave\n",
    f"{CPU}/cpufreq/policy1/scaling_governor": "performance\n",
    f"{CPU}/cpufreq/policy0/scaling_min_freq": "800000\n",
    f"{CPU}/cpufreq/policy0/scaling_max_freq": "3900000\n",
    f"{CPU}/cpufreq/policy1/scaling_min_freq": "800000\n",
    f"{CPU}/cpufreq/policy1/scaling_max_freq": "3900000\n",
    f"{CPU}/intel_pstate/no_turbo": "0\n",
    f"{CPU}/vulnerabilities/meltdown": "Not affected\n",
    f"{CPU}/vulnerabilities/spectre_v1": "Mitigation: barriers\n",
    "/proc/driver/nvidia/gpus/0000:3b:00.0/information": "Model: \t\t Planted GPU\nIRQ:   40\n",
    "/proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapTotal: 2097152 kB\n"
    "SwapFree: 1048576 kB\nHugePages_Total: 4\n",
    memory.HUGE_PAGES: "always [madvise] never\n",
    "/sys/devices/system/node/node0/cpulist": "0-1\n",
    "/sys/class/net/eth0/operstate": "up\n",
    "/sys/class/net/eth0/speed": "25000\n",
    "/sys/class/net/eth0/mtu": "9000\n",
    "/sys/class/net/idle0/operstate": "down\n",
    "/sys/class/infiniband/mlx5_0/ports/1/rate": "200 Gb/sec (4X HDR)\n",
    "/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
    "/proc/stat": "cpu 10 0 10 70 0 0 0 10 0 0\n",
    "/proc/pressure/io": "some avg10=1.25 avg60=0.00 avg300=0.00 total=1\n",
    "/proc/self/limits": "Limit  Soft Limit\nMax stack size    8388608    unlimited  bytes\n",
    "/proc/self/stat": "7 (odd) name) R " + " ".join(str(field) for field in range(4, 53)),
    "/proc/cmdline": "quiet password=hunter2 isolcpus=1 mitigations=off\n",
    "/proc/self/mountinfo": "1 0 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n2 1 0:5 / /proc rw - proc proc rw\n",
    "/sys/dev/block/8:1/queue/rotational": "0\n",
    "/sys/dev/block/8:1/queue/scheduler": "[none] mq-deadline\n",
    "/sys/class/power_supply/AC/type": "Mains\n",
    "/sys/class/power_supply/AC/online": "0\n",
    "/proc/1/cgroup": "0::/kubepods/pod1\n",
}  # fmt: skip
EXPECTED: list[tuple[Callable[[HostFiles], object], object]] = [
    (compute.cpu_model, "Planted CPU 9000"),
    (compute.cpu_stepping, "cpu family 6 model 85 stepping 7"),
    (compute.instruction_sets, ["amx_tile", "avx2", "avx512f", "fma"]),
    (compute.microcode, "0x5003"),
    (compute.logical_cpus, 2),
    (compute.physical_cores, 1),
    (compute.sockets, 1),
    (compute.smt_in_use, True),
    (compute.caches, ["L1 data 48K, 64 B lines, shared by CPU 0-1"]),
    (compute.governor, "performance, powersave"),
    (compute.frequency_range, ["800-3900"]),
    (compute.boost, True),
    (compute.frequency_now, 2100.0),
    (compute.hypervisor, "none seen"),
    (compute.mitigations, ["spectre_v1: Mitigation: barriers"]),
    (compute.accelerators, ["Planted GPU"]),
    (memory.memory_size, 16.0),
    (memory.swap_used, 1.0),
    (memory.huge_pages, 4),
    (memory.transparent_huge_pages, "madvise"),
    (memory.numa_nodes, ["node0: CPU 0-1"]),
    (network.interfaces, ["eth0: virtual, 25000 Mb/s, up, MTU 9000"]),
    (network.infiniband, ["mlx5_0/1: 200 Gb/sec (4X HDR), 4: ACTIVE"]),
    (setup.stolen_time, 10.0),
    (setup.pressure("io"), 1.25),
    (setup.limit("Max stack size"), "8388608"),
    (
        setup.scheduling,
        "41, nice 19",
    ),  # each planted field holds its own number in proc(5)
    (setup.power_source, "battery"),
    (setup.container, ["kubepods"]),
    (software.kernel_settings, ["isolcpus=1", "mitigations=off"]),
    (storage.working_folder, "ext4 on /dev/sda1, rw,relatime"),
    (storage.working_device, "not rotating, scheduler none"),
]


def plant(root: Path, tree: dict[str, str]) -> HostFiles:
    for path, text in tree.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return HostFiles(root)


@pytest.mark.parametrize(
    ("probe", "value"), EXPECTED, ids=lambda item: getattr(item, "__qualname__", None)
)
def test_a_planted_machine_is_read_as_planted(
    tmp_path: Path, probe: Callable[[HostFiles], object], value: object
) -> None:
    assert probe(plant(tmp_path, TREE)) == value


def test_a_memory_module_is_decoded(tmp_path: Path) -> None:
    raw = bytearray(0x28)
    raw[0x0C:0x0E], raw[0x12], raw[0x15:0x17] = (
        (16384).to_bytes(2, "little"),
        0x1A,
        (3200).to_bytes(2, "little"),
    )
    # the last socket is empty
    for slot, content in enumerate((bytes(raw), bytes(raw), bytes(0x28))):
        folder = tmp_path / f"sys/firmware/dmi/entries/17-{slot}"
        folder.mkdir(parents=True)
        (folder / "raw").write_bytes(content)
    assert memory.memory_type(HostFiles(tmp_path)) == ["2 x DDR4 at 3200 MT/s"]


@pytest.mark.parametrize(
    ("tree", "quota", "limit"),
    [
        ({"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/cpu.max": "150000 100000\n",
          "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
          "/sys/fs/cgroup/cpu.max": "400000 100000\n", "/sys/fs/cgroup/a/b/memory.max": "1073741824\n"}, 1.5, 1.0),
        ({"/proc/self/cgroup": "4:cpu,cpuacct:/job\n3:memory:/job\n0::/\n",
          "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "50000\n",
          "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
          "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
          "/sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n"}, 0.5, "no limit"),
        ({"/proc/self/cgroup": "0::/../../host/path\n", "/sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2.0, "no limit"),
        ({"/proc/self/cgroup": "0::/\n"}, "no limit", "no limit"),
    ],
    ids=["v2, the tighter group above", "v1", "inside a container", "top group"],
)  # fmt: skip
def test_quotas_of_control_groups(
    tmp_path: Path, tree: dict[str, str], quota: object, limit: object
) -> None:
    host = plant(tmp_path, tree)
    assert (cgroups.cpu_quota(host), cgroups.memory_limit(host)) == (quota, limit)


def test_an_odd_file_is_a_reason_that_names_it(tmp_path: Path) -> None:
    host = plant(
        tmp_path, {f"{CPU}/intel_pstate/no_turbo": "maybe\n", f"{CPU}/online": "3-1\n"}
    )
    # a folder cannot be read, not even by root
    (tmp_path / "proc/cpuinfo").mkdir(parents=True)
    for probe, reason in (
        (compute.boost, "no_turbo: 'maybe' is not a whole number"),
        (compute.logical_cpus, "'3-1' is not a range"),
        (compute.cpu_model, "/proc/cpuinfo: Is a directory"),
        (compute.governor, "no policy is listed"),
        (setup.load, "/proc/loadavg: No such file or directory"),
    ):
        with pytest.raises(Unavailable, match=reason):
            probe(host)


@given(st.sets(st.integers(0, 300)))
def test_lists_of_cpus_are_read_back(numbers: set[int]) -> None:
    assert cpu_list(",".join(map(str, sorted(numbers)))) == sorted(numbers)
    assert cpu_list("0-3,8") == [0, 1, 2, 3, 8]


def test_a_command_that_is_missing_fails_or_hangs_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (
        ("bad", "echo broken >&2; exit 3"),
        ("slow", "exec sleep 5"),
        ("good", "echo 1.0"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(files, "COMMAND_TIMEOUT_S", 0.2)
    host = HostFiles()
    assert host.command("good").strip() == "1.0"
    for name, reason in (
        ("bad", "exit code 3: broken"),
        ("slow", "within 0.2 s"),
        ("none", "not on PATH"),
    ):
        with pytest.raises(Unavailable, match=reason):
            host.command(name)


def test_the_state_of_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> str:
        settings = (
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.c",
            "-c",
            "commit.gpgsign=false",
        )
        done = subprocess.run(
            ("git", *settings, *words), check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    for probe in (source.git_commit, source.git_changed_files, source.git_remote):
        with pytest.raises(Unavailable, match="not a git checkout"):
            probe(HostFiles())
    git("init", "-q", "-b", "trunk")
    with pytest.raises(Unavailable, match="without a commit"):
        source.git_commit(HostFiles())
    Path("code.py").write_text("1\n")
    git("add", "."), git("commit", "-q", "-m", "one")
    assert source.git_commit(HostFiles()) == git("rev-parse", "HEAD")
    assert (source.git_changed_files(HostFiles()), source.git_remote(HostFiles())) == (
        0,
        "no remote named origin",
    )
    Path("code.py").write_text("2\n")
    git("remote", "add", "origin", "https://me:hunter2@example.org/code.git")
    assert (source.git_changed_files(HostFiles()), source.git_branch(HostFiles())) == (
        1,
        "trunk",
    )
    assert source.git_remote(HostFiles()) == "https://***@example.org/code.git"


@pytest.mark.parametrize(
    "text",
    [
        "https://me:hunter2@example.org", "--api-key=hunter2", "--password hunter2", "HF_TOKEN=hunter2",
        "{'secret': 'hunter2'}", 'aws_secret_access_key = "hunter2 hunter2"', "Authorization: Basic hunter2",
        "curl -H 'Bearer hunter2'", "postgres://u:hunter2@db/x?y=1", "MY_PASSWORD: hunter2",
        "d5 -v --auth-token 'hunter2'", "--quiet --password hunter2",
    ],
)  # fmt: skip
def test_secrets_are_hidden(text: str) -> None:
    assert "hunter2" not in without_secrets(text)


def test_what_is_no_secret_is_shown() -> None:
    for text in (
        "sorted(x, key=len)",
        "max_tokens=100",
        "-O3 -march=native",
        "git@example.org:code.git",
        "a @ b",
    ):
        assert without_secrets(text) == text
    words = ["d5", "--token", "hunter2", "--budget", "5"]
    assert words_without_secrets(words) == ["d5", "--token", "***", "--budget", "5"]
