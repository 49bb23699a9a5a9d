"""Hiding credentials in what is recorded: command lines, addresses, settings."""

from __future__ import annotations

import re

HIDDEN = "***"

# Repetitions are bounded or begin at a word's start, so that no text, however long, takes long to search.
_NAME = r"(?:token(?!s|iz)|secret|passw|passphrase|credential|(?:api|access|private)[_-]?key)"
_VALUE = r"(?:\"[^\"]*\"|'[^']*'|[^\s,;&]+)"
_LOGIN = re.compile(r"(//)[^/\s@]{1,500}@")
_AUTHORISATION = re.compile(r"\b(bearer|authorization:\s{0,9}\w{1,20})\s{1,9}\S+", re.I)
_SETTING = re.compile(
    rf"({_NAME}[\w.-]{{0,40}}['\"]?\s{{0,9}}[=:]\s{{0,9}}){_VALUE}", re.I
)
_OPTION = rf"(?<![\w.-])-(?=[\w.-]*{_NAME})[\w.-]+"
_OPTION_AND_VALUE = re.compile(rf"({_OPTION}\s{{1,9}}){_VALUE}", re.I)


def without_secrets(text: str) -> str:
    """The text with logins in addresses, and values of what is named like a secret, replaced by ***."""
    text = _LOGIN.sub(rf"\1{HIDDEN}@", text)
    text = _AUTHORISATION.sub(rf"\1 {HIDDEN}", text)
    text = _OPTION_AND_VALUE.sub(rf"\1{HIDDEN}", text)
    return _SETTING.sub(rf"\1{HIDDEN}", text)


def words_without_secrets(words: list[str]) -> list[str]:
    """A command line without secrets, also where an option's value is the next word."""
    safe_words = []
    before = ""
    for word in words:
        if re.fullmatch(_OPTION, before, re.I):
            safe_words.append(HIDDEN)
        else:
            safe_words.append(without_secrets(word))
        before = word
    return safe_words
