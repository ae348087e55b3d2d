"""Path scope: what a workspace resolves, refuses and notices afterwards (section F)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityRequest,
    GrantedRoot,
    PrimaryWorkspace,
    ReadPath,
    UnrestrictedFilesystem,
)
from rho_core.authority.policy import Allow, DenyByPolicy, ScopedWorkspacePolicy
from rho_core.authority.workspace import (
    ResolvedWorkspacePath,
    TargetState,
    Workspace,
    WorkspaceError,
    WorkspaceErrorKind,
)

Kind = WorkspaceErrorKind


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root.resolve()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    return outside.resolve()


def refusal(call, *args) -> WorkspaceErrorKind:
    with pytest.raises(WorkspaceError) as caught:
        call(*args)
    assert caught.value.message
    caught.value.message.encode("utf-8")
    return caught.value.kind


@pytest.mark.clause("F1", "F2")
def test_a_root_is_checked_in_order_and_stored_canonically(root: Path, tmp_path: Path) -> None:
    file = root / "file"
    file.touch()
    link = tmp_path / "link"
    link.symlink_to(root)
    assert refusal(Workspace, "rel\0ative/..") is Kind.INVALID_PLATFORM_PATH
    assert refusal(Workspace, "relative/../x") is Kind.ROOT_NOT_ABSOLUTE
    assert refusal(Workspace, root / ".." / "root") is Kind.PARENT_TRAVERSAL
    assert refusal(Workspace, root / "nowhere") is Kind.ROOT_MISSING
    assert refusal(Workspace, file / "below") is Kind.ROOT_MISSING
    assert refusal(Workspace, file) is Kind.ROOT_NOT_DIRECTORY
    assert Workspace(link).root == root
    assert Workspace(str(root) + "/./").root == root


@pytest.mark.clause("F3")
def test_granted_roots_are_sorted_unique_and_leave_the_original_alone(
    root: Path, outside: Path, tmp_path: Path
) -> None:
    other = tmp_path / "another"
    other.mkdir()
    bare = Workspace(root)
    granted = bare.with_granted_root(outside).with_granted_root(other).with_granted_root(root)
    assert bare.granted_roots == ()
    assert granted.granted_roots == (other.resolve(), outside)
    assert granted.with_granted_root(outside) == granted
    assert refusal(bare.with_granted_root, "relative") is Kind.ROOT_NOT_ABSOLUTE


@pytest.mark.clause("F5", "L8")
def test_lexical_resolution_follows_nothing(root: Path, outside: Path) -> None:
    workspace = Workspace(root)
    (root / "link").symlink_to(outside)
    assert workspace.resolve("link/file") == root / "link" / "file"
    for here in ("", ".", "./", "./."):
        assert workspace.resolve(here) == root
    assert workspace.resolve("sub/./dir/") == root / "sub" / "dir"
    assert workspace.resolve(root / "missing") == root / "missing"
    assert refusal(workspace.resolve, outside) is Kind.OUTSIDE_GRANTED_ROOTS
    assert refusal(workspace.resolve, str(root) + "-sibling") is Kind.OUTSIDE_GRANTED_ROOTS
    assert refusal(workspace.resolve, "nul\0") is Kind.INVALID_PLATFORM_PATH
    assert refusal(workspace.resolve, "lone\ud800surrogate") is Kind.INVALID_PLATFORM_PATH


@pytest.mark.clause("F5")
def test_an_alias_spelling_of_the_root_is_accepted_as_given(root: Path, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    workspace = Workspace(root)
    given = alias / "deep" / "missing"
    assert workspace.resolve(given) == given
    resolved = workspace.resolve_for_write(given)
    assert resolved.path == root / "deep" / "missing"
    assert resolved.scope == PrimaryWorkspace()


@pytest.mark.clause("F5", "F7")
def test_a_double_slash_is_no_way_out_and_no_obstacle(root: Path, outside: Path) -> None:
    (root / "file").touch()
    workspace = Workspace(root)
    assert workspace.resolve_for_read(f"/{root}/file").path == root / "file"
    assert refusal(workspace.resolve_for_read, f"/{outside}") is Kind.OUTSIDE_GRANTED_ROOTS


@settings(max_examples=100)
@given(
    parts=st.lists(st.sampled_from(["..", ".", "a", "b\\..", "...", "c:", "..d"]), max_size=6),
    absolute=st.booleans(),
)
@pytest.mark.clause("F5", "F11")
def test_any_parent_component_is_rejected(parts: list[str], absolute: bool) -> None:
    root = Path(os.path.realpath("/"))
    text = ("/" if absolute else "") + "/".join(parts)
    workspace = Workspace(root)
    if ".." in parts:
        assert refusal(workspace.resolve, text) is Kind.PARENT_TRAVERSAL
    else:
        assert workspace.resolve(text) == root / text


@pytest.mark.clause("F6")
def test_the_primary_root_wins_and_the_deepest_grant_labels(root: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "g"
    deep = shallow / "deep"
    inner = root / "inner"
    for directory in (deep, inner):
        directory.mkdir(parents=True)
    workspace = Workspace(root)
    for grant in (shallow, deep, inner):
        workspace = workspace.with_granted_root(grant)
    assert workspace.scope_of(inner / "x") == PrimaryWorkspace()
    assert workspace.scope_of(deep.resolve() / "x") == GrantedRoot(deep.resolve())
    assert workspace.scope_of(shallow.resolve() / "x") == GrantedRoot(shallow.resolve())
    assert workspace.scope_of(Path("/elsewhere")) is None
    unrestricted = workspace.with_unrestricted_file_access()
    assert unrestricted.scope_of(Path("/elsewhere")) == UnrestrictedFilesystem()
    assert unrestricted.scope_of(deep.resolve()) == GrantedRoot(deep.resolve())


@pytest.mark.clause("F7")
def test_reads_need_an_existing_target_and_follow_links(root: Path) -> None:
    workspace = Workspace(root)
    (root / "file").write_text("x")
    (root / "link").symlink_to("file")
    (root / "loop").symlink_to("loop")
    (root / "dangling").symlink_to("nowhere")
    expected = ResolvedWorkspacePath(root / "file", PrimaryWorkspace(), TargetState.EXISTING)
    assert workspace.resolve_for_read("link") == expected
    assert workspace.resolve_existing("link") == root / "file"
    assert refusal(workspace.resolve_for_read, "missing") is Kind.MISSING
    assert refusal(workspace.resolve_for_read, "dangling") is Kind.MISSING
    assert refusal(workspace.resolve_for_read, "loop") is Kind.IO
    assert refusal(workspace.resolve_for_read, "file/below") is Kind.IO
    assert refusal(workspace.resolve_for_read, "n" * 5000) is Kind.IO


@pytest.mark.clause("F8")
def test_writes_resolve_existing_and_missing_targets(root: Path, outside: Path) -> None:
    workspace = Workspace(root)
    (root / "real").mkdir()
    (root / "via").symlink_to("real")
    (root / "out").symlink_to(outside)
    (root / "file").touch()
    existing = workspace.resolve_for_write("file")
    assert existing.state is TargetState.EXISTING
    missing = workspace.resolve_for_write("via/new/deep.txt")
    assert missing == ResolvedWorkspacePath(
        root / "real" / "new" / "deep.txt", PrimaryWorkspace(), TargetState.MISSING_WRITE_TARGET
    )
    assert refusal(workspace.resolve_for_write, "out/new") is Kind.OUTSIDE_GRANTED_ROOTS
    assert refusal(workspace.resolve_for_write, "file/new") is Kind.IO


@pytest.mark.clause("F8")
def test_write_resolution_rejects_broken_symlinks(root: Path, outside: Path) -> None:
    workspace = Workspace(root)
    (root / "dangling").symlink_to(outside / "not-there")
    assert refusal(workspace.resolve_for_write, "dangling") is Kind.MISSING
    assert refusal(workspace.resolve_for_write, "dangling/child") is Kind.IO


@pytest.mark.clause("F9")
def test_revalidation_notices_every_kind_of_change(root: Path, outside: Path) -> None:
    workspace = Workspace(root)
    (root / "a").mkdir()
    file = root / "a" / "file"
    file.write_text("x")
    read = workspace.resolve_for_read("a/file")
    write = workspace.resolve_for_write("a/new")
    workspace.revalidate(read)
    workspace.revalidate(write)

    (root / "a" / "new").touch()
    assert refusal(workspace.revalidate, write) is Kind.CHANGED_AFTER_AUTHORIZATION
    (root / "a" / "new").unlink()

    file.rename(root / "a" / "moved")
    assert refusal(workspace.revalidate, read) is Kind.MISSING
    file.symlink_to("moved")
    assert refusal(workspace.revalidate, read) is Kind.CHANGED_AFTER_AUTHORIZATION

    (root / "a").rename(root / "b")
    (outside / "file").write_text("secret")
    (root / "a").symlink_to(outside)
    assert refusal(workspace.revalidate, read) is Kind.OUTSIDE_GRANTED_ROOTS
    assert refusal(workspace.revalidate, write) is Kind.OUTSIDE_GRANTED_ROOTS


@pytest.mark.clause("F9")
def test_a_missing_parent_that_appears_as_a_link_is_noticed(root: Path) -> None:
    workspace = Workspace(root)
    write = workspace.resolve_for_write("new/file")
    (root / "other").mkdir()
    (root / "new").symlink_to("other")
    assert refusal(workspace.revalidate, write) is Kind.CHANGED_AFTER_AUTHORIZATION


@pytest.mark.clause("F10", "E12")
def test_symlinks_require_deliberate_outside_root_grants_and_policy_grants(
    root: Path, outside: Path
) -> None:
    (outside / "secret").write_text("x")
    (root / "link").symlink_to(outside)
    assert refusal(Workspace(root).resolve_for_read, "link/secret") is Kind.OUTSIDE_GRANTED_ROOTS
    resolved = Workspace(root).with_granted_root(outside).resolve_for_read("link/secret")
    assert resolved.path == outside / "secret"
    assert resolved.scope == GrantedRoot(outside)
    request = CapabilityRequest(ReadPath(resolved.path, resolved.scope), BuiltInTool("read_file"))
    policy = ScopedWorkspacePolicy().allow_read_paths()
    assert isinstance(policy.evaluate(request), DenyByPolicy)
    assert policy.allow_outside_workspace_paths().evaluate(request) == Allow()


@pytest.mark.clause("F4", "F5", "F8")
def test_unrestricted_access_resolves_anything_but_grants_nothing(
    root: Path, outside: Path
) -> None:
    (outside / "file").touch()
    workspace = Workspace(root).with_unrestricted_file_access()
    read = workspace.resolve_for_read("../outside/file")
    assert read == ResolvedWorkspacePath(
        outside / "file", UnrestrictedFilesystem(), TargetState.EXISTING
    )
    write = workspace.resolve_for_write(outside / "new" / "file")
    assert write.scope == UnrestrictedFilesystem()
    assert workspace.resolve_for_write("../root/new").scope == PrimaryWorkspace()
    assert refusal(workspace.resolve_for_write, "nowhere/..") is Kind.MISSING
    assert refusal(workspace.resolve_for_write, "nowhere/../x") is Kind.MISSING
    request = CapabilityRequest(ReadPath(read.path, read.scope), BuiltInTool("read_file"))
    assert isinstance(ScopedWorkspacePolicy().allow_read_paths().evaluate(request), DenyByPolicy)


@pytest.mark.clause("F8")
def test_a_workspace_whose_root_has_vanished_refuses_to_write(root: Path) -> None:
    workspace = Workspace(root)
    root.rmdir()
    assert refusal(workspace.resolve_for_write, "new") is Kind.OUTSIDE_GRANTED_ROOTS


@pytest.mark.clause("F11")
@pytest.mark.skipif(sys.platform == "win32", reason="ordinary characters on Unix only")
def test_backslash_and_colon_are_ordinary_on_unix(root: Path) -> None:
    name = "c:\\..\\file"
    (root / name).touch()
    assert Workspace(root).resolve_for_read(name).path == root / name


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_not_utf8_work_and_are_shown_escaped(root: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    workspace = Workspace(root)
    with pytest.raises(WorkspaceError) as caught:
        workspace.resolve_for_read(name)
    assert "\\udce9" in caught.value.message
    (root / name).write_text("x")
    resolved = workspace.resolve_for_read(name)
    workspace.revalidate(resolved)
    assert resolved.path.read_text() == "x"


@pytest.mark.clause("F13")
def test_values_are_immutable(root: Path) -> None:
    workspace = Workspace(root)
    resolved = workspace.resolve_for_write("x")
    for value, name in ((workspace, "unrestricted"), (resolved, "path")):
        with pytest.raises(AttributeError):
            setattr(value, name, True)
    assert {Workspace(root), workspace} == {workspace}
