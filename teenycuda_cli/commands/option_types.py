"""What options take: numbers that are refused with what was got and what was expected."""

from __future__ import annotations

import math

import click


class Whole(click.IntRange):
    """A whole number between bounds."""

    name = "whole number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; Click's own words call text a range."""
        try:
            number = int(str(value))
        except ValueError:
            self.fail(f"{str(value)!r} is no whole number", param, ctx)
        return int(super().convert(number, param, ctx))


class Seconds(click.FloatRange):
    """A time above 0 that ends."""

    name = "seconds"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds, as a float."""
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = math.nan
        if not (math.isfinite(seconds) and seconds > 0):
            self.fail(f"{str(value)!r}; expected a number of seconds above 0", param, ctx)
        return seconds


SECONDS = Seconds(min=0, min_open=True)
