"""Sign a bundle, and check who signed it.

What is signed is manifest.json, byte for byte: it holds the hash that names the result, and the hash of every other
file. Signatures and time stamps lie beside it, outside of what it hashes, so that any number can be added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bundle.encoding import MANIFEST
from ..bundle.reading import read_attestations
from ..errors import Deep500Error, Unsupported, Wrong, one_line
from .ssh_signature import (
    PublicKey,
    Signature,
    make_signature,
    parse_public_keys,
    parse_signature,
    require_cryptography,
)
from .verification import verify

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

NAMESPACE = "deep500-bundle"
STAMPS = {
    "ots": "`ots verify`",
    "tsq": "a request, no time stamp yet",
    "tsr": "`openssl ts -verify`",
}


@dataclass(frozen=True)
class Signed:
    """One signature that holds."""

    file: str
    key: PublicKey


@dataclass(frozen=True)
class Attestations:
    """The signatures of a bundle, checked, and its time stamps, which only their services can check."""

    signed: Sequence[Signed]
    problems: Sequence[str]
    stamps: Sequence[str]
    wanted: Sequence[str] | None = None  # fingerprints, one of which must have signed

    @property
    def by_wanted(self) -> list[Signed]:
        return [s for s in self.signed if s.key.fingerprint in (self.wanted or ())]

    @property
    def exit_code(self) -> int:
        if self.problems or (self.wanted is not None and not self.by_wanted):
            return 1
        return 0

    @property
    def lines(self) -> list[str]:
        lines = [f"signature {problem}" for problem in self.problems]
        for signed in self.signed:
            known = signed in self.by_wanted
            how = "as asked for" if known else "not checked against a known key"
            lines.append(f"signed by {signed.key.fingerprint} ({how})")
        if self.wanted is not None and not self.by_wanted:
            lines.insert(0, f"NOT SIGNED by {' or '.join(self.wanted)}")
        return lines + [self._stamp_line(name) for name in self.stamps]

    @staticmethod
    def _stamp_line(name: str) -> str:
        return (
            f"time stamp {name} (not checked here: {STAMPS[name.rpartition('.')[2]]})"
        )

    def to_json(self) -> dict[str, Any]:
        signed = [{"file": s.file, "key": s.key.fingerprint} for s in self.signed]
        return {
            "signed": signed,
            "wanted": None if self.wanted is None else list(self.wanted),
            "by_wanted": [s.file for s in self.by_wanted],
            "problems": list(self.problems),
            "stamps": list(self.stamps),
        }


def attestations(path: str | Path, signer: str | None = None) -> Attestations:
    """Check every signature of a bundle that verifies; `signer` is a file of public keys or a fingerprint."""
    wanted = None if signer is None else wanted_fingerprints(signer)
    manifest, said = read_attestations(path)
    signed: list[Signed] = []
    problems: list[str] = []
    stamps: list[str] = []
    for name, data in said.items():
        if not name.endswith(".sig"):
            stamps.append(name)
            continue
        try:
            signed.append(Signed(name, _checked(data, manifest).key))
        except Unsupported:
            raise
        except Deep500Error as error:
            problems.append(f"{name}: {one_line(error)}")
    return Attestations(signed, problems, stamps, wanted)


def sign(path: str | Path, key_file: Path, passphrase: Callable[[], bytes]) -> Signed:
    """Sign a bundle that verifies; `passphrase` is asked for a key that needs one."""
    folder = Path(path)
    if not folder.is_dir():
        raise Deep500Error(
            f"{folder} is not a folder: sign the bundle's folder, then zip it"
        )
    checked = verify(folder)
    if not checked.ok:
        raise Wrong(
            f"{folder} does not verify, nothing was signed: {checked.problems[0]}"
        )
    if not checked.finished:
        raise Deep500Error(
            f"{folder} is unfinished: only a finished bundle can be signed"
        )
    private_key = load_private_key(key_file, passphrase)
    manifest, _ = read_attestations(folder)
    signature = make_signature(private_key, manifest, NAMESPACE)
    name = f"{MANIFEST}.{signature.key.digest.hex()[:16]}.sig"
    try:
        (folder / name).write_text(signature.armoured(), encoding="ascii")
    except OSError as error:
        raise Deep500Error(
            f"{folder / name} cannot be written: {error.strerror}"
        ) from None
    return Signed(name, signature.key)


def load_private_key(
    file: Path, passphrase: Callable[[], bytes]
) -> "Ed25519PrivateKey":
    """The Ed25519 key of an OpenSSH private-key file."""
    require_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    data = _read_key(file)
    if b"PRIVATE KEY" not in data:
        raise Deep500Error(
            f"{file} is no private key of OpenSSH: give the file without .pub"
        )
    try:
        try:
            key = load_ssh_private_key(data, None)
        except TypeError:  # it has a passphrase
            key = load_ssh_private_key(data, passphrase())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Deep500Error(
            f"{file} cannot be used as a key ({one_line(error)}): give an OpenSSH Ed25519 key, and the right passphrase"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise Deep500Error(
            f"{file} is no Ed25519 key: make one with `ssh-keygen -t ed25519`"
        )
    return key


def wanted_fingerprints(signer: str) -> list[str]:
    """The keys of a file of public keys, or the fingerprint itself."""
    if signer.startswith("SHA256:"):
        return [signer]
    data = _read_key(Path(signer))
    if b"PRIVATE KEY" in data:
        raise Deep500Error(
            f"{signer} is a private key: give the public one, {signer}.pub"
        )
    try:
        keys = parse_public_keys(data.decode("utf-8", "replace"))
    except Deep500Error as error:
        raise Deep500Error(f"{signer} holds no usable key: {error}") from None
    if not keys:
        raise Deep500Error(
            f"{signer} holds no line `ssh-ed25519 …`: give an OpenSSH public key"
        )
    return [key.fingerprint for key in keys]


def _read_key(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise Deep500Error(f"the key {file} cannot be read: {error.strerror}") from None


def _checked(data: bytes, manifest: bytes) -> Signature:
    signature = parse_signature(data)
    if not signature.holds(manifest, NAMESPACE):
        raise Deep500Error(
            "does not hold: it is of another bundle or purpose, or was changed"
        )
    return signature
