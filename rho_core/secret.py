"""Text that must not be shown by accident (C101)."""

from __future__ import annotations

from typing import NoReturn


class SecretString:
    """A credential. `str`, `repr` and formatting show a placeholder; pickling is refused.

    Python cannot wipe memory: this guards against logs and tracebacks, not against a debugger.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def expose_secret(self) -> str:
        """The secret itself; call it where the secret is used, not before."""
        return self._value

    def into_secret(self) -> str:
        """The secret itself, given up by this object: it is empty afterwards."""
        value, self._value = self._value, ""
        return value

    def __repr__(self) -> str:
        return "SecretString([REDACTED])"

    def __str__(self) -> str:
        return "[REDACTED]"

    def __format__(self, _spec: str) -> str:
        return "[REDACTED]"

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SecretString):
            return NotImplemented
        import hmac

        return hmac.compare_digest(_bytes(self._value), _bytes(other._value))

    __hash__ = None  # type: ignore[assignment]  # a secret is no dictionary key

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not serialised")


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
