"""Cards of `edit` and `apply_patch`: one argument names and changes files (APP2.32, T29.2)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rho_core.tools.edit.projection import Projection

DOCUMENT_TOOLS = frozenset({"edit", "apply_patch"})


def project(name: str, arguments: Mapping[str, Any]) -> Projection | None:
    """What the call's document says so far; None for other tools and without a file in it."""
    text = arguments.get("input")
    if name not in DOCUMENT_TOOLS or not isinstance(text, str):
        return None
    return _project(name, text)


@lru_cache(maxsize=4)
def _project(name: str, text: str) -> Projection | None:
    """Remembered, as one card asks for its header, its facts and its body."""
    if name == "edit":
        from rho_core.tools.edit.hashline.projection import project_edit

        projection = project_edit(text)
    else:
        from rho_core.tools.edit.apply_patch.projection import project_patch

        projection = project_patch(text)
    return projection if projection.files else None


def document_primary(name: str, arguments: Mapping[str, Any]) -> str:
    """The file of the call, or how many it names."""
    projection = project(name, arguments)
    if projection is None:
        return ""
    if len(projection.files) == 1:
        return projection.files[0].shown
    more = "+" if projection.is_cut else ""
    return f"{len(projection.files)}{more} files"
