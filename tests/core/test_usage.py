"""Usage: unknown stays unknown (C89, C90)."""

from __future__ import annotations

import pytest

from rho_core.usage import ModelUsage

FROM_PROMPT = ModelUsage.from_inclusive_prompt


@pytest.mark.clause("C90")
def test_an_inclusive_prompt_claims_uncached_tokens_only_when_the_cache_is_known() -> None:
    mute = FROM_PROMPT(100, 20)
    assert (mute.input_tokens, mute.total_tokens) == (None, 120)
    assert mute.inclusive_prompt_tokens == 100
    known = FROM_PROMPT(100, 20, cache_read_tokens=20)
    assert (known.input_tokens, known.total_input_tokens) == (80, 100)
    zero = FROM_PROMPT(100, 20, cache_read_tokens=0)
    assert zero.input_tokens == 100
    both = FROM_PROMPT(100, None, cache_read_tokens=30, cache_write_tokens=80)
    assert (both.input_tokens, both.total_tokens) == (0, 100)
    assert FROM_PROMPT(None, 5, total_tokens=9).inclusive_prompt_tokens == 4
    assert FROM_PROMPT(None, None) == ModelUsage()


@pytest.mark.clause("C90")
def test_merging_known_and_mute_readings_recovers_the_whole_prompt() -> None:
    merged = FROM_PROMPT(100, 10, cache_read_tokens=20).merge(FROM_PROMPT(100, 10))
    assert (merged.input_tokens, merged.cache_read_tokens) == (80, 20)
    assert merged.inclusive_prompt_tokens == 200


@pytest.mark.clause("C89")
def test_merge_sums_treats_missing_as_absent_and_keeps_the_latest_window() -> None:
    left = ModelUsage(input_tokens=1, context_window=10, cost_usd_micros=5)
    right = ModelUsage(input_tokens=2, output_tokens=0, context_window=20)
    assert left.merge(right) == ModelUsage(3, 0, context_window=20, cost_usd_micros=5)
    assert right.merge(left).context_window == 10
    assert left.merge(ModelUsage()) == left
    assert ModelUsage().merge(left) == left
    assert ModelUsage().merge(ModelUsage()).is_empty


@pytest.mark.clause("C89", "C90")
def test_sums_saturate() -> None:
    top = 2**64 - 1
    full = ModelUsage(input_tokens=top, cache_read_tokens=top)
    assert full.merge(full).input_tokens == top
    assert full.total_input_tokens == top


@pytest.mark.clause("C90")
def test_totals_need_something_to_go_on() -> None:
    assert ModelUsage().total_input_tokens is None
    assert ModelUsage(total_tokens=100).inclusive_prompt_tokens is None
    assert ModelUsage(output_tokens=30, total_tokens=20).inclusive_prompt_tokens == 0
    larger = ModelUsage(input_tokens=50, output_tokens=10, total_tokens=100)
    assert larger.inclusive_prompt_tokens == 90
    assert not ModelUsage(output_tokens=0).is_empty
