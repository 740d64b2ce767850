"""Starts the program; it knows only how a run ends when nobody else can say it."""

import gc
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command line on the arguments of this process and return its exit code."""
    # One answer leaves too little garbage to look for; a server begins to look again by itself.
    gc.disable()
    try:
        from metagit_mcp.interfaces.cli.main import main as run  # noqa: PLC0415 - an interrupt may come while it loads

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
