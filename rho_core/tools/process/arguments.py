"""The arguments of `process` (17.1)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from rho_core.tools.arguments import ToolArguments
from rho_core.tools.shell.arguments import executable_text, positive_seconds

MAX_WAIT_SECONDS = 30
_ACTIONS = ("start", "poll", "stop")
#: What each action takes; the first key is required.
_KEYS = {
    "start": ("command", "timeout_seconds"),
    "poll": ("process_id", "cursor", "wait_seconds"),
    "stop": ("process_id",),
}


def _action(value: str) -> str:
    if value not in _ACTIONS:
        raise ValueError(f"must be one of {', '.join(_ACTIONS)}")
    return value


def _wait(value: int) -> int:
    if not 0 <= value <= MAX_WAIT_SECONDS:
        raise ValueError(f"must be between 0 and {MAX_WAIT_SECONDS}")
    return value


def _cursor(value: int) -> int:
    if value < 0:
        raise ValueError("must not be negative")
    return value


class ProcessArguments(ToolArguments):
    """What the model passes to `process`; keys that belong to another action are refused."""

    action: Annotated[
        str, AfterValidator(_action), Field(json_schema_extra={"enum": list(_ACTIONS)})
    ]
    command: Annotated[
        str | None,
        AfterValidator(lambda command: None if command is None else executable_text(command)),
        Field(description="start: the command text, passed to the shell unchanged."),
    ] = None
    timeout_seconds: Annotated[
        int | None,
        AfterValidator(lambda seconds: None if seconds is None else positive_seconds(seconds)),
        Field(
            description="start: stop the process after this many seconds.",
            json_schema_extra={"minimum": 1},
        ),
    ] = None
    process_id: Annotated[
        str | None, Field(description="poll, stop: the id that start returned.")
    ] = None
    cursor: Annotated[
        int,
        AfterValidator(_cursor),
        Field(description="poll: the `next` of the result before, to read on from there."),
    ] = 0
    wait_seconds: Annotated[
        int,
        AfterValidator(_wait),
        Field(
            description="poll: wait up to this long for new output or the end.",
            json_schema_extra={"minimum": 0, "maximum": MAX_WAIT_SECONDS},
        ),
    ] = 0

    @model_validator(mode="after")
    def _belongs_to_action(self) -> ProcessArguments:
        required, *optional = _KEYS[self.action]
        if getattr(self, required) is None:
            raise ValueError(f"{self.action} needs '{required}'")
        foreign = self.model_fields_set - {"action", required, *optional}
        if foreign:
            named = ", ".join(f"'{name}'" for name in sorted(foreign))
            raise ValueError(f"{self.action} does not take {named}")
        return self
