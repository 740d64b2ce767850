"""`python -m tests.bench [--quick] [--only NAME]... [--write PAGE]`: measures the ratios and prints their table.

A target that is missed is a row that says so, never a failure: timings depend on the machine.
"""

from __future__ import annotations

import argparse
import compileall
import sys
import sysconfig
import tempfile
from pathlib import Path

from tests.bench.cases import CASES, FULL, QUICK
from tests.bench.session import REPOSITORY
from tests.bench.table import HEAD, machine, section, table_line, write


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it runs")
    parser.add_argument("--only", action="append", choices=sorted(CASES), help="measure this case; repeatable")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    return parser.parse_args(arguments)


def command(chosen: argparse.Namespace) -> str:
    """What measures the same again; where the page lies is nobody's business."""
    named = [f"--only {name}" for name in chosen.only or []]
    return " ".join(["python -m tests.bench", *["--quick"] * chosen.quick, *named])


def compile_everything() -> None:
    """Byte-code first: whoever comes first must not pay for it."""
    for folder in (REPOSITORY / "metagit_mcp", REPOSITORY / "tests", Path(sysconfig.get_path("purelib"))):
        compileall.compile_dir(folder, quiet=2, workers=0)


def main(arguments: list[str]) -> int:
    chosen = parsed(arguments)
    compile_everything()
    print(f"{machine()}\n\n{HEAD}", end="", flush=True)
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        for name in chosen.only or CASES:
            for row in CASES[name](Path(folder), QUICK if chosen.quick else FULL):
                print(table_line(row), flush=True)
                rows.append(row)
    if chosen.write:
        write(chosen.write, section(rows, command(chosen)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
