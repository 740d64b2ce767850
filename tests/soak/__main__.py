"""`python -m tests.soak [--seconds N] [--agents N] [--servers N] [--ledger sqlite|postgres] [--seed N]`: a fleet.

Prints a table of facts and figures, and ends with 1 when a fact does not hold.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.soak.run import Plan, run


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="how long the fleet works (default: 600)")
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--servers", type=int, default=2, choices=(1, 2), help="processes on one ledger (default: 2)")
    parser.add_argument("--ledger", choices=("sqlite", "postgres"), default="postgres")
    parser.add_argument("--seed", type=int, default=20261130)
    parser.add_argument(
        "--pace", type=float, default=2.0, help="the longest time that work takes, in seconds (default: 2)"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the workspace there, to look at it")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    chosen = parsed(arguments)
    plan = Plan(chosen.seconds, chosen.agents, chosen.servers, chosen.ledger, chosen.seed, chosen.pace)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        root = chosen.keep or Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        facts = asyncio.run(run(plan, root / "workspace"))
    for fact in facts:
        mark = {None: "", True: "holds", False: "FAILS"}[fact.holds]
        rows = [(fact.what, fact.figure, mark), *(("", more, "") for more in fact.more)]
        sys.stdout.write("".join(f"| {' | '.join(row)} |\n" for row in rows))
    return 1 if any(fact.holds is False for fact in facts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
