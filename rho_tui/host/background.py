"""News of background processes, told to the model with the next prompt (T17.14).

The notice is a text block before the prompt's own: the model reads both, people see them apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from rho_core.history.messages import ContentBlock, Text
from rho_core.inputs import UserInput
from rho_core.tools.process.notice import NOTICE_HEAD, ProcessNotice


def with_notice(prompt: UserInput, notice: ProcessNotice) -> UserInput:
    """The prompt, with the notice before it."""
    return UserInput((Text(f"{notice.text}\n\n"), *prompt.content))


def without_notice(content: Sequence[ContentBlock]) -> tuple[ContentBlock, ...]:
    """What a person wrote of a prompt that may carry a notice."""
    first, *rest = content or (None,)
    if rest and isinstance(first, Text) and first.text.startswith(NOTICE_HEAD):
        return tuple(rest)
    return tuple(content)
