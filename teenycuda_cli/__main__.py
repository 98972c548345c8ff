"""`teenycuda` and `python -m teenycuda_cli`."""

import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from teenycuda_cli.cli import run  # noqa: PLC0415  (kept light: --version needs no more)

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
