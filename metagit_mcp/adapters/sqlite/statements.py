"""Gives the SQL of a name, from the file of that name; it runs none."""

import os
from functools import cache
from pathlib import Path

_FOLDER = os.path.join(os.path.dirname(__file__), "sql")


@cache
def statement(name: str) -> str:
    """Return the text of `sql/<name>.sql`, read once."""
    return Path(_FOLDER, f"{name}.sql").read_text(encoding="utf-8")
