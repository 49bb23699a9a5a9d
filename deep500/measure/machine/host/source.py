"""Facts of the benchmark: the program that runs, its input and its source code."""

from __future__ import annotations

import hashlib
import os
import sys

from .files import Host, Unavailable
from .secrets import without_secrets, words_without_secrets

NO_CHECKOUT = "not a git checkout"


def command_line(host: Host) -> list[str]:
    return words_without_secrets(sys.orig_argv)


def main_program(host: Host) -> str:
    """Name and hash of the file that Python was started with, but for a #! line: it names a place."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if not path:
        return "no file (interactive, or python -c)"
    with open(path, "rb") as file:
        first, rest = file.readline(), file.read()
    content = rest if first.startswith(b"#!") else first + rest
    return f"{os.path.basename(path)}, sha256 {hashlib.sha256(content).hexdigest()}"


def executable(host: Host) -> str:
    return sys.executable


def git_commit(host: Host) -> str:
    commit = _status(host, "# branch.oid ")
    if commit == "(initial)":
        raise Unavailable("a git checkout without a commit")
    return commit


def git_branch(host: Host) -> str:
    return _status(host, "# branch.head ")


def git_changed_files(host: Host) -> int:
    return sum(1 for line in _git_status(host).splitlines() if not line.startswith("#"))


def git_remote(host: Host) -> str:
    git_branch(host)  # says so if this is no checkout
    try:
        return without_secrets(
            host.command("git", "config", "--get", "remote.origin.url").strip()
        )
    except Unavailable as reason:
        if "exit code 1:" in str(
            reason
        ):  # git's answer for a setting that is not there
            return "no remote named origin"
        raise


def _status(host: Host, start: str) -> str:
    for line in _git_status(host).splitlines():
        if line.startswith(start):
            return line.removeprefix(start).strip()
    raise Unavailable(f"git status prints no line {start.strip()!r}")


def _git_status(host: Host) -> str:
    """One call for all facts; takes no lock, and starts no monitor program that a checkout may configure."""
    try:
        return host.command(
            "git", "--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain=v2", "--branch"
        )  # fmt: skip
    except Unavailable as reason:
        raise Unavailable(
            NO_CHECKOUT if "not a git repository" in str(reason) else str(reason)
        ) from None
