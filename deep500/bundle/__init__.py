"""A result folder that can be trusted: every byte is bound by a hash, and a killed run leaves a clean prefix.

    plan.json, environment.json …   canonical JSON, written before the first block
    samples.jsonl                   one {"chain":"<hash>","block":{…}} per line, only ever appended to
    derived.json, x.safetensors …   documents (.json) and other files, given at the end
    manifest.json                   the hashes of all of them, written last

docs/bundle-format.md tells it in full. Nothing in a bundle is ever executed.
"""

from .encoding import FORMAT as FORMAT
from .encoding import canonical as canonical
from .reading import Bundle as Bundle
from .reading import read as read
from .writing import Writer as Writer
from .writing import begun as begun
from .writing import create as create
from .writing import reopen as reopen
from .writing import resume as resume

__all__ = [
    "FORMAT",
    "Bundle",
    "Writer",
    "begun",
    "canonical",
    "create",
    "read",
    "reopen",
    "resume",
]
