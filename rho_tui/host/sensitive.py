"""Which paths deserve a question whatever the mode: secrets, and files that change what runs.

Decided by name alone, on the canonical path of the request; no file system is touched. Names are
compared without case, because some file systems do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from pathlib import Path, PurePath

_SECRET_NAMES = (
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "secrets.json",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
)
_HARMLESS_NAMES = ("*.example", "*.sample", "*.template", "*.dist", "*.pub")
_SECRET, _HARMLESS = (
    re.compile("|".join(map(translate, patterns))) for patterns in (_SECRET_NAMES, _HARMLESS_NAMES)
)
_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker"})
_WRITE_PROTECTED = frozenset({".git", ".hg", ".svn", ".rho", ".husky"})


class SensitivePaths:
    """Judges paths. `private_roots` are folders of Rho itself: configuration, keys, sessions."""

    def __init__(self, private_roots: Iterable[Path] = ()) -> None:
        spelled = {root.absolute() for root in private_roots}
        self._private = tuple(sorted(spelled | {root.resolve() for root in spelled}))

    def reason_to_ask_before_reading(self, path: PurePath) -> str | None:
        """Why reading `path` needs a person; None when it does not."""
        if self._is_private(path):
            return "the path belongs to Rho's own configuration or sessions"
        parts = _folded(path)
        if _SECRET_FOLDERS.intersection(parts) or _names_a_secret(parts):
            return "the file may hold secrets"
        return None

    def reason_to_ask_before_writing(self, path: PurePath) -> str | None:
        """Why writing `path` needs a person even where edits are free; None when it does not."""
        reason = self.reason_to_ask_before_reading(path)
        if reason is None and _WRITE_PROTECTED.intersection(_folded(path)):
            return "the file can change what other programs run"
        return reason

    def _is_private(self, path: PurePath) -> bool:
        return any(path.is_relative_to(root) for root in self._private)


def _folded(path: PurePath) -> tuple[str, ...]:
    # Windows opens ".git." and ".git " as ".git"
    return tuple(part.casefold().rstrip(". ") or part for part in path.parts)


def _names_a_secret(parts: tuple[str, ...]) -> bool:
    name = parts[-1] if parts else ""
    return _SECRET.match(name) is not None and _HARMLESS.match(name) is None
