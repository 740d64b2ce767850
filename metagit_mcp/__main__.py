"""Starts the program; it knows only how a run ends when nobody else can say it."""

import gc
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command line on the arguments of this process and return its exit code."""
    # One answer leaves too little garbage to look for; a server begins to look again by itself.
    gc.disable()
    try:
        if sys.argv[1:2] == ["hook"]:
            from metagit_mcp.interfaces.hooks import main as answer  # noqa: PLC0415 - it does without all the rest

            ended = answer(sys.argv[2:])
            if ended is not None:
                return ended
        from metagit_mcp.interfaces.cli.main import main as run  # noqa: PLC0415 - an interrupt may come while it loads

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
