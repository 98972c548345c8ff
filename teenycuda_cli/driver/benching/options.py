"""What the samples of a measurement say: spread, noise, bytes per second, a histogram."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from teenycuda_cli.driver.device import BenchRun

NOISY = 0.05
"""Above this relative spread of the middle half of the samples, differences of a few percent mean nothing."""


@dataclass(frozen=True, slots=True)
class BenchSummary:
    """Times of one launch in microseconds; `gbytes_per_s` at the median, None where no bytes are known."""

    samples: int
    min_us: float
    median_us: float
    mean_us: float
    p95_us: float
    stdev_us: float
    cold: bool
    gbytes_per_s: float | None
    noise: float  # (third quartile − first quartile) / median

    @property
    def noisy(self) -> bool:
        """Whether the samples spread so much that a small difference to another run means nothing."""
        return self.noise > NOISY


def summarise(run: BenchRun, moved_bytes: int | None = None) -> BenchSummary:
    """The statistics of a run of at least one sample; `moved_bytes` is what one launch reads and writes."""
    ordered = sorted(run.samples_us)
    count = len(ordered)
    mean = sum(ordered) / count
    median = quantile(ordered, 0.5)
    variance = sum((sample - mean) ** 2 for sample in ordered) / max(count - 1, 1)
    return BenchSummary(
        samples=count,
        min_us=ordered[0],
        median_us=median,
        mean_us=mean,
        p95_us=quantile(ordered, 0.95),
        stdev_us=sqrt(variance),
        cold=run.cold,
        gbytes_per_s=moved_bytes / median / 1e3 if moved_bytes and median else None,
        noise=(quantile(ordered, 0.75) - quantile(ordered, 0.25)) / median if median else 0.0,
    )


def quantile(ordered: list[float], fraction: float) -> float:
    """The quantile of ascending samples, interpolated between the two nearest (numpy's default)."""
    place = fraction * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def histogram(samples: tuple[float, ...], bins: int) -> tuple[tuple[float, int], ...]:
    """(lower edge, count) of each bin up to the 99th percentile; the last holds all above it, too."""
    ordered = sorted(samples)
    low, high = ordered[0], quantile(ordered, 0.99)
    width = (high - low) / bins
    if width <= 0:
        return ((low, len(ordered)),)
    counts = [0] * bins
    for sample in ordered:
        counts[min(int((sample - low) / width), bins - 1)] += 1
    return tuple((low + index * width, count) for index, count in enumerate(counts))
