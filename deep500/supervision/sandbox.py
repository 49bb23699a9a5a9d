"""A process that runs a stranger's code: it sees its own folder and what it may read, no network, no other process.

`enter` is called in a new process before any of that code is loaded, and says which layers are in force: a machine
may forbid some of them. Linux only; standard library only.
"""

import ctypes
import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .kernel import end_with_parent
from .sandbox_user import lease_user

NEW_MOUNTS = 0x00020000  # of <sched.h>
NEW_USERS = 0x10000000
NEW_PROCESSES = 0x20000000
NEW_NETWORK = 0x40000000
NEW_MESSAGES = 0x08000000
READ_ONLY = 1  # of <sys/mount.h>
NO_SUID = 2
NO_DEVICES = 4
BIND = 4096
RECURSIVE = 16384
PRIVATE = 1 << 18
DETACH = 2
NO_NEW_PRIVILEGES = 38  # of <sys/prctl.h>
SET_ATTRIBUTES = 442  # of <sys/syscall.h>: mount_setattr, the same on every machine
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
AT_FDCWD = -100
AT_RECURSIVE = 0x8000
NOBODY = 65534
MIB = 1 << 20
DEVICES = ("null", "zero", "random", "urandom")
FACTS = ("cpuinfo", "meminfo", "stat")  # of /proc, that libraries read
LAYERS = ("network", "files", "processes", "user", "memory", "disk")


@dataclass(frozen=True)
class Limits:
    """How much a stranger's code may use."""

    seconds: float = 120.0
    memory_mib: int = 4096
    processes: int = 64  # threads count
    disk_mib: int = 256


@dataclass(frozen=True)
class Sandbox:
    """The folders that are seen, at their own places and read-only; those that are hidden in them; one to write in."""

    root: str  # an empty folder, over which the new root is mounted
    readable: Sequence[str]
    hidden: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)


def python_folders() -> list[str]:
    """What a Python with its packages needs to be read."""
    folders = [sys.prefix, sys.base_prefix, "/usr", "/bin", "/sbin", "/lib", "/lib64"]
    folders += ["/etc/ld.so.cache", "/etc/localtime", "/sys/devices/system/cpu"]
    folders += [path for path in sys.path if "packages" in path]
    folders += [os.path.realpath(path) for path in folders]  # what links lead to
    return [folder for folder in dict.fromkeys(folders) if os.path.lexists(folder)]


def enter(sandbox: Sandbox, main: Callable[[], None]) -> None:
    """Call `main` in a sandboxed process below this one and end like it; this process only waits."""
    layers = dict.fromkeys(LAYERS, "none: this system does not permit it")
    os.umask(0o022)  # another user has to find its way
    as_root = os.geteuid() == 0
    user = lease_user() if as_root else None
    if not as_root:
        # only a process of one thread may have a namespace of users, and libraries have started some here
        _go_on_below()
    flags = NEW_MOUNTS | NEW_PROCESSES | NEW_NETWORK | NEW_MESSAGES
    isolated = _unshared(flags, as_root)
    if isolated:
        layers["network"] = "own, with nothing in it"
    _go_on_below()
    if user is not None:
        user.close()  # the process above keeps it
    is_counted = user is not None
    if not as_root:
        is_counted = isolated and _counts_by_namespace(os.uname().release)
    if isolated:
        counting = "" if is_counted else ", which only the judge counts"
        layers["processes"] = f"own, at most {sandbox.limits.processes}{counting}"
        _isolate_files(sandbox, layers)
    _limit(sandbox.limits, layers, is_counted)
    number = user.number if user is not None else NOBODY
    _give_up_rights(number if as_root else None, layers)
    os.environ.clear()
    os.environ |= {"PATH": "/usr/bin", "HOME": "/tmp", "DEEP500_HOME": "/tmp/home"}
    # libraries ask for a name, and no file here has one for this user
    os.environ |= {"USER": "nobody", "LOGNAME": "nobody"}
    os.environ |= {"D5_SANDBOX": ";".join(f"{k}={v}" for k, v in layers.items())}
    main()


def waiting_in_between() -> int:
    """How many processes of ours wait between the one that calls `enter` and the sandboxed one, for this user."""
    return 0 if os.geteuid() == 0 else 1


def layers_in_force() -> dict[str, str]:
    """What `enter` has achieved, in the sandboxed process."""
    told = os.environ.get("D5_SANDBOX", "")
    return dict(layer.split("=", 1) for layer in told.split(";") if "=" in layer)


def _unshared(flags: int, as_root: bool) -> bool:
    """Leave the namespaces of the system; a user without rights needs one of users first."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if not as_root:
        flags |= NEW_USERS
    if libc.unshare(flags):
        return False
    if not as_root:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def _go_on_below() -> None:
    """Return in a new process; this one waits for its end, and ends as it does."""
    child = os.fork()
    if child == 0:
        end_with_parent(signal.SIGKILL)
        return
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code & 255 if code >= 0 else 128 - code)


def _isolate_files(sandbox: Sandbox, layers: dict[str, str]) -> None:
    try:
        _new_root(sandbox)
    except OSError as error:
        layers["files"] = f"none: {error.strerror}"
        return
    layers["files"] = "read-only, of Python and the submission alone"
    layers["disk"] = f"{sandbox.limits.disk_mib} MiB in memory"


def _new_root(sandbox: Sandbox) -> None:
    root = sandbox.root
    size = f"size={sandbox.limits.disk_mib}m,mode=755,nr_inodes=20000"
    _mount("none", "/", "", RECURSIVE | PRIVATE)
    _mount("tmpfs", root, "tmpfs", NO_SUID | NO_DEVICES, size)
    for source in _outermost(sandbox.readable):
        _show(source, root + source)
    for path in sandbox.hidden:
        if os.path.lexists(root + path):
            _hide(root + path)
    os.makedirs(root + "/dev", exist_ok=True)
    for name in DEVICES:
        _bind_file(f"/dev/{name}", f"{root}/dev/{name}")
    os.makedirs(root + "/proc", exist_ok=True)
    try:
        _mount("proc", root + "/proc", "proc", NO_SUID | NO_DEVICES)
    except OSError:  # inside of most containers
        for name in FACTS:
            _bind_file(f"/proc/{name}", f"{root}/proc/{name}")
    for name in ("/tmp", "/dev/shm"):
        os.makedirs(root + name, exist_ok=True)
        os.chmod(root + name, 0o777)
    old = root + "/old"
    os.mkdir(old)
    libc = ctypes.CDLL(None, use_errno=True)
    number = PIVOT_ROOT.get(os.uname().machine, -1)
    _check(libc.syscall(number, root.encode(), old.encode()), "pivot_root")
    os.chdir("/")
    _check(libc.umount2(b"/old", DETACH), "umount2")
    os.rmdir("/old")
    os.chdir("/tmp")


def _outermost(paths: Sequence[str]) -> list[str]:
    """The paths that lie in no other of them, so that none is mounted twice."""
    kept: list[str] = []
    for path in sorted({os.path.abspath(path) for path in paths}):
        if not any(path.startswith(outer + "/") for outer in kept):
            kept.append(path)
    return kept


def _show(source: str, target: str) -> None:
    """The same path below the new root, read-only."""
    if os.path.islink(source):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(os.readlink(source), target)
        return
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
        _mount(source, target, "", BIND | RECURSIVE)
    else:
        _bind_file(source, target)
    _make_read_only(target)


def _bind_file(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb"):
        pass
    _mount(source, target, "", BIND)


def _hide(target: str) -> None:
    """Put an empty folder, or an empty file, over a path."""
    if os.path.isdir(target):
        _mount("tmpfs", target, "tmpfs", READ_ONLY, "size=4k")
    else:
        _mount("/dev/null", target, "", BIND)


def _make_read_only(target: str) -> None:
    attributes = (ctypes.c_uint64 * 4)(READ_ONLY | NO_SUID | NO_DEVICES, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.syscall(
        SET_ATTRIBUTES,
        AT_FDCWD,
        target.encode(),
        AT_RECURSIVE,
        ctypes.byref(attributes),
        ctypes.sizeof(attributes),
    )
    _check(failed, "mount_setattr")


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.mount(
        source.encode(), target.encode(), kind.encode(), flags, data.encode() or None
    )
    _check(failed, f"mount {target}")


def _check(failed: int, what: str) -> None:
    if failed:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _counts_by_namespace(release: str) -> bool:
    """Whether this Linux counts the processes of a user in each namespace of users apart."""
    numbers = re.match(r"(\d+)\.(\d+)", release)
    return numbers is not None and tuple(map(int, numbers.groups())) >= (5, 14)


def _limit(limits: Limits, layers: dict[str, str], is_counted: bool) -> None:
    """Bound what may be used; processes only if those of others are not counted with them."""
    bytes_ = limits.memory_mib * MIB
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_DATA, bytes_)
    _lower(resource.RLIMIT_FSIZE, limits.disk_mib * MIB)
    _lower(resource.RLIMIT_NOFILE, 256)
    if is_counted:
        # one beyond the limit, so that the judge sees that it is exceeded
        beyond = waiting_in_between() + 1
        _lower(resource.RLIMIT_NPROC, limits.processes + beyond)
    layers["memory"] = f"{limits.memory_mib} MiB for each process"


def _give_up_rights(user: int | None, layers: dict[str, str]) -> None:
    """Become this user, or without one stay the same; neither can get any right."""
    if user is not None:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(user, user, user)
        layers["user"] = "one of its own, without rights"
        if user == NOBODY:
            layers["user"] = "nobody, without rights"
    else:
        layers["user"] = "the organiser's own, without rights outside"
    ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def _lower(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))
