"""The scope of paths a tool may name: resolve once, revalidate just before I/O (section F).

Every call does blocking file-system work: run it off the event loop (F12). Path checks narrow the
gap between check and use, they cannot close it; a host that needs more uses an operating-system
sandbox.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath
from typing import TypeAlias

from rho_core.authority.capabilities import (
    GrantedRoot,
    PathScope,
    PrimaryWorkspace,
    UnrestrictedFilesystem,
)

AnyPath: TypeAlias = str | os.PathLike[str]


class WorkspaceErrorKind(StrEnum):
    """Why a path was refused (F1)."""

    ROOT_NOT_ABSOLUTE = "root_not_absolute"
    ROOT_MISSING = "root_missing"
    ROOT_NOT_DIRECTORY = "root_not_directory"
    PARENT_TRAVERSAL = "parent_traversal"
    OUTSIDE_GRANTED_ROOTS = "outside_granted_roots"
    MISSING = "missing"
    INVALID_PLATFORM_PATH = "invalid_platform_path"
    CHANGED_AFTER_AUTHORIZATION = "changed_after_authorization"
    IO = "io"


class WorkspaceError(Exception):
    """A path that may not be used. `message` is fit for the model; it is valid Unicode."""

    def __init__(self, kind: WorkspaceErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class TargetState(StrEnum):
    """Whether the target was there when it was resolved."""

    EXISTING = "existing"
    MISSING_WRITE_TARGET = "missing_write_target"


@dataclass(frozen=True, slots=True)
class ResolvedWorkspacePath:
    """A canonical path with its scope: authorize, revalidate and use this same object (F13)."""

    path: Path
    scope: PathScope
    state: TargetState

    @property
    def exists(self) -> bool:
        """Whether the target existed when it was resolved."""
        return self.state is TargetState.EXISTING


@dataclass(frozen=True, slots=True, init=False)
class Workspace:
    """A primary root, attached roots, and the choice of unrestricted path resolution.

    None of them grants authority to read or write: that is the policy's business (F4).
    """

    root: Path
    granted_roots: tuple[Path, ...]
    unrestricted: bool

    def __init__(self, root: AnyPath) -> None:
        """Check and canonicalise `root`. Raises `WorkspaceError` (F2)."""
        object.__setattr__(self, "root", _canonical_root(root))
        object.__setattr__(self, "granted_roots", ())
        object.__setattr__(self, "unrestricted", False)

    def with_granted_root(self, root: AnyPath) -> Workspace:
        """A copy that also accepts paths under `root`, checked like the primary root (F3)."""
        canonical = _canonical_root(root)
        if canonical == self.root or canonical in self.granted_roots:
            return self
        return self._copy(tuple(sorted((*self.granted_roots, canonical))), self.unrestricted)

    def with_unrestricted_file_access(self) -> Workspace:
        """A copy that resolves any path of the machine, parent components included (F4)."""
        return self._copy(self.granted_roots, True)

    def resolve(self, path: AnyPath) -> Path:
        """The absolute path that `path` names, by its text alone (F5).

        Nothing is followed, except that an absolute path outside every root's spelling is tried
        by its nearest existing ancestor, so that `/var/x` is found under `/private/var`.
        """
        given = _native_path(path)
        if not self.unrestricted and ".." in given.parts:
            raise WorkspaceError(
                WorkspaceErrorKind.PARENT_TRAVERSAL,
                f"path {shown_path(given)} contains a parent component ('..')",
            )
        if not given.is_absolute():
            if given.drive or given.root:  # Windows: `C:x` and `\x` would leave the root
                raise _outside(given)
            return self.root / given
        if self.unrestricted or self._is_under_a_root(given):
            return given
        ancestor = _nearest_canonical_ancestor(given)
        if ancestor is None or not self._is_under_a_root(ancestor):
            raise _outside(given)
        return given

    def scope_of(self, canonical: Path) -> PathScope | None:
        """The scope of a canonical path, None when it lies outside all of them (F6)."""
        if canonical.is_relative_to(self.root):
            return PrimaryWorkspace()
        roots = [root for root in self.granted_roots if canonical.is_relative_to(root)]
        if roots:
            return GrantedRoot(max(roots, key=lambda root: len(root.parts)))
        return UnrestrictedFilesystem() if self.unrestricted else None

    def resolve_for_read(self, path: AnyPath) -> ResolvedWorkspacePath:
        """The existing target behind `path`, symlinks followed (F7). Raises `WorkspaceError`."""
        return self._existing(self.resolve(path))

    def resolve_existing(self, path: AnyPath) -> Path:
        """The canonical path of an existing target (F7)."""
        return self.resolve_for_read(path).path

    def resolve_for_write(self, path: AnyPath) -> ResolvedWorkspacePath:
        """The existing target, or where a missing one would be created (F8).

        A dangling symlink is refused as missing: writing through it would create a file whose
        place nobody has looked at.
        """
        lexical = self.resolve(path)
        if _lexists(lexical):
            return self._existing(lexical)
        missing: list[str] = []
        ancestor = lexical
        while True:
            if ancestor.name in ("", "..") or ancestor.parent == ancestor:
                raise _missing(lexical)
            missing.append(ancestor.name)
            ancestor = ancestor.parent
            if _lexists(ancestor):
                break
        try:
            canonical = _realpath(ancestor)
        except OSError as error:
            raise _io(lexical, error) from None
        scope = self.scope_of(canonical)
        if scope is None:
            raise _outside(lexical)
        target = canonical.joinpath(*reversed(missing))
        return ResolvedWorkspacePath(target, scope, TargetState.MISSING_WRITE_TARGET)

    def revalidate(self, resolved: ResolvedWorkspacePath) -> None:
        """Raise `WorkspaceError` if `resolved` would resolve differently now (F9)."""
        rule = self.resolve_for_read if resolved.exists else self.resolve_for_write
        if rule(resolved.path) != resolved:
            raise WorkspaceError(
                WorkspaceErrorKind.CHANGED_AFTER_AUTHORIZATION,
                "workspace path changed after authorization",
            )

    def _existing(self, lexical: Path) -> ResolvedWorkspacePath:
        try:
            canonical = _realpath(lexical)
        except FileNotFoundError:
            raise _missing(lexical) from None
        except OSError as error:
            raise _io(lexical, error) from None
        scope = self.scope_of(canonical)
        if scope is None:
            raise _outside(lexical)
        return ResolvedWorkspacePath(canonical, scope, TargetState.EXISTING)

    def _is_under_a_root(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in (self.root, *self.granted_roots))

    def _copy(self, granted_roots: tuple[Path, ...], unrestricted: bool) -> Workspace:
        copy = object.__new__(Workspace)
        object.__setattr__(copy, "root", self.root)
        object.__setattr__(copy, "granted_roots", granted_roots)
        object.__setattr__(copy, "unrestricted", unrestricted)
        return copy


def shown_path(path: AnyPath) -> str:
    """A path as text that can be encoded: undecodable bytes and NUL are escaped, quotes added."""
    text = os.fspath(path).encode("utf-8", "backslashreplace").decode("utf-8")
    return "'" + text.replace("\0", "\\0") + "'"


def _native_path(path: AnyPath) -> Path:
    """The path as the platform holds it; what the platform cannot hold is refused."""
    text = os.fspath(path)
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        encoded = b"\0"  # a lone surrogate that stands for no byte names no file
    if b"\0" in encoded:
        raise WorkspaceError(
            WorkspaceErrorKind.INVALID_PLATFORM_PATH,
            f"path {shown_path(text)} is not valid on this platform",
        )
    return Path(text)


def _canonical_root(root: AnyPath) -> Path:
    given = _native_path(root)
    shown = shown_path(given)
    if not given.is_absolute():
        raise WorkspaceError(
            WorkspaceErrorKind.ROOT_NOT_ABSOLUTE, f"workspace root {shown} is not absolute"
        )
    if ".." in given.parts:
        raise WorkspaceError(
            WorkspaceErrorKind.PARENT_TRAVERSAL,
            f"workspace root {shown} contains a parent component ('..')",
        )
    try:
        canonical = _realpath(given)
    except OSError:
        raise WorkspaceError(
            WorkspaceErrorKind.ROOT_MISSING, f"workspace root {shown} does not exist"
        ) from None
    if not canonical.is_dir():
        raise WorkspaceError(
            WorkspaceErrorKind.ROOT_NOT_DIRECTORY, f"workspace root {shown} is not a directory"
        )
    return canonical


def _realpath(path: Path) -> Path:
    """The symlink-free form of an existing path. Raises OSError."""
    return Path(os.path.realpath(path, strict=True))


def _nearest_canonical_ancestor(path: Path) -> Path | None:
    for ancestor in (path, *path.parents):
        try:
            return _realpath(ancestor)
        except OSError:
            continue
    return None


def _lexists(path: Path) -> bool:
    """Whether something has that name, a dangling symlink included. Raises `WorkspaceError`."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _io(path, error) from None
    return True


def _outside(path: PurePath) -> WorkspaceError:
    return WorkspaceError(
        WorkspaceErrorKind.OUTSIDE_GRANTED_ROOTS,
        f"path {shown_path(path)} is outside the workspace",
    )


def _missing(path: PurePath) -> WorkspaceError:
    return WorkspaceError(WorkspaceErrorKind.MISSING, f"path {shown_path(path)} does not exist")


def _io(path: PurePath, error: OSError) -> WorkspaceError:
    reason = error.strerror or type(error).__name__
    return WorkspaceError(
        WorkspaceErrorKind.IO, f"path {shown_path(path)} cannot be used: {reason}"
    )
