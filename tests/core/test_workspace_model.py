"""Path resolution against a model of a file system with symlinks (F5–F10).

The model is a dictionary and a dozen lines of walking; it shares no code with the workspace.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.authority.capabilities import GrantedRoot, PrimaryWorkspace, UnrestrictedFilesystem
from rho_core.authority.workspace import Workspace, WorkspaceError
from rho_core.authority.workspace import WorkspaceErrorKind as Kind

Parts: TypeAlias = tuple[str, ...]
FILE = ("file", ())
DIRECTORY = ("directory", ())
TOPS = ("root", "granted", "other")

names = st.sampled_from(["a", "b", "link"])
places = st.tuples(st.sampled_from(TOPS), st.lists(names, min_size=1, max_size=3)).map(
    lambda place: (place[0], *place[1])
)
#: a link leads to a path from the base, written relative to the link or absolute
links = st.tuples(st.booleans(), st.one_of(places, st.sampled_from([(top,) for top in TOPS])))
entries = st.lists(
    st.tuples(places, st.one_of(st.just(FILE), st.just(DIRECTORY), links)), max_size=10
)


class Fault(Exception):
    """What the model says instead of a path."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind


class Model:
    """Entries below one base directory: a file, a directory, or a link to a place."""

    def __init__(self, wanted: list[tuple[Parts, tuple[object, Parts]]]) -> None:
        self.entries: dict[Parts, tuple[object, Parts]] = {(): DIRECTORY}
        self.entries |= {(top,): DIRECTORY for top in TOPS}
        for place, entry in wanted:
            if self.entries.get(place[:-1]) == DIRECTORY:
                self.entries.setdefault(place, entry)

    def build(self, base: Path) -> None:
        for place, (kind, target) in sorted(self.entries.items(), key=lambda e: len(e[0])):
            path = base.joinpath(*place)
            if kind == "directory":
                path.mkdir(exist_ok=True)
            elif kind == "file":
                path.touch()
            elif kind is True:
                path.symlink_to(base.joinpath(*target))
            else:
                path.symlink_to(os.path.relpath(base.joinpath(*target), path.parent))

    def real(self, place: Parts) -> Parts:
        """The place behind every link."""
        left, here, followed = list(place), (), 0
        while left:
            step = (*here, left.pop(0))
            if self.entries[here] == FILE:
                raise Fault(Kind.IO)
            entry = self.entries.get(step)
            if entry is None:
                raise Fault(Kind.MISSING)
            if entry in (FILE, DIRECTORY):
                here = step
                continue
            followed += 1
            if followed > 40:
                raise Fault(Kind.IO)
            left, here = [*entry[1], *left], ()
        return here

    def names_something(self, place: Parts) -> bool:
        """Whether the last component exists, be it a link that leads nowhere."""
        try:
            parent = self.real(place[:-1])
        except Fault as fault:
            if fault.kind is Kind.MISSING:
                return False
            raise
        if self.entries[parent] == FILE:
            raise Fault(Kind.IO)
        return (*parent, place[-1]) in self.entries

    def scope(self, place: Parts, unrestricted: bool) -> str:
        if place[:1] in (("root",), ("granted",)):
            return place[0]
        if unrestricted:
            return "anywhere"
        raise Fault(Kind.OUTSIDE_GRANTED_ROOTS)

    def enter(self, asked: Parts, unrestricted: bool) -> None:
        """Refuse a spelling that lies outside, unless its nearest existing part does not."""
        if asked[0] in ("root", "granted") or unrestricted:
            return
        for end in range(len(asked), -1, -1):
            try:
                self.scope(self.real(asked[:end]), unrestricted)
            except Fault as fault:
                if fault.kind is Kind.OUTSIDE_GRANTED_ROOTS:
                    raise
            else:
                return

    def read(self, asked: Parts, unrestricted: bool) -> tuple[Parts, str]:
        self.enter(asked, unrestricted)
        place = self.real(asked)
        return place, self.scope(place, unrestricted)

    def write(self, asked: Parts, unrestricted: bool) -> tuple[Parts, str]:
        self.enter(asked, unrestricted)
        if self.names_something(asked):
            return self.read(asked, unrestricted)
        there = len(asked) - 1
        while not self.names_something(asked[:there]):
            there -= 1
        try:
            place = self.real(asked[:there])
        except Fault:
            raise Fault(Kind.IO) from None
        return (*place, *asked[there:]), self.scope(place, unrestricted)


@pytest.mark.clause("F5", "F6", "F7", "F8", "F9", "F10", "L8")
@settings(max_examples=60)
@given(wanted=entries, asked=st.lists(places, min_size=4, max_size=8), unrestricted=st.booleans())
def test_resolution_agrees_with_the_model_in_path_scope_state_and_refusal(
    tmp_path_factory: pytest.TempPathFactory,
    wanted: list[tuple[Parts, tuple[object, Parts]]],
    asked: list[Parts],
    unrestricted: bool,
) -> None:
    base = tmp_path_factory.mktemp("model").resolve()
    model = Model(wanted)
    model.build(base)
    workspace = Workspace(base / "root").with_granted_root(base / "granted")
    if unrestricted:
        workspace = workspace.with_unrestricted_file_access()
    scopes = {
        "root": PrimaryWorkspace(),
        "granted": GrantedRoot(base / "granted"),
        "anywhere": UnrestrictedFilesystem(),
    }
    for place in asked:
        inside = place[0] == "root"
        spelled = "/".join(place[1:]) if inside else str(base.joinpath(*place))
        for rule, resolve in (
            (model.read, workspace.resolve_for_read),
            (model.write, workspace.resolve_for_write),
        ):
            refusal: Kind | None = None
            try:
                expected, scope = rule(place, unrestricted)
            except Fault as fault:
                refusal = fault.kind
            if refusal is not None:
                with pytest.raises(WorkspaceError) as refused:
                    resolve(spelled)
                assert refused.value.kind is refusal
                continue
            resolved = resolve(spelled)
            assert resolved.path == base.joinpath(*expected)
            assert resolved.scope == scopes[scope]
            assert resolved.exists == (expected in model.entries)
            workspace.revalidate(resolved)
