"""sign a bundle with an Ed25519 key of OpenSSH: whoever has the public key can check who vouches for the result"""

import argparse
import sys
from pathlib import Path

from ..errors import Deep500Error
from . import options
from .output import print_json


def arguments(parser: argparse.ArgumentParser) -> None:
    options.bundle(parser, required=True)
    parser.add_argument(
        "--key",
        type=Path,
        required=True,
        metavar="FILE",
        help="the private key, such as ~/.ssh/id_ed25519",
    )


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.recording import find_bundle
    from ..bundle.records.signing import sign

    folder = find_bundle(args.bundle)
    signed = sign(folder, args.key, lambda: _passphrase(args.key, folder))
    signature = folder / signed.file
    if args.json:
        print_json({"signature": str(signature), "key": signed.key.fingerprint})
    else:
        print(f"signed by {signed.key.fingerprint}: {signature}")
    return 0


def _passphrase(key: Path, folder: Path) -> bytes:
    """Ask for the passphrase on the terminal; without one, raise a Deep500Error that suggests to use ssh-agent."""
    if not sys.stdin.isatty():
        from ..bundle.records.signing import NAMESPACE

        manifest = folder / "manifest.json"
        command = f"ssh-keygen -Y sign -n {NAMESPACE} -f {key} {manifest}"
        raise Deep500Error(
            f"{key} has a passphrase, and there is no terminal to ask on: `{command}` signs with ssh-agent"
        )
    from getpass import getpass

    return getpass(f"passphrase of {key}: ").encode()
