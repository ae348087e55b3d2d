"""The arguments of `bash` (16.1)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from rho_core.tools.arguments import ToolArguments

MAX_TIMEOUT_SECONDS = 7 * 24 * 3600


def positive_seconds(seconds: int) -> int:
    """A time limit as it is; raises `ValueError` for one that makes no sense."""
    if seconds < 1:
        raise ValueError("must be greater than zero")
    if seconds > MAX_TIMEOUT_SECONDS:
        raise ValueError(f"must be at most {MAX_TIMEOUT_SECONDS}")
    return seconds


def executable_text(command: str) -> str:
    """A command as it is; raises `ValueError` for one that no process can be given."""
    if "\0" in command:
        raise ValueError("must not contain NUL characters")
    try:
        command.encode()
    except UnicodeEncodeError:
        raise ValueError("must not contain lone surrogates") from None
    return command


class BashArguments(ToolArguments):
    """What the model passes to `bash`."""

    command: Annotated[
        str,
        AfterValidator(executable_text),
        Field(description="The command text, passed to the shell unchanged."),
    ]
    timeout_seconds: Annotated[
        int | None,
        AfterValidator(lambda seconds: None if seconds is None else positive_seconds(seconds)),
        Field(
            description="Stop the command after this many seconds.",
            json_schema_extra={"minimum": 1},
        ),
    ] = None
