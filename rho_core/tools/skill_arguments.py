"""The arguments of `skill` (18.1)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rho_core.tools.arguments import ToolArguments


class SkillArguments(ToolArguments):
    """What the model passes to `skill`."""

    name: Annotated[str, Field(description="The skill's name, as it is listed.")]
