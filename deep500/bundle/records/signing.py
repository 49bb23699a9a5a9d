"""Signs bundles, and checks who signed them.

A signature covers manifest.json, byte for byte, which holds the hash of the result and the hash of every other file.
Signatures and time stamps are files beside it that the manifest does not cover, so that any number can be added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Deep500Error, Unsupported, Wrong, one_line
from ..encoding import MANIFEST
from ..reading import read_attestations
from .ssh_signature import (
    PublicKey,
    SshSignature,
    make_signature,
    parse_public_keys,
    parse_signature,
    require_cryptography,
)
from .verification import verify

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
    )

NAMESPACE = "deep500-bundle"
STAMPS = {
    "ots": "`ots verify`",
    "tsq": "a request, no time stamp yet",
    "tsr": "`openssl ts -verify`",
}


@dataclass(frozen=True)
class Signed:
    """One valid signature."""

    file: str
    key: PublicKey


@dataclass(frozen=True)
class Attestations:
    """The signatures of a bundle, checked, and its time stamps, which only their services can check."""

    signed: Sequence[Signed]
    problems: Sequence[str]
    stamps: Sequence[str]
    # fingerprints, one of which must have signed
    signers: Sequence[str] | None = None

    @property
    def by_signers(self) -> list[Signed]:
        """The signatures by one of the required signers."""
        signers = self.signers or ()
        return [signed for signed in self.signed if signed.key.fingerprint in signers]

    @property
    def lacks_signer(self) -> bool:
        """Whether signers are required and none of them has signed."""
        return self.signers is not None and not self.by_signers

    @property
    def exit_code(self) -> int:
        return 1 if self.problems or self.lacks_signer else 0

    @property
    def lines(self) -> list[str]:
        lines = []
        if self.signers is not None and self.lacks_signer:
            lines.append(f"NOT SIGNED by {' or '.join(self.signers)}")
        lines += [f"signature {problem}" for problem in self.problems]
        for signed in self.signed:
            how = "not checked against a known key"
            if signed in self.by_signers:
                how = "as asked for"
            lines.append(f"signed by {signed.key.fingerprint} ({how})")
        lines += [self._stamp_line(name) for name in self.stamps]
        return lines

    @staticmethod
    def _stamp_line(name: str) -> str:
        ending = name.rpartition(".")[2]
        return f"time stamp {name} (not checked here: {STAMPS[ending]})"

    def to_json(self) -> dict[str, Any]:
        signed_files = []
        for signed in self.signed:
            entry = {"file": signed.file, "key": signed.key.fingerprint}
            signed_files.append(entry)
        signers = None
        if self.signers is not None:
            signers = list(self.signers)
        return {
            "signed": signed_files,
            "wanted": signers,
            "by_wanted": [signed.file for signed in self.by_signers],
            "problems": list(self.problems),
            "stamps": list(self.stamps),
        }


def attestations(path: str | Path, signer: str | None = None) -> Attestations:
    """Check every signature of a bundle that verifies; `signer` is a file of public keys or a fingerprint."""
    signers = None
    if signer is not None:
        signers = signer_fingerprints(signer)
    manifest, files = read_attestations(path)
    signed: list[Signed] = []
    problems: list[str] = []
    stamps: list[str] = []
    for name, data in files.items():
        if not name.endswith(".sig"):
            stamps.append(name)
            continue
        try:
            signature = _checked(data, manifest)
            signed.append(Signed(name, signature.key))
        except Unsupported:
            raise
        except Deep500Error as error:
            problems.append(f"{name}: {one_line(error)}")
    return Attestations(signed, problems, stamps, signers)


def sign(path: str | Path, key_file: Path, passphrase: Callable[[], bytes]) -> Signed:
    """Sign a bundle that verifies; `passphrase` is called if the key needs one."""
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
    key_id = signature.key.digest.hex()[:16]
    name = f"{MANIFEST}.{key_id}.sig"
    file = folder / name
    try:
        file.write_text(signature.armoured(), encoding="ascii")
    except OSError as error:
        raise Deep500Error(f"{file} cannot be written: {error.strerror}") from None
    return Signed(name, signature.key)


def load_private_key(
    file: Path, passphrase: Callable[[], bytes]
) -> "Ed25519PrivateKey":
    """The Ed25519 key of an OpenSSH private-key file."""
    require_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
    )
    from cryptography.hazmat.primitives.serialization import (
        load_ssh_private_key,
    )

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
            f"{file} cannot be used as a key ({one_line(error)}): "
            "give an OpenSSH Ed25519 key, and the right passphrase"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise Deep500Error(
            f"{file} is no Ed25519 key: make one with `ssh-keygen -t ed25519`"
        )
    return key


def signer_fingerprints(signer: str) -> list[str]:
    """The fingerprints of the keys in a file of public keys, or the fingerprint itself."""
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


def _checked(data: bytes, manifest: bytes) -> SshSignature:
    signature = parse_signature(data)
    if not signature.holds(manifest, NAMESPACE):
        raise Deep500Error(
            "does not hold: it is of another bundle or purpose, or was changed"
        )
    return signature
