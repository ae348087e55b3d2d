"""One record, one line: `{"s": 12, "t": 1764498000.1, "type": "message", …}` and a newline.

Only `\\n` separates lines; JSON escapes it inside strings, so no text can tear a record.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from rho_core.errors import RhoError
from rho_core.events import CompactionTrigger
from rho_core.history.codec import (
    decode_identity,
    decode_message,
    encode_identity,
    encode_message,
)
from rho_core.history.compaction import CompactionOutcome
from rho_core.history.compaction_state import CompactionState
from rho_core.history.messages import Message, ModelIdentity, UserMessage
from rho_core.history.snapshot import sanitize_history
from rho_core.ids import Revision, SessionId, SteeringId
from rho_tui.host.facts import TurnEndKind
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions import value_codec as v
from rho_tui.host.sessions.fact_codec import FACT_CODECS, Codec, Json, call_id
from rho_tui.host.sessions.fields import Fields, RecordError

_NO_COMPACTION = CompactionState()


class UnknownRecord(RecordError):
    """A well-formed line of a type that this version does not know."""

    def __init__(self, seq: int) -> None:
        super().__init__("unknown record type")
        self.seq = seq


class UnsupportedSchema(RecordError):
    """The file was written by a Rho that is too new."""


def encode_line(line: r.Line) -> bytes:
    """The bytes of `line`, newline included."""
    tag, encode, _ = _CODECS[type(line.record)]
    members = {"s": line.seq, "t": round(line.at, 3), "type": tag, **encode(line.record)}
    # `default`: one odd value of a tool must not keep a whole session from being saved
    text = json.dumps(members, ensure_ascii=False, separators=(",", ":"), default=repr)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # lone surrogates, such as from undecodable file names
        return json.dumps(members, separators=(",", ":"), default=repr).encode("ascii") + b"\n"


def decode_line(data: bytes) -> r.Line:
    """The record in `data` (with or without its newline).

    Raises `RecordError` for a damaged line and its subclass `UnknownRecord` for one from a newer
    version, which may be passed over.
    """
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not JSON: {error}") from None
    fields = Fields(value, "record")
    seq = fields.count("s")
    decode = _DECODERS.get(fields.text("type"))
    if decode is None:
        raise UnknownRecord(seq)
    return r.Line(seq, fields.seconds("t", 0.0), decode(fields))


def _refuse_constant(word: str) -> None:
    raise RecordError(f"not JSON: {word}")


def _header(x: r.Header) -> Json:
    members = {"id": str(x.id), "created": x.created, "cwd": x.cwd, "version": x.version}
    named = {"provider": encode_identity(x.provider), "prompt": x.prompt}
    return {
        "schema": r.SCHEMA,
        **members,
        **named,
        **v.without_defaults({"edit_tool": x.edit_tool}),
    }


def _read_header(f: Fields) -> r.Header:
    if f.count("schema") != r.SCHEMA:
        raise UnsupportedSchema(f"session schema {f.count('schema')} is not supported")
    return r.Header(
        SessionId(f.identifier("id")),
        f.seconds("created"),
        f.text("cwd"),
        f.text("version", ""),
        _identity(f),
        f.text("prompt", ""),
        f.text("edit_tool", ""),
    )


def _message(x: r.MessageAppended) -> Json:
    [message] = sanitize_history((x.message,))  # raw reasoning is never stored (C16)
    members = {"index": x.index, "reasoning_seconds": x.reasoning_seconds}
    return {"origin": x.origin.value, **v.without_none(members), "message": encode_message(message)}


def _read_core_message(value: object) -> Message:
    try:
        return decode_message(value)
    except (RhoError, ValueError) as error:
        raise RecordError(str(error)) from None


def _read_message(f: Fields) -> r.MessageAppended:
    return r.MessageAppended(
        _read_core_message(f.raw("message")),
        f.optional_count("index"),
        f.word("origin", r.MessageOrigin),
        f.seconds("reasoning_seconds") if f.has("reasoning_seconds") else None,
    )


def _result(x: r.ResultAppended) -> Json:
    return {"call_id": x.call_id, "ok": x.ok, "index": x.index}


def _read_result(f: Fields) -> r.ResultAppended:
    return r.ResultAppended(call_id(f), f.flag("ok"), f.count("index"))


def _images(x: r.ImagesAppended) -> Json:
    return {"call_id": x.call_id, "tool": x.tool, "index": x.index}


def _read_images(f: Fields) -> r.ImagesAppended:
    return r.ImagesAppended(call_id(f), f.text("tool"), f.count("index"))


def _history(x: r.HistoryReplaced) -> Json:
    return {"messages": list(x.messages), "reason": x.reason.value}


def _read_history(f: Fields) -> r.HistoryReplaced:
    return r.HistoryReplaced(f.counts("messages"), f.word("reason", r.ReplaceReason))


def _answer(x: r.AnswerShown) -> Json:
    return v.without_none({"text": x.text, "reasoning_seconds": x.reasoning_seconds})


def _read_answer(f: Fields) -> r.AnswerShown:
    seconds = f.seconds("reasoning_seconds") if f.has("reasoning_seconds") else None
    return r.AnswerShown(f.text("text"), seconds)


def _steering(x: r.SteeringEntered) -> Json:
    return {"id": x.id, "message": encode_message(x.message)}


def _read_steering(f: Fields) -> r.SteeringEntered:
    message = _read_core_message(f.raw("message"))
    if not isinstance(message, UserMessage):
        raise RecordError("steering is not a user message")
    return r.SteeringEntered(SteeringId(f.identifier("id")), message)


def _started(x: r.ToolCallStarted) -> Json:
    return {"call_id": x.call_id, "name": x.name, "metadata": v.encode_metadata(x.metadata)}


def _read_started(f: Fields) -> r.ToolCallStarted:
    metadata = v.decode_metadata(f.object("metadata"))
    return r.ToolCallStarted(call_id(f), f.text("name"), metadata)


def _finished(x: r.ToolCallFinished) -> Json:
    tail = {"output_tail": x.output_tail} if x.output_tail else {}
    return {
        "call_id": x.call_id,
        "completion": v.encode_completion(x.completion),
        "seconds": round(x.seconds, 3),
        **tail,
    }


def _read_finished(f: Fields) -> r.ToolCallFinished:
    completion = v.decode_completion(f.object("completion"))
    return r.ToolCallFinished(
        call_id(f), completion, f.seconds("seconds", 0.0), f.text("output_tail", "")
    )


def _hosted(x: r.HostedToolNoted) -> Json:
    return v.without_none({"name": x.name, "detail": x.detail})


def _read_hosted(f: Fields) -> r.HostedToolNoted:
    return r.HostedToolNoted(f.optional_text("name"), f.text("detail"))


def _compaction(x: r.CompactionNoted) -> Json:
    figures = {
        "previous_messages": x.outcome.previous_messages,
        "current_messages": x.outcome.current_messages,
        "previous_tokens": x.outcome.previous_tokens,
        "current_tokens": x.outcome.current_tokens,
        "revision": int(x.outcome.revision),
        "cost_usd_micros": x.outcome.cost_usd_micros,
    }
    return {"trigger": x.trigger.value, **v.without_none(figures)}


def _read_compaction(f: Fields) -> r.CompactionNoted:
    outcome = CompactionOutcome(
        f.count("previous_messages"),
        f.count("current_messages"),
        f.count("previous_tokens"),
        f.count("current_tokens"),
        _revision(f, "revision"),
        f.optional_count("cost_usd_micros"),
    )
    return r.CompactionNoted(f.word("trigger", CompactionTrigger), outcome)


def _compaction_stopped(x: r.CompactionStopped) -> Json:
    members = {"trigger": x.trigger.value, "messages": x.messages}
    return {**members, **v.without_defaults({"reason": x.reason})}


def _read_compaction_stopped(f: Fields) -> r.CompactionStopped:
    trigger = f.word("trigger", CompactionTrigger)
    return r.CompactionStopped(trigger, f.count("messages"), f.text("reason", ""))


def _commit(x: r.TurnCommitted) -> Json:
    texts = {
        "message": x.message,
        "error_kind": x.error_kind,
        "title": x.title,
        "provider": encode_identity(x.provider),
        "turn_usage": v.encode_usage(x.turn_usage),
        "total_usage": v.encode_usage(x.total_usage),
        "compaction": None if x.compaction == _NO_COMPACTION else _compaction_state(x.compaction),
        "context_tokens": x.context_tokens,
        "cwd": x.cwd,
    }
    return {
        "kind": x.kind.value,
        "revision": int(x.revision),
        "messages": x.messages,
        "retryable": x.retryable,
        "seconds": round(x.seconds, 3),
        **v.without_defaults(texts),
    }


def _read_commit(f: Fields) -> r.TurnCommitted:
    return r.TurnCommitted(
        kind=f.word("kind", TurnEndKind),
        revision=_revision(f, "revision"),
        messages=f.count("messages"),
        message=f.text("message", ""),
        error_kind=f.text("error_kind", ""),
        retryable=f.flag("retryable", False),
        seconds=f.seconds("seconds", 0.0),
        title=f.text("title", ""),
        turn_usage=v.decode_usage(f.object("turn_usage")),
        total_usage=v.decode_usage(f.object("total_usage")),
        context_tokens=f.optional_count("context_tokens"),
        compaction=_read_compaction_state(f.object("compaction")),
        provider=_identity(f),
        cwd=f.text("cwd", ""),
    )


def _compaction_state(x: CompactionState) -> Json:
    return v.without_none(asdict(x))


def _read_compaction_state(f: Fields) -> CompactionState:
    return CompactionState(
        f.count("completed_compactions", 0),
        f.count("removed_messages", 0),
        f.count("removed_tokens", 0),
        f.count("removed_cost_usd_micros", 0),
        f.optional_count("last_previous_tokens"),
        f.optional_count("last_current_tokens"),
        _revision(f, "last_revision") if f.has("last_revision") else None,
    )


def _revision(f: Fields, name: str) -> Revision:
    try:
        return Revision(f.count(name, 0))
    except ValueError as error:
        raise RecordError(str(error)) from None


def _identity(f: Fields) -> ModelIdentity:
    try:
        return decode_identity(f.raw("provider"), "provider")
    except RhoError as error:
        raise RecordError(str(error)) from None


_CODECS: dict[type, Codec] = {
    r.Header: ("session", _header, _read_header),
    r.MessageAppended: ("message", _message, _read_message),
    r.ResultAppended: ("result", _result, _read_result),
    r.ImagesAppended: ("images", _images, _read_images),
    r.HistoryReplaced: ("history", _history, _read_history),
    r.AnswerShown: ("answer", _answer, _read_answer),
    r.SteeringEntered: ("steering", _steering, _read_steering),
    r.ToolCallStarted: ("tool_started", _started, _read_started),
    r.ToolCallFinished: ("tool_finished", _finished, _read_finished),
    r.HostedToolNoted: ("hosted_tool", _hosted, _read_hosted),
    r.CompactionNoted: ("compaction", _compaction, _read_compaction),
    r.CompactionStopped: ("compaction_stopped", _compaction_stopped, _read_compaction_stopped),
    r.TurnCommitted: ("commit", _commit, _read_commit),
    **FACT_CODECS,
}
_DECODERS = {tag: decode for tag, _, decode in _CODECS.values()}
