"""What `launch --bench` shows: the statistics, and a small histogram."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from teenycuda_cli.driver.benching.options import histogram
from teenycuda_cli.wording import counted

if TYPE_CHECKING:
    from teenycuda_cli.driver.benching.measuring import Measurement
    from teenycuda_cli.report.paint import Paint

BINS = 48
BARS = " ▁▂▃▄▅▆▇█"


def document(measurement: Measurement | None) -> dict[str, Any] | None:
    """The `bench` of the JSON document; times in microseconds."""
    if measurement is None:
        return None
    summary = measurement.summary
    return {
        "samples": summary.samples,
        "min_us": summary.min_us,
        "median_us": summary.median_us,
        "mean_us": summary.mean_us,
        "p95_us": summary.p95_us,
        "stdev_us": summary.stdev_us,
        "cold": summary.cold,
        "gbytes_per_s": summary.gbytes_per_s,
        "noise": summary.noise,
        "graph": measurement.graph,
    }


def lines(measurement: Measurement, paint: Paint) -> Iterator[str]:
    """The statistics in two lines, the samples' distribution in one."""
    summary = measurement.summary
    rate = f", {summary.gbytes_per_s:.4g} GB/s" if summary.gbytes_per_s else ""
    median = paint.strong(f"{_number(summary.median_us)} µs")
    yield f"bench   {median} median of {_kind(measurement)}{rate}"
    named = (("min", summary.min_us), ("mean", summary.mean_us), ("p95", summary.p95_us))
    spread = "  ".join(f"{name} {_number(value)}" for name, value in named)
    yield f"        {spread}  stdev {_number(summary.stdev_us)} µs  noise {100 * summary.noise:.2g} %"
    bins = histogram(measurement.samples_us, BINS)
    if len(bins) > 1:
        most = max(count for _, count in bins)
        drawn = "".join(BARS[-(-count * (len(BARS) - 1) // most)] for _, count in bins)
        yield f"        {_number(bins[0][0])} {drawn} {_number(bins[-1][0])} µs and above"
    if summary.noisy:
        yield f"        {paint.bad('noisy')}: a difference of a few percent to another run means nothing"


def _kind(measurement: Measurement) -> str:
    samples = measurement.summary.samples
    what = counted(
        samples,
        *(("replay of a graph", "replays of a graph") if measurement.graph else ("launch", "launches")),
    )
    return f"{what}, caches {'flushed' if measurement.summary.cold else 'warm'}"


def _number(microseconds: float) -> str:
    return f"{microseconds:,.0f}" if microseconds >= 1000 else f"{microseconds:.4g}"
