"""`teenycuda devices`: list what kernels can be launched on."""

from __future__ import annotations

import json

import click

from teenycuda_cli.report.messages import tell


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(as_json: bool) -> int:
    """List the devices that kernels can be launched on: the emulator, and each GPU with its properties.

    \b
    Example:
        teenycuda devices
        teenycuda devices --json
    """
    from teenycuda_cli.driver.registry import list_devices  # noqa: PLC0415  (not for --help)
    from teenycuda_cli.report.devices import document, lines  # noqa: PLC0415  (as above)

    devices = list_devices(tell)
    if as_json:
        click.echo(json.dumps(document(devices), indent=2))
    else:
        click.echo("\n".join(lines(devices)))
    return 0
