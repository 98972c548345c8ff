"""`devices`: the emulator is always there, a GPU with its seventeen properties where there is one."""

from __future__ import annotations

import json

import pytest

from teenycuda_cli.cli import run

PROPERTIES = {
    "id", "name", "major", "minor", "multi_processor_count", "total_global_mem", "shared_mem_per_block",
    "regs_per_block", "warp_size", "max_threads_per_block", "max_threads_per_multi_processor",
    "max_blocks_per_multi_processor", "max_threads_dim", "max_grid_size", "memory_bus_width", "l2_cache_size",
    "concurrent_kernels", "shared_mem_per_block_optin", "driver_version",
}  # fmt: skip


def test_the_emulator_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """The emulator comes first, by the name that --device takes."""
    assert run(["devices"]) == 0
    assert capsys.readouterr().out.startswith("cpu  embedded emulator")


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    """Every device has every property, null where it has none."""
    assert run(["devices", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "teenycuda.devices/1"
    assert document["devices"][0]["kind"] == "cpu"
    for device in document["devices"]:
        assert set(device) >= PROPERTIES


@pytest.mark.cuda
def test_a_gpu_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """A GPU has its name, compute capability and memory."""
    assert run(["devices", "--json"]) == 0
    gpu = json.loads(capsys.readouterr().out)["devices"][1]
    assert gpu["kind"] == "cuda"
    assert gpu["id"] == 0
    assert gpu["total_global_mem"] > 0
    assert all(gpu[name] is not None for name in PROPERTIES)
