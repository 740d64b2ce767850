"""Gives the SQL of a name, from the file of that name; it runs none."""

from functools import cache
from pathlib import Path


@cache
def statement(name: str) -> bytes:
    """Return the text of `sql/<name>.sql`, read once."""
    return Path(__file__).parent.joinpath("sql", f"{name}.sql").read_bytes()
