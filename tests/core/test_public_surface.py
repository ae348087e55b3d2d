"""`rho_core.__all__` is the supported surface: known, documented and typed."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import rho_core

STORED = Path(__file__).with_name("public_names.txt")


def test_the_public_names_are_the_stored_ones() -> None:
    """A name that is added or removed on purpose is added to or removed from the list."""
    assert list(rho_core.__all__) == STORED.read_text().split()


def undocumented(value: Any) -> list[str]:
    """The public methods and properties of a class that say nothing about themselves."""
    silent = []
    for name, member in vars(value).items():
        if name.startswith("_"):
            continue
        function = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if inspect.isfunction(function) and not inspect.getdoc(function):
            silent.append(f"{value.__name__}.{name}")
    return silent


def is_described(value: Any) -> bool:
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return True  # an alias, described where it is written
    # a dataclass without a docstring describes itself by its signature
    return bool(value.__doc__) and not value.__doc__.startswith(f"{value.__name__}(")


def test_every_public_class_and_function_is_documented() -> None:
    public = {name: getattr(rho_core, name) for name in rho_core.__all__}
    assert [name for name, value in public.items() if not is_described(value)] == []
    classes = [value for value in public.values() if inspect.isclass(value)]
    assert [member for value in classes for member in undocumented(value)] == []


def test_the_package_is_marked_as_typed() -> None:
    assert Path(rho_core.__file__).with_name("py.typed").is_file()
