"""What the model reads of each tool is stored, so that a changed word is seen in review."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rho_core.json_values import thaw
from tests.tools.built_in_tools import built_in_tools

STORED = Path(__file__).with_name("tool_specs.json")


async def test_names_descriptions_and_schemas_are_as_stored() -> None:
    """`RHO_UPDATE_SPECS=1` stores them anew; read the diff before you commit it."""
    async with built_in_tools() as tools:
        specs = {
            name: {
                "description": tool.spec().description,
                "input_schema": thaw(tool.spec().input_schema),
            }
            for name, tool in sorted(tools.items())
        }
    text = json.dumps(specs, indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("RHO_UPDATE_SPECS"):
        STORED.write_text(text, "utf-8")
    assert text == STORED.read_text("utf-8")
