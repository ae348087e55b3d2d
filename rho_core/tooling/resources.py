"""What a tool call touches, so that the planner can overlap what does not collide (D13–D16)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TypeAlias


class _Redacted:
    """Resource values may be secret: `repr` names the kind only (D13)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(..)"


@dataclass(frozen=True, slots=True, repr=False)
class WorkspacePath(_Redacted):
    """One canonical path."""

    path: PurePath


@dataclass(frozen=True, slots=True, repr=False)
class DirectoryTree(_Redacted):
    """A directory with everything below it."""

    path: PurePath


@dataclass(frozen=True, slots=True, repr=False)
class DirectoryMembership(_Redacted):
    """Which names a directory holds."""

    path: PurePath


@dataclass(frozen=True, slots=True, repr=False)
class ManagedProcess(_Redacted):
    """A background process by id."""

    id: str


@dataclass(frozen=True, slots=True, repr=False)
class SessionState(_Redacted):
    """State of the session itself."""


@dataclass(frozen=True, slots=True, repr=False)
class ManagerState(_Redacted):
    """State of a manager, by owner."""

    owner: str


@dataclass(frozen=True, slots=True, repr=False)
class ResponseStore(_Redacted):
    """A stored response by id."""

    id: str


@dataclass(frozen=True, slots=True, repr=False)
class Opaque(_Redacted):
    """Anything else; `owner` is a stable namespace."""

    owner: str
    key: str


ToolResource: TypeAlias = (
    WorkspacePath
    | DirectoryTree
    | DirectoryMembership
    | ManagedProcess
    | SessionState
    | ManagerState
    | ResponseStore
    | Opaque
)


class AccessMode(StrEnum):
    """Shared accesses overlap each other; exclusive ones overlap nothing."""

    SHARED = "shared"
    EXCLUSIVE = "exclusive"


@dataclass(frozen=True, slots=True)
class ToolResourceAccess:
    """One resource and how it is accessed."""

    resource: ToolResource
    mode: AccessMode

    @classmethod
    def shared(cls, resource: ToolResource) -> ToolResourceAccess:
        """Access that others may share."""
        return cls(resource, AccessMode.SHARED)

    @classmethod
    def exclusive(cls, resource: ToolResource) -> ToolResourceAccess:
        """Access that excludes all others."""
        return cls(resource, AccessMode.EXCLUSIVE)

    def conflicts_with(self, other: ToolResourceAccess) -> bool:
        """Whether the two accesses must not run at the same time (D14)."""
        if self.mode is AccessMode.SHARED and other.mode is AccessMode.SHARED:
            return False
        return overlaps(self.resource, other.resource)


def overlaps(left: ToolResource, right: ToolResource) -> bool:
    """Whether two resources can be the same thing. Symmetric; paths compare by component."""
    match left, right:
        case DirectoryTree(path=tree), WorkspacePath(path=path):
            return path.is_relative_to(tree)
        case DirectoryMembership(path=directory), WorkspacePath(path=path):
            return directory in (path, path.parent)
        case (DirectoryTree(path=a), DirectoryTree(path=b)) | (
            DirectoryMembership(path=a),
            DirectoryTree(path=b),
        ):
            return a.is_relative_to(b) or b.is_relative_to(a)
        case (WorkspacePath(), DirectoryTree() | DirectoryMembership()) | (
            DirectoryTree(),
            DirectoryMembership(),
        ):
            return overlaps(right, left)
        case _:
            return left == right
