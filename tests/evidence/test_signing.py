"""Signatures: who vouches for a bundle, in a format that OpenSSH reads and writes as well."""

import io
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from deep500 import bundle, cli
from deep500.bundle.records.recording import recording
from deep500.bundle.records.ssh_signature import (
    PublicKey,
    make_signature,
    parse_public_keys,
    parse_signature,
)
from deep500.errors import Deep500Error

PLAN = {
    "operator": "Relu",
    "frameworks": ["x"],
    "dtypes": [],
    "seed": 0,
    "attributes": {},
}
BLOCK: dict[str, object] = {
    "operator": "Relu",
    "framework": "x",
    "kernel": "native",
    "checks": [],
}
needs_openssh = pytest.mark.skipif(
    not shutil.which("ssh-keygen"), reason="OpenSSH is not here"
)
needs_openssl = pytest.mark.skipif(
    not shutil.which("openssl"), reason="OpenSSL is not here"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def folder(home: Path) -> Path:
    with recording("check", PLAN, home / "run") as record:
        record.append(BLOCK)
        record.finish()
    return home / "run"


def new_key(path: Path, key: Any = None, passphrase: bytes = b"") -> Path:
    """A key pair as `ssh-keygen` leaves it."""
    key = key or ed25519.Ed25519PrivateKey.generate()
    lock: Any = serialization.NoEncryption()
    if passphrase:
        lock = serialization.BestAvailableEncryption(passphrase)
    form = serialization.PrivateFormat.OpenSSH
    path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, lock))
    path.chmod(0o600)
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    path.with_name(path.name + ".pub").write_bytes(public + b" someone@somewhere\n")
    return path


@pytest.fixture
def key(home: Path) -> Path:
    return new_key(home / "key")


def public(key: Path) -> Path:
    return key.with_name(key.name + ".pub")


def fingerprint(key: Path) -> str:
    [found] = parse_public_keys(public(key).read_text())
    return found.fingerprint


def d5(*words: object) -> int:
    return cli.main([*map(str, words)])


def test_signing_changes_no_hash_and_the_signer_is_known(
    folder: Path, key: Path, capsys: Any
) -> None:
    before = bundle.read(folder)
    assert d5("sign", folder, "--key", key) == 0
    assert f"signed by {fingerprint(key)}: " in capsys.readouterr().out
    after = bundle.read(folder)
    assert (
        after.hash == before.hash and after.files == before.files and not after.problems
    )
    assert d5("verify", folder) == 0
    said = capsys.readouterr().out
    assert f"signed by {fingerprint(key)} (not checked against a known key)" in said
    for signer in (public(key), fingerprint(key)):
        assert d5("verify", folder, "--signer", signer) == 0
        assert f"signed by {fingerprint(key)} (as asked for)" in capsys.readouterr().out


def test_several_can_sign(folder: Path, home: Path, key: Path, capsys: Any) -> None:
    other = new_key(home / "other")
    for each in (key, other, key):
        assert d5("sign", folder, "--key", each) == 0
    assert len(bundle.read(folder).attestations) == 2
    for each in (key, other):
        assert d5("verify", folder, "--signer", public(each)) == 0
    keys = home / "keys"
    stranger = new_key(home / "stranger")
    keys.write_text(
        "# mine\n\n" + public(stranger).read_text() + public(other).read_text()
    )
    assert d5("verify", folder, "--signer", keys) == 0
    capsys.readouterr()
    assert d5("verify", folder, "--signer", public(stranger)) == 1
    said = capsys.readouterr().out
    assert f"NOT SIGNED by {fingerprint(stranger)}" in said and fingerprint(key) in said


def test_a_zip_keeps_its_signatures(folder: Path, key: Path) -> None:
    assert d5("sign", folder, "--key", key) == 0
    packed = shutil.make_archive(str(folder), "zip", folder)
    assert d5("verify", packed, "--signer", public(key)) == 0
    assert d5("verify", packed, "--signer", fingerprint(key)[:-1] + "x") == 1
    assert d5("sign", packed, "--key", key) == 2


def signature_of(folder: Path) -> Path:
    [name] = bundle.read(folder).attestations
    return folder / name


def swapped(data: bytes, place: int) -> bytes:
    changed = bytearray(data)
    changed[place] = ord("A") if changed[place] != ord("A") else ord("B")
    return bytes(changed)


ALTERED: dict[str, Callable[[bytes], bytes]] = {
    "another key": lambda data: swapped(data, 80),
    "another signature": lambda data: swapped(data, -50),
    "empty": lambda data: b"",
    "nonsense": lambda data: b"\xff\x00" * 100,
    "half": lambda data: data[: len(data) // 2],
    "no base64": lambda data: data.replace(b"A", b"!"),
    "no end": lambda data: data.replace(b"END", b"ENDE"),
    "too long": lambda data: data + b" " * 2**17,
}


@pytest.mark.parametrize("how", ALTERED)
def test_an_altered_signature_is_found(
    folder: Path, key: Path, capsys: Any, how: str
) -> None:
    assert d5("sign", folder, "--key", key) == 0
    file = signature_of(folder)
    file.write_bytes(ALTERED[how](file.read_bytes()))
    for more in ([], ["--signer", public(key)]):
        capsys.readouterr()
        assert d5("verify", folder, *more) == 1
        out = capsys.readouterr().out
        assert f"signature {file.name}: " in out or "NOT SIGNED" in out
        assert all(line.isprintable() for line in out.splitlines())


def test_an_altered_bundle_is_found(
    folder: Path, home: Path, key: Path, capsys: Any
) -> None:
    assert d5("sign", folder, "--key", key) == 0
    with recording("check", PLAN, home / "other") as record:
        record.append(BLOCK | {"kernel": "composed"})
        record.finish()
    shutil.copy(signature_of(folder), home / "other")
    assert d5("verify", home / "other", "--signer", public(key)) == 1
    assert (
        "it is of another bundle or purpose, or was changed" in capsys.readouterr().out
    )
    (folder / "derived.json").write_bytes(b"{}\n")
    assert d5("verify", folder, "--signer", public(key)) == 1
    assert d5("sign", folder, "--key", key) == 1
    assert "does not verify, nothing was signed" in capsys.readouterr().err


def test_a_signature_for_another_purpose_is_worth_nothing(
    folder: Path, key: Path
) -> None:
    private = serialization.load_ssh_private_key(key.read_bytes(), None)
    assert isinstance(private, ed25519.Ed25519PrivateKey)
    message = (folder / "manifest.json").read_bytes()
    for namespace, code in (("file", 1), ("deep500-bundle", 0)):
        text = make_signature(private, message, namespace).armoured()
        (folder / "manifest.json.sig").write_text(text)
        assert d5("verify", folder, "--signer", public(key)) == code


def test_other_files_are_still_no_part_of_a_bundle(folder: Path) -> None:
    for name in (
        "manifest.json.exe",
        "plan.json.sig",
        "manifest.json.a.b.sig",
        "x.ots",
    ):
        (folder / name).write_bytes(b"")
        assert d5("verify", folder) == 1, name
        (folder / name).unlink()


def test_a_link_is_no_signature(folder: Path, key: Path, home: Path) -> None:
    assert d5("sign", folder, "--key", key) == 0
    file = signature_of(folder)
    file.rename(home / "elsewhere")
    file.symlink_to(home / "elsewhere")
    assert d5("verify", folder) == 1


def test_bad_keys_are_one_line(
    folder: Path, home: Path, key: Path, capsys: Any
) -> None:
    curve = new_key(home / "curve", ec.generate_private_key(ec.SECP256R1()))
    (home / "broken").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n")
    (home / "short.pub").write_text("ssh-ed25519 AAAA me\n")
    wrong = {
        ("sign", "--key", home / "none"): "cannot be read: No such file",
        ("sign", "--key", public(key)): "is no private key of OpenSSH",
        ("sign", "--key", curve): "is no Ed25519 key",
        ("sign", "--key", home / "broken"): "cannot be used as a key",
        ("verify", "--signer", home / "none"): "cannot be read: No such file",
        ("verify", "--signer", key): "is a private key: give the public one",
        ("verify", "--signer", public(curve)): "holds no line `ssh-ed25519 …`",
        ("verify", "--signer", home / "short.pub"): "holds no usable key",
    }
    for (verb, option, file), text in wrong.items():
        assert d5(verb, folder, option, file) == 2
        said = capsys.readouterr().err
        assert text in said and said.count("\n") == 1
    assert not bundle.read(folder).attestations


def test_an_unfinished_bundle_is_not_signed(home: Path, key: Path, capsys: Any) -> None:
    documents: dict[str, object] = {"plan.json": PLAN, "environment.json": {}}
    writer = bundle.create(home / "part", documents, kind="check")
    writer.append(BLOCK)
    writer.close()
    assert d5("sign", home / "part", "--key", key) == 2
    assert "only a finished bundle can be signed" in capsys.readouterr().err


def test_a_passphrase_needs_a_terminal(
    folder: Path, home: Path, monkeypatch: Any, capsys: Any
) -> None:
    locked = new_key(home / "locked", passphrase=b"open sesame")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert d5("sign", folder, "--key", locked) == 2
    said = capsys.readouterr().err
    assert (
        "there is no terminal to ask on: `ssh-keygen -Y sign -n deep500-bundle" in said
    )


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "code"), [(b"open sesame", 0), (b"wrong", 2)])
def test_a_passphrase_is_asked_for_on_a_terminal(
    folder: Path, home: Path, answer: bytes, code: int
) -> None:
    locked = new_key(home / "locked", passphrase=b"open sesame")
    words = [
        sys.executable,
        "-m",
        "deep500.cli",
        "sign",
        str(folder),
        "--key",
        str(locked),
    ]
    # not pty.fork: JAX, if another test has loaded it, warns of every fork
    terminal, its_end = pty.openpty()
    child = subprocess.Popen(
        words, stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True
    )
    os.close(its_end)
    shown = b""
    while b"passphrase of" not in shown:
        shown += os.read(terminal, 1000)
    os.write(terminal, answer + b"\n")
    assert child.wait(60) == code
    os.close(terminal)
    assert len(bundle.read(folder).attestations) == (code == 0)


@needs_openssh
def test_openssh_checks_what_we_sign_and_we_check_what_openssh_signs(
    folder: Path, home: Path
) -> None:
    def openssh(*words: object, message: Path | None = None) -> str:
        data = message.read_bytes() if message else b""
        done = subprocess.run(
            ["ssh-keygen", *map(str, words)], input=data, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    key, manifest = home / "theirs", folder / "manifest.json"
    openssh("-q", "-t", "ed25519", "-N", "", "-C", "me", "-f", key)
    assert fingerprint(key) in openssh("-l", "-f", public(key))
    assert d5("sign", folder, "--key", key) == 0
    (home / "allowed").write_text(f"me {public(key).read_text()}")
    check = [
        "-Y",
        "verify",
        "-f",
        home / "allowed",
        "-I",
        "me",
        "-n",
        "deep500-bundle",
        "-s",
    ]
    assert "Good" in openssh(*check, signature_of(folder), message=manifest)
    signature_of(folder).unlink()
    openssh("-Y", "sign", "-f", key, "-n", "deep500-bundle", manifest)
    assert bundle.read(folder).attestations == ["manifest.json.sig"]
    for signer in (public(key), home / "allowed"):
        assert d5("verify", folder, "--signer", signer) == 0
    openssh("-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", home / "rsa")
    (folder / "manifest.json.sig").unlink()
    openssh("-Y", "sign", "-f", home / "rsa", "-n", "deep500-bundle", manifest)
    assert d5("verify", folder) == 1


def test_a_signature_file_round_trips() -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    made = make_signature(private, b"message", "purpose")
    read = parse_signature(made.armoured().encode())
    assert read == made and read.key == PublicKey(
        private.public_key().public_bytes_raw()
    )
    assert read.holds(b"message", "purpose")
    assert not read.holds(b"another", "purpose") and not read.holds(
        b"message", "another"
    )
    longer = made.armoured().replace("-----END", "AAAA\n-----END")
    with pytest.raises(Deep500Error):
        parse_signature(longer.encode())


def test_no_bundle_needs_the_package_unless_it_is_signed(folder: Path) -> None:
    code = f"""
import sys
sys.modules["cryptography"] = None
from deep500 import cli
assert cli.main(["verify", {str(folder)!r}]) == 0
open({str(folder / "manifest.json.sig")!r}, "w").write({SOME_SIGNATURE!r})
assert cli.main(["verify", {str(folder)!r}]) == 2
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("pip install cryptography bcrypt\n")


SOME_SIGNATURE = make_signature(
    ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32)), b"", "deep500-bundle"
).armoured()


@needs_openssl
def test_a_time_stamp_lies_beside_the_manifest(folder: Path, capsys: Any) -> None:
    words = ["openssl", "ts", "-query", "-data", "manifest.json", "-sha256", "-cert"]
    subprocess.run([*words, "-out", "manifest.json.tsq"], cwd=folder, check=True)
    (folder / "manifest.json.ots").write_bytes(b"whatever")
    assert d5("verify", folder) == 0
    said = capsys.readouterr().out
    assert "time stamp manifest.json.ots (not checked here: `ots verify`)" in said
    assert "time stamp manifest.json.tsq (not checked here: a request" in said


PAGE = Path(__file__).parents[2] / "docs" / "bundle-format.md"


def commands_of_the_page(start: str) -> str:
    [script] = [
        part
        for part in PAGE.read_text().split("```bash\n")[1:]
        if part.startswith(start)
    ]
    return script.partition("```")[0]


def shell(
    script: str, folder: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-ec", script],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | variables,
    )


@needs_openssh
def test_the_commands_of_the_page_sign_without_us(folder: Path, home: Path) -> None:
    key = new_key(home / "my_key")
    script = commands_of_the_page("ssh-keygen -Y sign").replace("my_key", str(key))
    done = shell(script.replace("signers", str(home / "signers")), folder)
    assert done.returncode == 0 and "Good" in done.stdout, done.stderr
    assert d5("verify", folder, "--signer", public(key)) == 0


AUTHORITY = """
printf '[tsa]\\nserial=serial\\nsigner_cert=tsa.crt\\nsigner_key=tsa.key\\nsigner_digest=sha256\\n' > tsa.cnf
printf 'default_policy=1.2.3\\ndigests=sha256\\ness_cert_id_alg=sha256\\n' >> tsa.cnf
echo 01 > serial
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out cacert.pem -subj /CN=Authority
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout tsa.key -out tsa.csr -subj /CN=Clock
echo extendedKeyUsage=critical,timeStamping > usage
openssl x509 -req -in tsa.csr -CA cacert.pem -CAkey ca.key -CAcreateserial -out tsa.crt -extfile usage
mkdir bin
printf '#!/bin/sh\\ncd "%s" && exec openssl ts -reply -config tsa.cnf -section tsa ' "$PWD" > bin/curl
echo '-queryfile "$STAMPED/manifest.json.tsq" -out "$STAMPED/manifest.json.tsr"' >> bin/curl
chmod +x bin/curl
"""


@needs_openssl
def test_the_commands_of_the_page_get_a_time_stamp(
    folder: Path, home: Path, capsys: Any
) -> None:
    """From an authority of our own, which stands in for the one in the net."""
    authority = home / "authority"
    authority.mkdir()
    made = shell(AUTHORITY, authority)
    assert made.returncode == 0, made.stderr
    script = commands_of_the_page("openssl ts -query")
    for name in ("cacert.pem", "tsa.crt"):
        script = script.replace(name, str(authority / name))
    path = f"{authority / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = shell(script, folder, PATH=path, STAMPED=str(folder))
    assert done.returncode == 0 and "Verification: OK" in done.stdout, (
        done.stdout + done.stderr
    )
    assert d5("verify", folder) == 0
    assert "time stamp manifest.json.tsr (not checked here" in capsys.readouterr().out
    check = script.splitlines()[-1]
    other = home / "other"
    other.mkdir()
    shutil.copy(folder / "manifest.json.tsr", other)
    (other / "manifest.json").write_bytes(b"{}")
    assert shell(check, other).returncode != 0
