"""Ed25519 signatures in OpenSSH's format (SSHSIG), the one of `ssh-keygen -Y sign` and `-Y verify`.

A signature covers a namespace and the hash of a message. The namespace states the purpose of the signature, so that one
that was made for another purpose is not valid here.
"""

import base64
import binascii
import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import Deep500Error, Unsupported

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
    )

MAGIC = b"SSHSIG"
VERSION = 1
TYPE = b"ssh-ed25519"
HASHES = (b"sha256", b"sha512")
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
COLUMNS = 70


@dataclass(frozen=True)
class PublicKey:
    """An Ed25519 key in OpenSSH's format."""

    raw: bytes

    @property
    def blob(self) -> bytes:
        return _strings(TYPE, self.raw)

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.blob).digest()

    @property
    def fingerprint(self) -> str:
        """The fingerprint as `ssh-keygen -l` prints it."""
        encoded = base64.b64encode(self.digest).decode()
        return "SHA256:" + encoded.rstrip("=")


@dataclass(frozen=True)
class SshSignature:
    """A signature and the key that it claims to be made with."""

    key: PublicKey
    namespace: bytes
    hash_name: bytes
    raw: bytes

    def holds(self, message: bytes, namespace: str) -> bool:
        """Whether the owner of `key` signed this message for this purpose."""
        require_cryptography()
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (
            Ed25519PublicKey,
        )

        if self.namespace != namespace.encode():
            return False
        signed = _signed_data(self.namespace, self.hash_name, message)
        public_key = Ed25519PublicKey.from_public_bytes(self.key.raw)
        try:
            public_key.verify(self.raw, signed)
        except InvalidSignature:
            return False
        return True

    def armoured(self) -> str:
        """The text of a signature file."""
        signature = _strings(TYPE, self.raw)
        parts = _strings(self.key.blob, self.namespace, b"", self.hash_name, signature)
        blob = MAGIC + struct.pack(">I", VERSION) + parts
        text = base64.b64encode(blob).decode()
        starts = range(0, len(text), COLUMNS)
        lines = [text[start : start + COLUMNS] for start in starts]
        return "\n".join([BEGIN, *lines, END, ""])


def require_cryptography() -> None:
    """Raise `Unsupported`, with the command that installs it, if the package `cryptography` is missing."""
    try:
        import cryptography as _  # noqa: F401
    except ImportError:
        raise Unsupported(
            "signatures need the package cryptography: pip install cryptography bcrypt"
        ) from None


def make_signature(
    private_key: "Ed25519PrivateKey", message: bytes, namespace: str
) -> SshSignature:
    """Sign a message for a purpose."""
    hash_name = b"sha512"
    signed = _signed_data(namespace.encode(), hash_name, message)
    raw_key = private_key.public_key().public_bytes_raw()
    signature = private_key.sign(signed)
    return SshSignature(PublicKey(raw_key), namespace.encode(), hash_name, signature)


def parse_signature(data: bytes) -> SshSignature:
    """Read a signature file; raises a Deep500Error if it is malformed, or made by a key of another type."""
    text = data.decode("ascii", "replace")
    stripped = [line.strip() for line in text.split("\n")]
    lines = [line for line in stripped if line]
    if len(lines) < 3 or lines[0] != BEGIN or lines[-1] != END:
        raise Deep500Error("not a signature file of OpenSSH")
    blob = _decoded("".join(lines[1:-1]))
    if blob[:6] != MAGIC or blob[6:10] != struct.pack(">I", VERSION):
        raise Deep500Error("not a signature of OpenSSH's version 1")
    key, namespace, _, hash_name, signature = _split(blob[10:], 5)
    if hash_name not in HASHES:
        raise Deep500Error("its hash is neither sha256 nor sha512")
    kind, raw = _split(signature, 2)
    if kind != TYPE or len(raw) != 64:
        raise Deep500Error(
            "not by an Ed25519 key (ssh-ed25519), the only type that is checked"
        )
    return SshSignature(_public_key(key), namespace, hash_name, raw)


def parse_public_keys(text: str) -> list[PublicKey]:
    """The Ed25519 keys of a file with one OpenSSH public key per line (id_ed25519.pub, authorized_keys, …)."""
    key_type = TYPE.decode()
    keys = []
    for line in text.splitlines():
        fields = line.split()
        if line.startswith("#") or key_type not in fields[:-1]:
            continue
        encoded = fields[fields.index(key_type) + 1]
        keys.append(_public_key(_decoded(encoded)))
    return keys


def _public_key(blob: bytes) -> PublicKey:
    kind, raw = _split(blob, 2)
    if kind != TYPE or len(raw) != 32:
        raise Deep500Error(
            "not an Ed25519 key (ssh-ed25519), the only type that is checked"
        )
    return PublicKey(raw)


def _signed_data(namespace: bytes, hash_name: bytes, message: bytes) -> bytes:
    """The data that the key signs: the purpose and the hash of the message, after the magic bytes of the format."""
    digest = hashlib.new(hash_name.decode(), message).digest()
    return MAGIC + _strings(namespace, b"", hash_name, digest)


def _strings(*parts: bytes) -> bytes:
    """Strings as SSH encodes them: each is preceded by its length in four bytes."""
    encoded = b""
    for part in parts:
        length = struct.pack(">I", len(part))
        encoded += length + part
    return encoded


def _split(data: bytes, count: int) -> list[bytes]:
    """Decode exactly `count` strings; raises a Deep500Error if there is too little or too much data."""
    parts = []
    for _ in range(count):
        end = 4 + int.from_bytes(data[:4], "big")
        if len(data) < end:
            raise Deep500Error("a key or signature that ends too early")
        parts.append(data[4:end])
        data = data[end:]
    if data:
        raise Deep500Error("a key or signature with something behind its end")
    return parts


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise Deep500Error("a key or signature that is no base64") from None
