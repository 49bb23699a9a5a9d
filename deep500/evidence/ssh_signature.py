"""Ed25519 signatures in OpenSSH's format (SSHSIG), which `ssh-keygen -Y sign` and `-Y verify` write and read as well.

A signature is of a namespace and the hash of a message. The namespace says what a signature is for, so that one that
was given for something else is worth nothing here.
"""

import base64
import binascii
import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import Deep500Error, Unsupported

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAGIC = b"SSHSIG"
VERSION = 1
TYPE = b"ssh-ed25519"
HASHES = (b"sha256", b"sha512")
BEGIN, END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
COLUMNS = 70


@dataclass(frozen=True)
class PublicKey:
    """An Ed25519 key, as OpenSSH spells it."""

    raw: bytes

    @property
    def blob(self) -> bytes:
        return _strings(TYPE, self.raw)

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.blob).digest()

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it."""
        return "SHA256:" + base64.b64encode(self.digest).decode().rstrip("=")


@dataclass(frozen=True)
class Signature:
    """A signature and the key that it says it was made with."""

    key: PublicKey
    namespace: bytes
    hash_name: bytes
    raw: bytes

    def holds(self, message: bytes, namespace: str) -> bool:
        """Whether the owner of `key` signed this message for this purpose."""
        require_cryptography()
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if self.namespace != namespace.encode():
            return False
        signed = _signed_data(self.namespace, self.hash_name, message)
        try:
            Ed25519PublicKey.from_public_bytes(self.key.raw).verify(self.raw, signed)
        except InvalidSignature:
            return False
        return True

    def armoured(self) -> str:
        """The text of a signature file."""
        parts = _strings(
            self.key.blob, self.namespace, b"", self.hash_name, _strings(TYPE, self.raw)
        )
        text = base64.b64encode(MAGIC + struct.pack(">I", VERSION) + parts).decode()
        lines = [text[i : i + COLUMNS] for i in range(0, len(text), COLUMNS)]
        return "\n".join([BEGIN, *lines, END, ""])


def require_cryptography() -> None:
    """Raises `Unsupported`, with the command that installs it, if the package `cryptography` is missing."""
    try:
        import cryptography as _  # noqa: F401
    except ImportError:
        raise Unsupported(
            "signatures need the package cryptography: pip install cryptography bcrypt"
        ) from None


def make_signature(
    private_key: "Ed25519PrivateKey", message: bytes, namespace: str
) -> Signature:
    """Sign a message for a purpose."""
    hash_name = b"sha512"
    signed = _signed_data(namespace.encode(), hash_name, message)
    key = PublicKey(private_key.public_key().public_bytes_raw())
    return Signature(key, namespace.encode(), hash_name, private_key.sign(signed))


def parse_signature(data: bytes) -> Signature:
    """Read a signature file; a Deep500Error for what is none, or is by a key of another type."""
    lines = data.decode("ascii", "replace").split("\n")
    stripped = [line.strip() for line in lines if line.strip()]
    if len(stripped) < 3 or stripped[0] != BEGIN or stripped[-1] != END:
        raise Deep500Error("not a signature file of OpenSSH")
    blob = _decoded("".join(stripped[1:-1]))
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
    return Signature(_public_key(key), namespace, hash_name, raw)


def parse_public_keys(text: str) -> list[PublicKey]:
    """The Ed25519 keys of a file with one OpenSSH public key per line (id_ed25519.pub, authorized_keys, …)."""
    keys = []
    for line in text.splitlines():
        words = line.split()
        if TYPE.decode() in words[:-1] and not line.startswith("#"):
            keys.append(_public_key(_decoded(words[words.index(TYPE.decode()) + 1])))
    return keys


def _public_key(blob: bytes) -> PublicKey:
    kind, *rest = _split(blob, 2)
    if kind != TYPE or len(rest[0]) != 32:
        raise Deep500Error(
            "not an Ed25519 key (ssh-ed25519), the only type that is checked"
        )
    return PublicKey(rest[0])


def _signed_data(namespace: bytes, hash_name: bytes, message: bytes) -> bytes:
    """What the key signs: the purpose and the hash of the message, under a mark of their own."""
    digest = hashlib.new(hash_name.decode(), message).digest()
    return MAGIC + _strings(namespace, b"", hash_name, digest)


def _strings(*parts: bytes) -> bytes:
    """Strings as SSH writes them: a length of four bytes before each."""
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def _split(data: bytes, count: int) -> list[bytes]:
    """Exactly so many strings, and nothing behind them."""
    parts = []
    for _ in range(count):
        length = int.from_bytes(data[:4], "big")
        if len(data) < 4 + length:
            raise Deep500Error("a key or signature that ends too early")
        parts.append(data[4 : 4 + length])
        data = data[4 + length :]
    if data:
        raise Deep500Error("a key or signature with something behind its end")
    return parts


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise Deep500Error("a key or signature that is no base64") from None
