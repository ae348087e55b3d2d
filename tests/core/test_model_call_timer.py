"""Timing of model calls (K.3 model_call_timer_tests)."""

from __future__ import annotations

import pytest

from rho_core.events import ModelCallMetrics
from rho_core.running.metrics import ModelCallTimer


class Now:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.mark.clause("C93")
def test_records_first_generated_and_final_provider_observations() -> None:
    now = Now()
    timer = ModelCallTimer(now)
    timer.observe(101.0, False)
    timer.observe(102.0, True)
    timer.observe(103.0, False)
    now.at = 110.0
    metrics = timer.finish(30)
    assert metrics.time_to_first_token == 2.0
    assert metrics.generation_time == 1.0
    assert metrics.total_latency == 3.0


@pytest.mark.clause("C93")
def test_synthesised_output_has_no_generation_timing() -> None:
    now = Now()
    timer = ModelCallTimer(now)
    timer.observe(None, True)
    now.at = 104.0
    metrics = timer.finish(30)
    assert (metrics.time_to_first_token, metrics.generation_time) == (None, None)
    assert metrics.total_latency == 4.0
    assert metrics.generation_rate is None


@pytest.mark.clause("C82")
def test_a_failed_physical_attempt_restarts_every_duration() -> None:
    now = Now()
    timer = ModelCallTimer(now)
    timer.observe(101.0, True)
    now.at = 105.0
    timer.restart()
    timer.observe(106.0, True)
    timer.observe(108.0, True)
    metrics = timer.finish(None)
    assert (metrics.time_to_first_token, metrics.total_latency) == (1.0, 3.0)


@pytest.mark.clause("C83")
def test_generation_output_tokens_stay_separate_from_the_aggregate() -> None:
    timer = ModelCallTimer(Now())
    timer.generation_output_tokens(30)
    assert timer.finish(100).generation_output_tokens == 30
    timer.generation_output_tokens(-1)
    assert timer.finish(100).generation_output_tokens is None
    timer.generation_output_tokens(True)
    assert timer.finish(100).generation_output_tokens is None


@pytest.mark.clause("C93")
def test_rates_need_tokens_and_a_time_window() -> None:
    assert ModelCallMetrics(40, 1.0, 2.0, 4.0).response_rate == 10.0
    assert ModelCallMetrics(40, 1.0, 2.0, 4.0).generation_rate == 20.0
    assert ModelCallMetrics(40, 1.0, 2.0, 4.0, 10).generation_rate == 5.0
    assert ModelCallMetrics(None, 1.0, 2.0, 4.0).response_rate is None
    assert ModelCallMetrics(40, None, None, 0.0).response_rate is None
    assert ModelCallMetrics(40, None, None, 1.0).generation_rate is None
