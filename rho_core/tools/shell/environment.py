"""The variables of a shell command: the host's policy, then values that nothing can hang on.

No terminal, pager or editor may wait for a person: there is none (decisions, "Shell").
"""

from __future__ import annotations

from collections.abc import Mapping

from rho_core.authority.capabilities import ProcessEnvironment

#: Set for every command, whatever was inherited.
NON_INTERACTIVE: Mapping[str, str] = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_PAGER": "cat",
    "GH_PAGER": "cat",
    "BAT_PAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "AWS_PAGER": "",
    # `true` accepts the text as it is: a commit without a message is refused, a rebase goes on
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GCM_INTERACTIVE": "never",
    "SSH_ASKPASS_REQUIRE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
}
#: Never inherited: they force colours on programs that ask whether there is a terminal.
DROPPED = ("FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM")


def shell_environment(
    policy: ProcessEnvironment, parent: Mapping[str, str], cwd: str
) -> dict[str, str]:
    """The child's variables: what `policy` lets through of `parent`, then the fixed values."""
    variables = policy.compose(dict(parent))
    for name in DROPPED:
        variables.pop(name, None)
    return {**variables, **NON_INTERACTIVE, "PWD": cwd}
