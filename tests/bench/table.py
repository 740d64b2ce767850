"""Renders the rows as the markdown table of docs/reference/performance.md and puts it there.

Must not know: how anything was measured. No machine is named beyond its processors and its Python.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.bench.series import Row

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
HEAD = (
    "| Measured | Target | Result | Met | Ours, min / median | Other, min / median | Rounds |\n"
    "|---|---|---|---|---|---|---|\n"
)
PAGE = f"""# Performance

Every figure is a ratio of two medians (or bytes a node), measured in turn in one run, so that it holds on
other machines too. `make bench` measures again.

{BEGIN}
{END}
"""


def machine() -> str:
    """What the figures depend on, and nothing that tells whose machine it was."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} processors, {platform.system()}, {python}, mcp {version('mcp')}"


def table_line(row: Row) -> str:
    """One row of the table."""
    target = "" if row.target is None else f"≤ {row.target:g} {row.unit}".rstrip()
    measured = "" if row.measured is None else f"{row.measured:.{0 if row.measured >= 100 else 2}f} {row.unit}".rstrip()
    cells = (row.what, target, measured, row.met, row.ours, row.other, str(row.rounds))
    return "| " + " | ".join(cells) + " |"


def section(rows: Iterable[Row], command: str) -> str:
    """The machine, the table, and the command that made it."""
    lines = "\n".join(map(table_line, rows))
    return f"{machine()}. Measured with `{command}`.\n\n{HEAD}{lines}\n"


def write(path: Path, text: str) -> None:
    """Replace the measured section of the page and leave what people wrote around it."""
    page = path.read_text(encoding="utf-8") if path.exists() else PAGE
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        before, after = page.rstrip("\n") + "\n\n", "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")
