"""Facts of the benchmark: the program that runs, its input and its source code."""

from __future__ import annotations

import hashlib
import os
import sys

from .files import HostFiles, Unavailable
from .secrets import without_secrets, words_without_secrets

NO_CHECKOUT = "not a git checkout"


def command_line(host: HostFiles) -> list[str]:
    return words_without_secrets(sys.orig_argv)


def main_program(host: HostFiles) -> str:
    """Name and hash of the file that Python was started with; a #! line is left out, as it holds a local path."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if not path:
        return "no file (interactive, or python -c)"
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        first_line = file.readline()
        if not first_line.startswith(b"#!"):
            digest.update(first_line)
        digest.update(file.read())
    name = os.path.basename(path)
    return f"{name}, sha256 {digest.hexdigest()}"


def executable(host: HostFiles) -> str:
    return sys.executable


def git_commit(host: HostFiles) -> str:
    commit = _status(host, "# branch.oid ")
    if commit == "(initial)":
        raise Unavailable("a git checkout without a commit")
    return commit


def git_branch(host: HostFiles) -> str:
    return _status(host, "# branch.head ")


def git_changed_files(host: HostFiles) -> int:
    lines = _git_status(host).splitlines()
    return sum(not line.startswith("#") for line in lines)


def git_remote(host: HostFiles) -> str:
    git_branch(host)  # raises if this is no checkout
    try:
        url = host.command("git", "config", "--get", "remote.origin.url")
    except Unavailable as reason:
        # git's answer for a setting that is not there
        if "exit code 1:" in str(reason):
            return "no remote named origin"
        raise
    return without_secrets(url.strip())


def _status(host: HostFiles, start: str) -> str:
    for line in _git_status(host).splitlines():
        if line.startswith(start):
            return line.removeprefix(start).strip()
    raise Unavailable(f"git status prints no line {start.strip()!r}")


def _git_status(host: HostFiles) -> str:
    """One call for all facts; takes no lock, and starts no monitor program that a checkout may configure."""
    options = ("--no-optional-locks", "-c", "core.fsmonitor=false")
    try:
        return host.command("git", *options, "status", "--porcelain=v2", "--branch")
    except Unavailable as reason:
        if "not a git repository" in str(reason):
            raise Unavailable(NO_CHECKOUT) from None
        raise
