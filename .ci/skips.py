"""Fail if any test of the given JUnit reports was skipped, unless shared data was absent, or if none ran.

It reads reports only: it knows neither pytest nor the tests.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

# The one reason that a test may give for not running.
ALLOWED = "shared data is absent"


def forbidden_skips(report: Path) -> tuple[int, list[str]]:
    """The number of test cases in `report`, and a line for each skip without the allowed reason."""
    cases = list(ET.parse(report).iter("testcase"))  # noqa: S314 our own pytest wrote the report
    lines = []
    for case in cases:
        for skipped in case.iter("skipped"):
            reason = f"{skipped.get('message', '')} {skipped.text or ''}".strip()
            if ALLOWED not in reason.lower():
                lines.append(f"{case.get('classname')}::{case.get('name')} was skipped: {reason}")
    return len(cases), lines


def main(folder: Path) -> int:
    """Judge every report in `folder`; prints what is wrong and returns the exit code."""
    total, problems = 0, []
    for report in sorted(folder.glob("*.xml")):
        count, lines = forbidden_skips(report)
        total += count
        problems += lines if count else [f"{report}: no test ran"]
    if not total:
        problems.append(f"{folder}: no report of a test")
    print("\n".join(problems) or f"no forbidden skip in {total} tests")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
