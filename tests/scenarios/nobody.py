"""Runs commands of the program as a user who owns nothing: `python -m tests.scenarios.nobody ROOT COMMANDS`.

COMMANDS is a JSON list of argument lists; exit codes and answers of all are told as JSON. It must not know what a
command does.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from metagit_mcp.interfaces.cli.main import main

NOBODY = 65534


def told(root: Path | str, command: list[str]) -> tuple[int, dict[str, Any]]:
    """Run one command in this process; return its exit code and the record it prints."""
    printed = io.BytesIO()
    screen, sys.stdout = sys.stdout, io.TextIOWrapper(printed, encoding="utf-8")
    try:
        code = main([*command, "--workspace", str(root), "--json"])
        return code, json.loads(printed.getvalue())
    finally:
        sys.stdout = screen


def give_up_all_rights(root: str, commands: list[list[str]]) -> None:
    """Run all once on a copy, since what is imported late may lie where nobody can read it; then be nobody."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(root, Path(folder) / "copy", symlinks=True)
        for command in commands:
            told(copy, command)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


if __name__ == "__main__":
    given: list[list[str]] = json.loads(sys.argv[2])
    give_up_all_rights(sys.argv[1], given)
    json.dump([told(sys.argv[1], each) for each in given], sys.stdout)
