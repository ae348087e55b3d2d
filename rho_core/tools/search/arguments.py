"""The arguments of `glob` and `grep` (14.1, 15.1)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from rho_core.tools.arguments import ToolArguments

MAX_RESULTS = 1_000
MAX_PER_FILE = 100


def _unsigned(value: int) -> int:
    if value < 0:
        raise ValueError("must not be negative")
    return value


_Count = Annotated[int, AfterValidator(_unsigned)]


class GlobArguments(ToolArguments):
    """What the model passes to `glob`."""

    pattern: Annotated[
        str,
        Field(
            description="Glob such as **/*.py or src/{a,b}/*.ts. * and ? stay within a directory, "
            "** crosses them; without a slash it matches in every directory."
        ),
    ]
    path: Annotated[str, Field(description="Directory or file to search.")] = "."
    include_hidden: Annotated[bool, Field(description="Also search dot files.")] = False
    max_results: Annotated[_Count, Field(description="At most this many paths, up to 1000.")] = 200


class GrepArguments(ToolArguments):
    """What the model passes to `grep`."""

    pattern: Annotated[
        str,
        Field(
            description="Regular expression (RE2: no look-around, no back-references), matched "
            "against each line by itself."
        ),
    ]
    path: Annotated[str, Field(description="Directory or file to search.")] = "."
    glob: Annotated[
        str | None, Field(description="Only search files whose path matches this glob.")
    ] = None
    literal: Annotated[bool, Field(description="Take the pattern as plain text.")] = False
    case_sensitive: bool = True
    include_hidden: Annotated[bool, Field(description="Also search dot files.")] = False
    max_results: Annotated[
        _Count, Field(description="At most this many lines (or files), up to 1000.")
    ] = 200
    max_per_file: Annotated[_Count, Field(description="At most this many lines a file.")] = 10
    output_mode: Annotated[
        str, Field(json_schema_extra={"enum": ["content", "files_with_matches", "count"]})
    ] = "content"


def clamp(value: int, maximum: int) -> int:
    """A limit as it is applied: 0 means 1, and the maximum is never exceeded."""
    return max(1, min(value, maximum))
