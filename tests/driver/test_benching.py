"""What the samples of a measurement say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from teenycuda_cli.driver.benching.options import histogram, summarise
from teenycuda_cli.driver.device import BenchRun

SAMPLES = st.lists(st.floats(0.5, 1e6), min_size=1, max_size=200)


@given(SAMPLES)
def test_statistics_are_numpys(samples: list[float]) -> None:
    """Least, median, mean, 95th percentile and standard deviation are what numpy says."""
    summary = summarise(BenchRun(tuple(samples), cold=True))
    assert summary.samples == len(samples)
    assert summary.min_us == min(samples)
    assert summary.median_us == pytest.approx(np.median(samples))
    assert summary.mean_us == pytest.approx(np.mean(samples))
    assert summary.p95_us == pytest.approx(np.percentile(samples, 95))
    assert summary.stdev_us == pytest.approx(np.std(samples, ddof=1) if len(samples) > 1 else 0.0, abs=1e-9)


def test_bytes_per_second_at_the_median() -> None:
    """A thousand bytes in a microsecond are one gigabyte per second."""
    assert summarise(BenchRun((1.0, 1.0, 3.0), cold=True), 1000).gbytes_per_s == pytest.approx(1.0)
    assert summarise(BenchRun((1.0,), cold=True)).gbytes_per_s is None


def test_noise() -> None:
    """Samples of which the middle half spreads by more than a twentieth are called noisy."""
    assert not summarise(BenchRun((100.0, 101.0, 102.0, 103.0), cold=True)).noisy
    assert summarise(BenchRun((100.0, 120.0, 140.0, 160.0), cold=True)).noisy


@given(SAMPLES, st.integers(1, 40))
def test_histogram_counts_every_sample(samples: list[float], bins: int) -> None:
    """The bins begin at the least sample and hold all samples together."""
    found = histogram(tuple(samples), bins)
    assert found[0][0] == min(samples)
    assert sum(count for _, count in found) == len(samples)
