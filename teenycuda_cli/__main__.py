"""`teenycuda` and `python -m teenycuda_cli`."""

import gc
import os
import signal
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is signal.default_int_handler:  # not where a shell has it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # while we import, it ends us without a traceback
    gc.set_threshold(100_000)  # imports make tens of thousands of objects that stay: nothing to look through
    from teenycuda_cli.streams import prepare_streams  # noqa: PLC0415  (as below)

    prepare_streams()  # before anything is opened, which would get the number of a closed stream
    from teenycuda_cli.driver.registry import foresee  # noqa: PLC0415  (as below)

    foreseen = foresee(sys.argv[1:])
    from teenycuda_cli.cli import run  # noqa: PLC0415  (kept light: --version needs no more)

    signal.signal(signal.SIGINT, interrupt)
    code = run(sys.argv[1:], foreseen)
    if sys.stderr is not None:
        sys.stderr.flush()
    # All is written and given back. The interpreter's orderly end would take 30 ms more, and wait for the
    # driver of a GPU, which a command line with a mistake in it has started for nothing.
    os._exit(code)


if __name__ == "__main__":
    main()
