"""Kernels of CUDA C++ whose threads wait for one another: grid barriers, barriers, pipelines, locks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from teenycuda_cli.errors import LaunchError
from tests.emulator.harness import Session

FOLDER = Path(__file__).parent / "ptx"
RANDOM = np.random.default_rng(5)


@pytest.fixture(params=["sm80", "sm90"])
def text(request: pytest.FixtureRequest) -> str:
    """The kernels of waiting.cu, compiled for two targets."""
    return (FOLDER / f"waiting.{request.param}.ptx").read_text()


def launch(
    text: str, name: str, *given: Any, lanes: int = 1 << 16, watchdog: int = 1 << 16, **how: Any
) -> NDArray[Any]:
    """Run a kernel; arrays become buffers, and what the one named `out` holds comes back."""
    session = Session(text, lanes=lanes, watchdog=watchdog)
    arguments = []
    for number, item in enumerate(given):
        if not isinstance(item, np.ndarray):
            arguments.append(item)
            continue
        arguments.append(session.buffer("out" if item is given[how.get("out", 1)] else f"b{number}", item))
    how.pop("out", None)
    session.launch(*arguments, name=name, **how)
    return session.values("out", np.int32)


def numbers(*shape: int) -> NDArray[np.int32]:
    """Random ones."""
    return RANDOM.integers(-100, 100, shape).astype(np.int32)


@pytest.mark.parametrize("lanes", [1 << 16, 256, 64])
@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (12, 64)])
def test_a_cooperative_grid_meets(text: str, blocks: int, threads: int, lanes: int) -> None:
    """After `grid.sync()` each thread sees what all blocks wrote, also where they do not run in one batch."""
    x, sums, out = numbers(300), np.zeros(blocks, np.int32), np.zeros(blocks * threads, np.int32)
    how: dict[str, Any] = {"grid": (blocks,), "block": (threads,), "cooperative": True}
    got = launch(text, "grid_sum", x, sums, out, 300, out=2, lanes=lanes, **how)
    np.testing.assert_array_equal(got, np.full(blocks * threads, 3 * x.sum()))


def test_a_grid_beyond_one_batch_meets(text: str) -> None:
    """130,000 threads are two batches, which wait for each other."""
    x, sums, out = numbers(300), np.zeros(130, np.int32), np.zeros(130 * 1000, np.int32)
    got = launch(text, "grid_sum", x, sums, out, 300, out=2, grid=(130,), block=(1000,), cooperative=True)
    np.testing.assert_array_equal(got, np.full(130 * 1000, 3 * x.sum()))


def test_a_cooperative_grid_that_no_device_holds_is_refused(text: str) -> None:
    """More threads than are resident at a time cannot meet."""
    x, sums, out = numbers(1), np.zeros(1, np.int32), np.zeros(1, np.int32)
    with pytest.raises(LaunchError, match="at once"):
        launch(text, "grid_sum", x, sums, out, 1, out=2, grid=(1000,), block=(1024,), cooperative=True)


def test_a_grid_that_was_not_launched_to_meet_traps(text: str) -> None:
    """Without a cooperative launch `grid.sync()` traps, as on hardware."""
    x, sums, out = numbers(1), np.zeros(1, np.int32), np.zeros(32, np.int32)
    with pytest.raises(LaunchError, match="trapped") as caught:
        launch(text, "grid_sum", x, sums, out, 1, out=2)
    assert caught.value.context[-1] == "a barrier of the whole grid traps without --cooperative"


@pytest.mark.parametrize("lanes", [1 << 16, 128, 64])
@pytest.mark.parametrize("blocks", [1, 7, 40])
def test_blocks_may_wait_for_later_ones(text: str, blocks: int, lanes: int) -> None:
    """A counter that all blocks wait for goes up to their number, whatever fits a batch."""
    got = launch(
        text,
        "own_grid_barrier",
        np.zeros(1, np.int32),
        np.zeros(blocks * 64, np.int32),
        grid=(blocks,),
        block=(64,),
        lanes=lanes,
    )
    np.testing.assert_array_equal(got, np.full(blocks * 64, blocks))


def test_a_block_that_cannot_be_resident_is_waited_for_in_vain(text: str) -> None:
    """Blocks that wait for one beyond what a device holds never end, and it is said why."""
    with pytest.raises(LaunchError, match="is stuck") as caught:
        launch(
            text,
            "own_grid_barrier",
            np.zeros(1, np.int32),
            np.zeros(400 * 1024, np.int32),
            grid=(400,),
            block=(1024,),
        )
    assert "begin" in " ".join(caught.value.context)


@pytest.mark.parametrize("threads", [32, 100, 256])
def test_a_barrier_object(text: str, threads: int) -> None:
    """Rows are reversed by threads that meet at a `cuda::barrier`."""
    x = numbers(5, threads)
    got = launch(text, "barrier_reverse", x, np.zeros(5 * threads, np.int32), grid=(5,), block=(threads,))
    np.testing.assert_array_equal(got.reshape(5, -1), x[:, ::-1])


@pytest.mark.parametrize("tiles", [1, 2, 7])
def test_a_block_pipeline(text: str, tiles: int) -> None:
    """A `cuda::pipeline` of a block brings tile after tile."""
    x = numbers(3, tiles, 256)
    got = launch(text, "pipeline_sum", x, np.zeros(3 * 256, np.int32), tiles, grid=(3,), block=(256,))
    np.testing.assert_array_equal(got.reshape(3, 256), x.sum(axis=1)[:, ::-1])


@pytest.mark.parametrize("turns", [1, 2, 9])
def test_a_thread_pipeline(text: str, turns: int) -> None:
    """Each thread's own pipeline holds one copy under way while it reads another."""
    x = numbers(turns, 4 * 128, 4)
    got = launch(text, "thread_pipeline", x, np.zeros(4 * 128, np.int32), turns, grid=(4,), block=(128,))
    np.testing.assert_array_equal(got, (x * [1, 2, 3, 4]).sum(axis=(0, 2)))


@pytest.mark.parametrize("count", [1, 64, 333, 512])
def test_a_group_copies(text: str, count: int) -> None:
    """`cooperative_groups::memcpy_async` copies any number of bytes."""
    x = numbers(3, count)
    got = launch(text, "group_copy", x, np.zeros(3 * count, np.int32), count, grid=(3,), block=(96,))
    np.testing.assert_array_equal(got.reshape(3, -1), x[:, ::-1])


@pytest.mark.parametrize("turns", [1, 20])
def test_a_producer_warp(text: str, turns: int) -> None:
    """One warp fills a box that three others empty, by two `cuda::barrier`s."""
    x = numbers(4, turns, 32)
    got = launch(text, "producer_consumer", x, np.zeros(4 * 128, np.int32), turns, grid=(4,), block=(128,))
    wanted = np.zeros((4, 4, 32))
    wanted[:, 1:] = x.sum(axis=1)[:, None, ::-1]
    np.testing.assert_array_equal(got.reshape(4, 4, 32), wanted)


@pytest.mark.parametrize("name", ["locked_count", "locked_atomic"])
@pytest.mark.parametrize("lanes", [1 << 16, 64])
def test_a_lock_is_handed_on(text: str, name: str, lanes: int) -> None:
    """Each thread of several blocks takes a spin lock once."""
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    got = launch(text, name, lock, count, grid=(5,), block=(64,), lanes=lanes)
    np.testing.assert_array_equal(got, [320])
