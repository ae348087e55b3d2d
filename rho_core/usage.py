"""Token accounting that never pretends to know what a provider did not say (C89, C90)."""

from __future__ import annotations

from dataclasses import dataclass, fields

_U64_MAX = 2**64 - 1


def _add(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return left if right is None else right
    return min(left + right, _U64_MAX)


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Tokens of one or more model calls. A missing number is None, not zero.

    `input_tokens` counts uncached prompt tokens only; `cost_usd_micros` is millionths of a dollar.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    total_tokens: int | None = None
    context_window: int | None = None
    cost_usd_micros: int | None = None

    @classmethod
    def from_inclusive_prompt(
        cls,
        prompt_tokens: int | None,
        output_tokens: int | None,
        *,
        cache_read_tokens: int | None = None,
        cache_write_tokens: int | None = None,
        total_tokens: int | None = None,
    ) -> ModelUsage:
        """From providers whose prompt count includes cached tokens."""
        uncached = None
        cached_known = cache_read_tokens is not None or cache_write_tokens is not None
        if prompt_tokens is not None and cached_known:
            uncached = max(0, prompt_tokens - (cache_read_tokens or 0) - (cache_write_tokens or 0))
        if total_tokens is None and prompt_tokens is not None:
            total_tokens = prompt_tokens + (output_tokens or 0)
        return cls(
            input_tokens=uncached,
            output_tokens=output_tokens,
            cache_read_tokens=cache_read_tokens,
            cache_write_tokens=cache_write_tokens,
            total_tokens=total_tokens,
        )

    def merge(self, later: ModelUsage) -> ModelUsage:
        """Add two readings field by field, saturating; the later context window wins."""
        summed = {
            f.name: _add(getattr(self, f.name), getattr(later, f.name))
            for f in fields(self)
            if f.name != "context_window"
        }
        window = self.context_window if later.context_window is None else later.context_window
        return ModelUsage(**summed, context_window=window)

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known."""
        return all(getattr(self, f.name) is None for f in fields(self))

    @property
    def total_input_tokens(self) -> int | None:
        """Uncached, cache-read and cache-written prompt tokens together, if any is known."""
        buckets = (self.input_tokens, self.cache_read_tokens, self.cache_write_tokens)
        known = [b for b in buckets if b is not None]
        return min(sum(known), _U64_MAX) if known else None

    @property
    def inclusive_prompt_tokens(self) -> int | None:
        """The best figure for the whole prompt: the buckets, or total minus output."""
        from_total = None
        if self.total_tokens is not None and self.output_tokens is not None:
            from_total = max(0, self.total_tokens - self.output_tokens)
        known = [n for n in (self.total_input_tokens, from_total) if n is not None]
        return max(known) if known else None
