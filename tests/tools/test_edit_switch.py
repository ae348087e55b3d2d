"""The file tools of a session change their edit format, and all views follow (T1.5, T5.7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core.errors import SessionBusy
from rho_core.testing import ScriptedTool
from rho_core.tooling.contract import Tool
from rho_core.tooling.registry import with_replaced
from rho_core.tools.file_tools import EditFormat, FileTools
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.search.grep import GrepTool
from tests.tools.tool_calls import ToolCalls

TEXT = "alpha\nbeta\ngamma\n"
TAGGED = "[a.txt#D8BC]"


class Slots:
    """The tools of a session by name, as a session replaces them."""

    def __init__(self, files: FileTools) -> None:
        self.files = files
        tools = [*files.tools, GrepTool(header=files.header, use_global_excludes=False)]
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools}

    def replace(self, name: str, tool: Tool) -> Tool | None:
        before = self.tools.get(name)
        if before is not None:
            self.tools = with_replaced(self.tools, name, tool)
        return before


@pytest.fixture
def slots() -> Slots:
    return Slots(FileTools(FileLedger(), edit_format="hashline"))


@pytest.mark.clause("T1.3", "T1.5")
@pytest.mark.parametrize("wanted", ["str_replace", " Apply_Patch"])
def test_the_edit_tool_is_replaced_in_its_place(slots: Slots, wanted: str) -> None:
    before = list(slots.tools.values())
    assert slots.files.switch_format(wanted, slots.replace) is EditFormat.HASHLINE
    after = list(slots.tools.values())
    assert slots.files.edit_format is EditFormat.parse(wanted)
    assert after[3] is slots.files.edit_tool is slots.files.tools[3]
    assert after[3].name == slots.files.edit_format.tool_name
    assert [tool for tool in after if tool not in before] == [after[3]]
    assert after[:3] + after[4:] == before[:3] + before[4:]


@pytest.mark.clause("T1.5", "T3.3", "T5.7", "T15.6")
async def test_views_change_their_style_at_once_without_new_tools(
    slots: Slots, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    read, grep = (ToolCalls(slots.tools[name], tmp_path) for name in ("read_file", "grep"))
    write = ToolCalls(slots.tools["write"], tmp_path)
    assert (await read.run(path="a.txt")).content.startswith(f"{TAGGED}\n1:alpha")
    assert (await grep.run(pattern="beta")).content.startswith(f"{TAGGED}\n2 | beta")
    planned = await read.prepare(path="a.txt")

    slots.files.switch_format("str_replace", slots.replace)
    # what was planned before shows the style of its execution
    assert (await read.execute(planned)).content.startswith("a.txt\n1:alpha")
    assert (await grep.run(pattern="beta")).content.startswith("a.txt\n2 | beta")
    assert "\n\nb.txt\n1:x" in (await write.run(path="b.txt", content="x\n")).content
    edit = ToolCalls(slots.tools["str_replace"], tmp_path)
    edited = await edit.run(path="a.txt", old_string="beta", new_string="delta")
    assert "\n\na.txt\n1:alpha" in edited.content

    slots.files.switch_format("hashline", slots.replace)
    tag = (await read.run(path="a.txt")).content.split("\n")[0]
    assert tag.startswith("[a.txt#")
    # the ledger is the same: what the other tool wrote is no foreign change
    again = await ToolCalls(slots.tools["edit"], tmp_path).run(input=f"{tag}\nCUT 1")
    assert again.content.startswith("CUT 1 (1 line)\n[a.txt#")
    assert (tmp_path / "a.txt").read_text() == "delta\ngamma\n"


@pytest.mark.clause("T1.5")
def test_the_same_format_replaces_nothing(slots: Slots) -> None:
    before, tool = dict(slots.tools), slots.files.edit_tool
    assert slots.files.switch_format("HASHLINE", slots.replace) is EditFormat.HASHLINE
    assert slots.tools == before
    assert slots.files.edit_tool is tool


@pytest.mark.clause("T1.4", "T1.5")
async def test_a_session_that_does_not_take_the_tool_keeps_its_views(
    slots: Slots, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(TEXT)

    def busy(_name: str, _tool: Tool) -> Tool | None:
        raise SessionBusy

    with pytest.raises(SessionBusy):
        slots.files.switch_format("str_replace", busy)
    with pytest.raises(ValueError, match="hashline, apply_patch, str_replace"):
        slots.files.switch_format("sed", slots.replace)
    del slots.tools["edit"]  # a session without an edit tool has nothing to change
    assert slots.files.switch_format("str_replace", slots.replace) is EditFormat.HASHLINE
    assert slots.files.edit_format is EditFormat.HASHLINE
    read = ToolCalls(slots.tools["read_file"], tmp_path)
    assert (await read.run(path="a.txt")).content.startswith(TAGGED)


@pytest.mark.clause("T1.3", "T1.5")
@pytest.mark.parametrize("legacy", ["edit_file", "write_file"])
def test_a_tool_of_the_host_with_a_legacy_name_is_no_edit_tool(slots: Slots, legacy: str) -> None:
    own = ScriptedTool(legacy)
    slots.tools = {legacy: own, **slots.tools}
    slots.files.switch_format("str_replace", slots.replace)
    assert list(slots.tools) == [legacy, "list_dir", "read_file", "write", "str_replace", "grep"]
    assert slots.tools[legacy] is own
    del slots.tools["str_replace"]
    slots.files.switch_format("hashline", slots.replace)
    assert list(slots.tools) == [legacy, "list_dir", "read_file", "write", "grep"]


@pytest.mark.clause("D22", "T1.3")
def test_each_edit_tool_stands_for_the_two_others() -> None:
    names = {edit_format.tool_name for edit_format in EditFormat}
    for edit_format in EditFormat:
        tool = FileTools(FileLedger(), edit_format=edit_format).edit_tool
        assert {tool.name, *tool.stands_for} == names
