"""Where floating arithmetic goes wrong: bits around every border, ties, cancellation, and any bits at all."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from tests.numerics.exact_reference import Layout


def edges(layout: Layout) -> list[int]:
    """Both signs of zero, one, subnormals, the borders of the range, infinity, NaN, and mixed patterns."""
    one = layout.bias << layout.fraction
    unit = 1 << layout.fraction
    positive = [0, 1, 2, unit - 1, unit, unit + 1, one - 1, one, one + 1, one + unit, one + unit // 2]
    positive += [
        layout.infinity - 1,
        layout.infinity - unit,
        layout.infinity,
        layout.infinity + 1,
        layout.nan,
    ]
    positive += [one + unit // 3, one - unit - unit // 3, one + 5 * unit + unit // 5]
    return positive + [bits | layout.sign for bits in positive]


def combinations(layout: Layout, count: int) -> list[tuple[int, ...]]:
    """Every edge with every edge."""
    return list(itertools.product(edges(layout), repeat=count))


def bits(layout: Layout) -> st.SearchStrategy[int]:
    """Bits of a format, often with a short or full fraction and an exponent near the others'."""
    fraction = st.one_of(
        st.integers(0, (1 << layout.fraction) - 1),
        st.integers(0, 3),
        st.integers(1, 4).map(lambda k: (1 << layout.fraction) - k),
        st.integers(0, 7).map(lambda k: k << max(layout.fraction - 3, 0)),
        st.integers(0, (1 << (layout.fraction // 2)) - 1).map(lambda k: k << (layout.fraction + 1) // 2),
    )
    top = (1 << layout.exponent) - 1
    exponent = st.one_of(
        st.integers(0, top),
        st.integers(0, 2),
        st.integers(top - 2, top),
        st.integers(layout.bias - 4, layout.bias + 4),
        st.integers(max(layout.bias // 2 - 3, 0), layout.bias // 2 + 3),
    )
    return st.tuples(st.booleans(), exponent, fraction).map(
        lambda parts: parts[0] << (layout.width - 1) | parts[1] << layout.fraction | parts[2]
    )


def rows(layout: Layout, count: int) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Rows of operands; some repeat an operand with another sign, so that sums cancel."""
    single = bits(layout)
    row = st.tuples(*[single] * count)
    twin = st.tuples(single, st.integers(-2, 2)).map(
        lambda pair: (pair[0], *[((pair[0] ^ layout.sign) + pair[1]) % (1 << layout.width)] * (count - 1))
    )
    return st.lists(st.one_of(row, row, twin), min_size=2, max_size=40)
