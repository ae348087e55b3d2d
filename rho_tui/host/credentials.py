"""Provider keys: the environment first, then the system's key store or a private file."""

from __future__ import annotations

import tomllib
from abc import ABC, abstractmethod
from pathlib import Path

from rho_core.private_files import replace_private_file

SERVICE = "rho-agent"


class CredentialError(Exception):
    """A key cannot be kept or read; the message says what else would work."""


class CredentialStore(ABC):
    """Keys by provider name. Every call may block: use it off the event loop."""

    #: What to call the place in a sentence: "your key is kept in …"
    label: str

    @abstractmethod
    def get(self, provider: str) -> str | None:
        """The key, None when there is none or the store cannot be reached."""

    @abstractmethod
    def set(self, provider: str, key: str) -> None:
        """Keep a key. Raises `CredentialError`."""

    @abstractmethod
    def delete(self, provider: str) -> None:
        """Forget a key; an absent one is no error. Raises `CredentialError`."""


class SystemKeyStore(CredentialStore):
    """The operating system's key store, through keyring."""

    label = "the system's key store"

    def get(self, provider: str) -> str | None:
        import keyring
        from keyring.errors import KeyringError

        try:
            return keyring.get_password(SERVICE, provider) or None
        except KeyringError:
            return None

    def set(self, provider: str, key: str) -> None:
        import keyring
        from keyring.errors import KeyringError

        try:
            keyring.set_password(SERVICE, provider, key)
        except KeyringError as error:
            raise CredentialError(
                f"no key store of the system can be used ({error}); keep the key in a file "
                'instead (behavior.credential_store = "file"), or set it in the environment'
            ) from None

    def delete(self, provider: str) -> None:
        import keyring
        from keyring.errors import KeyringError, PasswordDeleteError

        try:
            keyring.delete_password(SERVICE, provider)
        except PasswordDeleteError:
            return
        except KeyringError as error:
            raise CredentialError(f"the key store cannot be changed: {error}") from None


class FileKeyStore(CredentialStore):
    """A TOML file that only its owner can read; the keys in it are not encrypted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.label = str(path)

    def get(self, provider: str) -> str | None:
        key = self._read().get(provider)
        return key or None

    def set(self, provider: str, key: str) -> None:
        keys = self._read()
        keys[provider] = key
        self._write(keys)

    def delete(self, provider: str) -> None:
        keys = self._read()
        if keys.pop(provider, None) is not None:
            self._write(keys)

    def _read(self) -> dict[str, str]:
        try:
            data = tomllib.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise CredentialError(f"{self._path} cannot be read: {error}") from None
        keys = data.get("keys", {})
        return {k: v for k, v in keys.items() if isinstance(v, str)}

    def _write(self, keys: dict[str, str]) -> None:
        import tomli_w

        text = tomli_w.dumps({"keys": keys})
        try:
            replace_private_file(self._path, text.encode())
        except OSError as error:
            raise CredentialError(f"{self._path} cannot be written: {error.strerror}") from None


def credential_store(kind: str, file: Path) -> CredentialStore:
    """The store that the configuration names: `os` or `file`."""
    return FileKeyStore(file) if kind == "file" else SystemKeyStore()
