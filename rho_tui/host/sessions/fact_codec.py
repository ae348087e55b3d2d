"""The records of what people decided and what the application said, each as members of a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rho_core.ids import HostInputId, ToolCallId
from rho_tui.host.facts import ApprovalVerdict, Severity
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions import value_codec as v
from rho_tui.host.sessions.fields import Fields

Json = dict[str, Any]
Codec = tuple[str, Callable[[Any], Json], Callable[[Fields], r.Record]]
"""The word for `type`, the members of a record, and the record of members."""


def call_id(f: Fields) -> ToolCallId:
    """The call that a record is about. Raises `RecordError`."""
    return ToolCallId(f.identifier("call_id"))


def _opened(x: r.QuestionOpened) -> Json:
    return {"call_id": x.call_id, "request": v.encode_request(x.request)}


def _read_opened(f: Fields) -> r.QuestionOpened:
    return r.QuestionOpened(call_id(f), v.decode_request(f.object("request")))


def _closed(x: r.QuestionClosed) -> Json:
    members = {"replies": v.encode_replies(x.replies), "reason": x.reason}
    ids = {"call_id": x.call_id, "request_id": x.request_id, "outcome": x.outcome.value}
    return {**ids, **v.without_defaults(members)}


def _read_closed(f: Fields) -> r.QuestionClosed:
    return r.QuestionClosed(
        call_id(f),
        HostInputId(f.identifier("request_id")),
        f.word("outcome", r.QuestionOutcome),
        v.decode_replies(f),
        f.text("reason", ""),
    )


def _approval(x: r.ApprovalDecided) -> Json:
    members = {"call_id": x.call_id, "feedback": x.feedback or None}
    named = {"id": x.approval_id, "tool": x.tool, "subject": x.subject}
    return {**named, "verdict": x.verdict.value, **v.without_none(members)}


def _read_approval(f: Fields) -> r.ApprovalDecided:
    return r.ApprovalDecided(
        f.text("id"),
        call_id(f) if f.has("call_id") else None,
        f.text("tool"),
        f.text("subject"),
        f.word("verdict", ApprovalVerdict),
        f.text("feedback", ""),
    )


def _command_started(x: r.UserCommandStarted) -> Json:
    members = {"command": x.command, "timeout_seconds": x.timeout_seconds}
    return {"id": x.id, **members, "included": x.included}


def _read_command_started(f: Fields) -> r.UserCommandStarted:
    return r.UserCommandStarted(
        f.identifier("id"), f.text("command"), f.seconds("timeout_seconds"), f.flag("included")
    )


def _command_ended(x: r.UserCommandEnded) -> Json:
    tail = v.without_defaults({"output_tail": x.output_tail})
    return {"id": x.id, "completion": v.encode_completion(x.completion), **tail}


def _read_command_ended(f: Fields) -> r.UserCommandEnded:
    completion = v.decode_completion(f.object("completion"))
    return r.UserCommandEnded(f.identifier("id"), completion, f.text("output_tail", ""))


def _notice(x: r.NoticeShown) -> Json:
    return {"text": x.text, "severity": x.severity.value}


def _read_notice(f: Fields) -> r.NoticeShown:
    return r.NoticeShown(f.text("text"), f.word("severity", Severity))


def _title(x: r.TitleSet) -> Json:
    return {"title": x.title}


def _read_title(f: Fields) -> r.TitleSet:
    return r.TitleSet(f.text("title"))


def _setting(x: r.SettingChanged) -> Json:
    return {"setting": x.setting.value, "value": x.value}


def _read_setting(f: Fields) -> r.SettingChanged:
    return r.SettingChanged(f.word("setting", r.Setting), f.text("value"))


def _folder(x: r.FolderChanged) -> Json:
    return {"cwd": x.cwd}


def _read_folder(f: Fields) -> r.FolderChanged:
    return r.FolderChanged(f.text("cwd"))


def _torn(x: r.TornLine) -> Json:
    return {"bytes": x.bytes}


def _read_torn(f: Fields) -> r.TornLine:
    return r.TornLine(f.count("bytes"))


FACT_CODECS: dict[type, Codec] = {
    r.QuestionOpened: ("question_asked", _opened, _read_opened),
    r.QuestionClosed: ("question_closed", _closed, _read_closed),
    r.ApprovalDecided: ("approval", _approval, _read_approval),
    r.UserCommandStarted: ("command_started", _command_started, _read_command_started),
    r.UserCommandEnded: ("command_ended", _command_ended, _read_command_ended),
    r.NoticeShown: ("notice", _notice, _read_notice),
    r.TitleSet: ("title", _title, _read_title),
    r.SettingChanged: ("setting", _setting, _read_setting),
    r.FolderChanged: ("folder", _folder, _read_folder),
    r.TornLine: ("torn", _torn, _read_torn),
}
