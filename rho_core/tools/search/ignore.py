"""Ignore rules of git and ripgrep: `.gitignore`, `.ignore`, `info/exclude`, global excludes (13.4).

Rules are hostile text: files are bounded and never waited for, patterns that do not parse are left
out, and matching is linear (RE2).
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re2
    from pathspec import GitIgnoreSpec

MAX_RULE_BYTES = 256 * 1024
MAX_RULES = 5_000
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")


class RuleFile:
    """The rules of one file."""

    def __init__(self, spec: GitIgnoreSpec) -> None:
        self.spec = spec

    @cached_property
    def screen(self) -> re2._Regexp[bytes] | None:
        """Finds in many lines at once whether a rule matches any; None if it cannot be told."""
        import re2

        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        # what matches a line by itself matches it among others: these have no look-around
        sources = [
            f"(?:{_NAMED_GROUP.sub('(?:', pattern.regex.pattern)})"
            for pattern in self.spec.patterns
            if pattern.include is not None and pattern.regex is not None
        ]
        try:
            return re2.compile(f"(?m){'|'.join(sources)}".encode(), options)
        except (re2.error, UnicodeEncodeError):
            return None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one directory, with those of its parents behind them. `base` ends with `/`."""

    base: str
    parent: IgnoreRules | None
    gitignore: RuleFile | None
    ignore: RuleFile | None
    #: Rules for the whole tree, strongest first, relative to the repository or the search root.
    general: tuple[tuple[str, RuleFile], ...] = ()
    #: All of them, the strongest first, each with what its paths are relative to.
    ordered: tuple[tuple[str, RuleFile], ...] = field(init=False)

    def __post_init__(self) -> None:
        chain: list[IgnoreRules] = []
        rules: IgnoreRules | None = self
        while rules is not None:
            chain.append(rules)
            rules = rules.parent
        ordered = [(one.base, one.ignore) for one in chain if one.ignore is not None]
        ordered += [(one.base, one.gitignore) for one in chain if one.gitignore is not None]
        object.__setattr__(self, "ordered", (*ordered, *self.general))

    def verdict(self, path: str, is_directory: bool) -> bool | None:
        """True: ignored, False: re-included by a `!` rule, None: no rule says anything.

        `.ignore` is stronger than `.gitignore`, and deeper rules are stronger than higher ones.
        """
        if not self.ordered:
            return None
        shown = path + "/" if is_directory else path
        if not shown.isascii():
            shown = shown.encode("utf-8", "replace").decode()
        for base, rules in self.ordered:
            if shown.startswith(base):
                include = rules.spec.check_file(shown[len(base) :]).include
                if include is not None:
                    return include
        return None

    def may_decide(self, directory: str, names: Sequence[str]) -> bool:
        """Whether `verdict` can say anything of the entries of a directory below.

        `names` are theirs, with a `/` after those of directories. One look at all of them: most
        directories hold nothing that any rule speaks of.
        """
        if not self.ordered:
            return False
        below = _base(directory)
        for base, rules in self.ordered:
            if not below.startswith(base):
                continue
            screen = rules.screen
            prefix = below[len(base) :]
            text = prefix + f"\n{prefix}".join(names)
            # a name with a line feed, of the directory or of an entry, is two lines here
            if screen is None or text.count("\n") != len(names) - 1:
                return True
            if screen.search(text.encode("utf-8", "replace")) is not None:
                return True
        return False

    def enter(self, directory: str) -> IgnoreRules:
        """The rules below `directory`, an absolute path; these same rules if it adds none."""
        gitignore = _load(os.path.join(directory, ".gitignore"))  # noqa: PTH118 - a hot path
        ignore = _load(os.path.join(directory, ".ignore"))  # noqa: PTH118
        if gitignore is None and ignore is None:
            return self
        return IgnoreRules(_base(directory), self, gitignore, ignore, self.general)


def rules_for(root: Path, *, use_global_excludes: bool = True) -> IgnoreRules:
    """The rules that hold in `root`, those of its parents included (up to the repository's root).

    When the parents' rules ignore `root` itself they are left out: it was asked for by name.
    """
    repository = _repository_of(root)
    base = root if repository is None else repository
    general = _general_rules(base, repository, use_global_excludes)
    rules = IgnoreRules(_base(str(base)), None, None, None, general)
    parents = [
        parent
        for parent in reversed(root.parents)
        if repository is None or parent.is_relative_to(repository)
    ]
    for parent in parents:
        rules = rules.enter(str(parent))
    if any(rules.verdict(str(part), True) for part in (*parents, root)):
        rules = IgnoreRules(_base(str(root)), None, None, None)
    return rules.enter(str(root)) if root.is_dir() else rules


def compile_rules(lines: Iterable[str]) -> GitIgnoreSpec | None:
    """The rules that `lines` hold; lines that are no rule are left out. None for none."""
    from pathspec import GitIgnoreSpec

    rules = [line for line in lines if line.strip() and not line.startswith("#")][:MAX_RULES]
    if not rules:
        return None
    try:
        return GitIgnoreSpec.from_lines(rules)
    except Exception:  # noqa: BLE001 - hostile patterns fail in many ways: leave those out
        valid = [rule for rule in rules if _is_rule(rule)]
    try:
        return GitIgnoreSpec.from_lines(valid) if valid else None
    except Exception:  # noqa: BLE001 - each is fine but together they are too much
        return None


def _is_rule(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except Exception:  # noqa: BLE001 - see above
        return False
    return True


def _load(path: str, *, follow: bool = False) -> RuleFile | None:
    text = _read(path, follow=follow)
    if not text:
        return None
    spec = compile_rules(line.removesuffix("\r") for line in text.split("\n"))
    return None if spec is None else RuleFile(spec)


def _read(path: str, *, follow: bool = False) -> str:
    """A small regular file as text; empty if it is none. Git follows no link to `.gitignore`."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    if not follow:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        if not follow and not stat.S_ISREG(os.lstat(path).st_mode):
            return ""
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        data = os.read(descriptor, MAX_RULE_BYTES)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def _base(directory: str) -> str:
    return directory if directory.endswith("/") else directory + "/"


def _repository_of(root: Path) -> Path | None:
    for directory in (root, *root.parents):
        with contextlib.suppress(OSError):
            if (directory / ".git").exists():
                return directory
    return None


def _general_rules(
    base: Path, repository: Path | None, use_global_excludes: bool
) -> tuple[tuple[str, RuleFile], ...]:
    files: list[Path] = []
    if repository is not None:
        files.append(_git_folder(repository) / "info" / "exclude")
    if use_global_excludes:
        files += _global_excludes()
    specs = [_load(str(file), follow=True) for file in files]
    return tuple((_base(str(base)), spec) for spec in specs if spec is not None)


def _git_folder(repository: Path) -> Path:
    """`.git`, or where the `.git` file of a worktree or submodule points to."""
    folder = repository / ".git"
    text = _read(str(folder)).strip()
    if not text.startswith("gitdir:"):
        return folder
    folder = repository / text.removeprefix("gitdir:").strip()
    common = _read(str(folder / "commondir")).strip()
    return folder / common if common else folder


def _global_excludes() -> list[Path]:
    """The user's excludes file: `core.excludesFile`, or git's default place."""
    home = os.environ.get("HOME")
    config_home = os.environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    configured = None
    for config in (f"{config_home}/git/config" if config_home else "", f"{home}/.gitconfig"):
        if config and home:
            configured = _excludes_setting(_read(config, follow=True)) or configured
    if configured is not None:
        if configured.startswith("~/") and home:
            configured = f"{home}/{configured[2:]}"
        return [Path(configured)] if configured.startswith("/") else []
    return [Path(config_home, "git", "ignore")] if config_home else []


def _excludes_setting(config: str) -> str | None:
    section, found = "", None
    for raw in config.split("\n"):
        line = raw.strip()
        if line.startswith("["):
            section = line.strip("[]").strip().lower()
        elif section == "core" and "=" in line:
            key, _, value = line.partition("=")
            if key.strip().lower() == "excludesfile":
                found = value.strip().strip('"')
    return found or None
