"""What has arrived of a provider's answer, so that an aborted turn keeps it (C86–C88, C18)."""

from __future__ import annotations

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.events import ToolCallUpdated
from rho_core.history.messages import (
    AbortedAssistant,
    ContentBlock,
    ModelIdentity,
    PartialToolCall,
    ProviderContextBlock,
    Text,
    ToolCall,
)
from rho_core.json_values import FrozenObject, freeze, parse_json
from rho_core.providers.contract import ProviderContext, ToolCallDelta
from rho_core.running.json_scan import ObjectScanner
from rho_core.usage import ModelUsage

_EMPTY_USAGE = ModelUsage()


class _Fragments:
    """One tool call that is being written, by its stream index."""

    __slots__ = ("arguments", "id", "name", "pieces", "scanner")

    def __init__(self) -> None:
        self.id: str | None = None
        self.name: str | None = None
        self.pieces: list[str] = []
        self.scanner = ObjectScanner()
        self.arguments: FrozenObject | None = None

    def call(self) -> ToolCall | None:
        """The call, once its arguments are whole and its id and name are known."""
        if self.arguments is None or not self.id or not self.name:
            return None
        return ToolCall(self.id, self.name, self.arguments)


class StreamCapture:
    """Folds the events of one attempt. Raw reasoning is not kept (C16)."""

    def __init__(self, identity: ModelIdentity) -> None:
        self._identity = identity
        self._content: list[list[str] | _Fragments] = []  # text pieces, or a call in its place
        self._open_text: list[str] | None = None
        self._seal_next = False
        self._summary: list[str] = []
        self._context: list[ProviderContextBlock] = []
        self._calls: dict[int, _Fragments] = {}
        self.usage = _EMPTY_USAGE

    def output(self, text: str) -> None:
        """Append answer text; neighbours merge into one block."""
        if self._open_text is not None:
            self._open_text.append(text)
            return
        piece = [text]
        self._content.append(piece)
        self._open_text = None if self._seal_next else piece
        self._seal_next = False

    def reasoning(self) -> None:
        """Note that raw reasoning arrived: it ends the text block before it."""
        self._open_text = None

    def reasoning_summary(self, text: str) -> None:
        """Append to the reasoning summary."""
        self._open_text = None
        self._summary.append(text)

    def tool_call(self, delta: ToolCallDelta) -> ToolCallUpdated:
        """Fold a fragment and return its event, with the id and name known so far (C18)."""
        self._open_text = None
        fragments = self._calls.get(delta.index)
        if fragments is None:
            fragments = self._calls[delta.index] = _Fragments()
        fragments.id = delta.id or fragments.id
        fragments.name = delta.name or fragments.name
        if delta.arguments:
            fragments.pieces.append(delta.arguments)
            if fragments.scanner.feed(delta.arguments):
                self._complete(fragments)
        return ToolCallUpdated(delta.index, fragments.id, fragments.name, delta.arguments)

    def context(self, event: ProviderContext) -> None:
        """Keep opaque replay data; the text that follows starts a block of its own."""
        try:
            data = freeze(event.data)
        except ValueError as error:
            raise ProviderError(
                ProviderErrorKind.INVALID_RESPONSE, f"provider context is not JSON: {error}"
            ) from None
        self._context.append(ProviderContextBlock(event.kind, self._identity, data, event.position))
        self._open_text = None
        self._seal_next = True

    def add_usage(self, usage: ModelUsage) -> None:
        """Merge a usage reading of the current physical attempt (C89)."""
        self.usage = self.usage.merge(usage)

    def take_usage(self) -> ModelUsage:
        """The usage so far, which now belongs to a failed physical attempt (C82)."""
        usage, self.usage = self.usage, _EMPTY_USAGE
        return usage

    @property
    def summary(self) -> str | None:
        """The reasoning summary, None when there is none."""
        return "".join(self._summary) or None

    @property
    def provider_context(self) -> tuple[ProviderContextBlock, ...]:
        """The retained context blocks, in stream order."""
        return tuple(self._context)

    def aborted_message(self) -> AbortedAssistant | None:
        """What arrived, as history keeps it; None when nothing worth keeping did (C88)."""
        message = AbortedAssistant(
            content=self._blocks(),
            reasoning_summary=self.summary,
            provider_context=self.provider_context,
            tool_calls=tuple(
                PartialToolCall(fragments.id, fragments.name, "".join(fragments.pieces))
                for _, fragments in sorted(self._calls.items())
            ),
            usage=self.usage,
        )
        empty = not (
            message.content
            or message.reasoning_summary
            or message.provider_context
            or message.tool_calls
        )
        return None if empty and message.usage.is_empty else message

    def _complete(self, fragments: _Fragments) -> None:
        try:
            value = parse_json("".join(fragments.pieces))
        except ValueError:
            return
        if isinstance(value, FrozenObject):
            fragments.arguments = value
            self._content.append(fragments)

    def _blocks(self) -> tuple[ContentBlock, ...]:
        blocks: list[ContentBlock] = []
        for entry in self._content:
            if isinstance(entry, _Fragments):
                call = entry.call()
                if call is not None:
                    blocks.append(call)
            elif text := "".join(entry):
                blocks.append(Text(text))
        return tuple(blocks)
