"""A session as one JSON document, schema 2 (B30–B36)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rho_core.errors import PersistenceError
from rho_core.history.codec import (
    decode_history,
    decode_identity,
    encode_identity,
    encode_message,
)
from rho_core.history.compaction_state import CompactionState
from rho_core.history.messages import AbortedAssistant, History, Message, ModelIdentity
from rho_core.history.strict_fields import as_object, as_string, as_u64, optional, required
from rho_core.ids import Revision, SessionId
from rho_core.json_values import FrozenObject, freeze, parse_json

SCHEMA_VERSION = 2
_READABLE_SCHEMAS = (1, 2)


def sanitize_history(history: History) -> History:
    """The history without raw reasoning, which is never stored (B34)."""
    return tuple(_without_reasoning(message) for message in history)


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """Everything needed to resume a session. Its `repr` shows no content.

    `provider` is the identity of the session's provider at that moment (B35); `metadata` maps
    strings to strings.
    """

    session_id: SessionId
    revision: Revision
    history: History
    provider: ModelIdentity
    compaction: CompactionState = field(default_factory=CompactionState)
    metadata: Mapping[str, str] = field(default_factory=FrozenObject)
    prompt_cache_key: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "history", sanitize_history(tuple(self.history)))
        object.__setattr__(self, "metadata", FrozenObject(self.metadata))

    @property
    def schema_version(self) -> int:
        """Always the current schema: older documents are migrated when they are read (B31)."""
        return SCHEMA_VERSION

    def to_dict(self) -> dict[str, Any]:
        """The JSON object, keys in the order of the schema."""
        body: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "session_id": str(self.session_id),
            "revision": int(self.revision),
            "history": [encode_message(message) for message in self.history],
            "provider": encode_identity(self.provider),
            "compaction": _encode_compaction(self.compaction),
        }
        if self.metadata:
            body["metadata"] = dict(self.metadata)
        if self.prompt_cache_key is not None:
            body["prompt_cache_key"] = self.prompt_cache_key
        return body

    def to_json(self) -> str:
        """The document, indented by two spaces, non-ASCII text as it is (B33)."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    @classmethod
    def from_json(cls, text: str | bytes) -> SessionSnapshot:
        """Read a document of schema 1 or 2. Raises `PersistenceError` (B31, B32)."""
        try:
            value = parse_json(text)
        except ValueError as error:
            raise PersistenceError(f"session snapshot is not valid JSON: {error}") from None
        return _decode(value)

    @classmethod
    def from_dict(cls, value: object) -> SessionSnapshot:
        """Read an already parsed document of schema 1 or 2. Raises `PersistenceError`."""
        try:
            return _decode(freeze(value))
        except (ValueError, RecursionError) as error:
            raise PersistenceError(f"session snapshot is not valid JSON: {error}") from None

    def __repr__(self) -> str:
        return (
            f"SessionSnapshot(session_id={str(self.session_id)!r}, revision={int(self.revision)}, "
            f"messages={len(self.history)}, provider={self.provider!r})"
        )


def _decode(value: object) -> SessionSnapshot:
    where = "snapshot"
    body = as_object(value, where)
    required(body, "schema_version", where, _supported_schema)
    return SessionSnapshot(
        session_id=required(body, "session_id", where, _session_id),
        revision=Revision(required(body, "revision", where, as_u64)),
        history=required(body, "history", where, decode_history),
        provider=required(body, "provider", where, decode_identity),
        compaction=optional(body, "compaction", where, _decode_compaction) or CompactionState(),
        metadata=optional(body, "metadata", where, _decode_metadata) or {},
        prompt_cache_key=optional(body, "prompt_cache_key", where, as_string),
    )


def _supported_schema(value: object, _where: str) -> int:
    if type(value) is not int or value not in _READABLE_SCHEMAS:
        raise PersistenceError(f"unsupported session snapshot schema {value!r}")
    return value


def _session_id(value: object, where: str) -> SessionId:
    text = as_string(value, where)
    if not text:
        raise PersistenceError(f"{where} must not be empty")
    return SessionId(text)


def _decode_metadata(value: object, where: str) -> dict[str, str]:
    body = as_object(value, where)
    return {key: as_string(item, f"{where}.{key}") for key, item in body.items()}


def _encode_compaction(state: CompactionState) -> dict[str, Any]:
    body: dict[str, Any] = {
        "completed_compactions": state.completed_compactions,
        "removed_messages": state.removed_messages,
        "removed_tokens": state.removed_tokens,
        "removed_cost_usd_micros": state.removed_cost_usd_micros,
        "last_previous_tokens": state.last_previous_tokens,
        "last_current_tokens": state.last_current_tokens,
        "last_revision": None if state.last_revision is None else int(state.last_revision),
    }
    return {key: item for key, item in body.items() if item is not None}


def _decode_compaction(value: object, where: str) -> CompactionState:
    body = as_object(value, where)
    revision = optional(body, "last_revision", where, as_u64)
    return CompactionState(
        completed_compactions=required(body, "completed_compactions", where, as_u64),
        removed_messages=required(body, "removed_messages", where, as_u64),
        removed_tokens=optional(body, "removed_tokens", where, as_u64) or 0,
        removed_cost_usd_micros=optional(body, "removed_cost_usd_micros", where, as_u64) or 0,
        last_previous_tokens=optional(body, "last_previous_tokens", where, as_u64),
        last_current_tokens=optional(body, "last_current_tokens", where, as_u64),
        last_revision=None if revision is None else Revision(revision),
    )


def _without_reasoning(message: Message) -> Message:
    if isinstance(message, AbortedAssistant) and message.reasoning:
        return replace(message, reasoning="")
    return message
