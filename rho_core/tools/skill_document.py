"""`SKILL.md`: front matter between `---` lines, then instructions (26.4, 26.5).

Skill files come with cloned repositories and are hostile: the front matter is small, its YAML may
not use aliases, and what YAML refuses is read line by line before it is called broken (I1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

MAX_FRONT_MATTER_BYTES = 16 * 1024
MAX_NODES = 500
MAX_BRACKETS = 100  # the YAML scanner takes quadratic time over unclosed ones
MAX_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_COMPATIBILITY = 500
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_PLAIN_LINE = re.compile(r"([a-z-]+):[ \t]+(.*\S)[ \t]*")
_TEXT_KEYS = ("license", "allowed-tools")


class BrokenSkill(ValueError):
    """The file is no skill; the message says why, with the line where there is one."""


@dataclass(frozen=True, slots=True)
class SkillHeader:
    """What the front matter says."""

    name: str
    description: str
    is_user_only: bool = False


def parse_header(data: bytes, folder_name: str | None) -> SkillHeader:
    """The header of a SKILL.md; its name must be `folder_name`. Raises `BrokenSkill`.

    A byte order mark, CRLF and a missing final line end make no difference (I2).
    """
    try:
        text = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise BrokenSkill(f"not UTF-8 text (byte {error.start})") from None
    values = _front_matter(text)
    name = _text(values, "name", MAX_NAME, required=True)
    if _NAME.fullmatch(name) is None:
        raise BrokenSkill("name must be lower-case letters, digits and single hyphens")
    if folder_name is not None and name != folder_name:
        raise BrokenSkill(f"name is '{name}' but the folder is '{folder_name}'")
    _text(values, "compatibility", MAX_COMPATIBILITY)
    for key in _TEXT_KEYS:
        _text(values, key, MAX_FRONT_MATTER_BYTES)
    return SkillHeader(
        name, _text(values, "description", MAX_DESCRIPTION, required=True), _is_user_only(values)
    )


def _front_matter(text: str) -> dict[str, Any]:
    lines = text.split("\n", MAX_FRONT_MATTER_BYTES)
    if lines[0] != "---":
        raise BrokenSkill("line 1: the front matter must begin with '---'")
    if "---" not in lines[1:]:
        raise BrokenSkill("the front matter has no closing '---'")
    block = "\n".join(lines[1 : lines.index("---", 1)])
    if len(block.encode()) > MAX_FRONT_MATTER_BYTES:
        raise BrokenSkill(f"the front matter is larger than {MAX_FRONT_MATTER_BYTES} bytes")
    if block.count("[") + block.count("{") > MAX_BRACKETS:
        raise BrokenSkill(f"the front matter has more than {MAX_BRACKETS} brackets")
    return _mapping(block)


def _mapping(block: str) -> dict[str, Any]:
    import yaml

    try:
        value = _load(block)
    except yaml.MarkedYAMLError as error:
        # only what YAML cannot read at all is read as plain lines, never what it refuses to build
        is_unreadable = isinstance(error, yaml.scanner.ScannerError | yaml.parser.ParserError)
        plain = _plain_lines(block) if is_unreadable else None
        if plain is not None:
            return plain
        # the block begins on the file's second line, and marks count from 0
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 2}: "
        raise BrokenSkill(f"{line}{error.problem or 'invalid YAML'}") from None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        raise BrokenSkill(f"invalid YAML: {type(error).__name__}") from None
    if not isinstance(value, dict):
        raise BrokenSkill("the front matter must be a mapping")
    return value


def _load(block: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Without aliases, which can grow without bound, and with a limit of nodes."""

        nodes = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.nodes += 1
            if self.check_event(yaml.AliasEvent) or self.nodes > MAX_NODES:
                raise ValueError("aliases and very large front matter are not supported")
            return super().compose_node(parent, index)

    loader = Loader(block)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _plain_lines(block: str) -> dict[str, Any] | None:
    """`key: text` lines taken literally; None unless name and description are among them."""
    values: dict[str, Any] = {}
    for line in block.split("\n"):
        found = _PLAIN_LINE.fullmatch(line)
        if found is not None:
            key, value = found.groups()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            values[key] = value
    return values if {"name", "description"} <= values.keys() else None


def _text(values: dict[str, Any], key: str, limit: int, *, required: bool = False) -> str:
    value = values.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise BrokenSkill(f"{key} is missing" if value is None else f"{key} must be text")
    value = value.strip()
    if not value or len(value) > limit:
        raise BrokenSkill(f"{key} must have 1 to {limit} characters")
    return value


def _is_user_only(values: dict[str, Any]) -> bool:
    value = values.get("disable-model-invocation")
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise BrokenSkill("disable-model-invocation must be true or false")
