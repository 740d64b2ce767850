"""The page of requirements as data, and what the tests and the code say for it. It must not judge either."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "conformance.md"
TESTS = ROOT / "tests" / "requirements"

_ROW = re.compile(r"^\| (?P<id>[A-Z]\d+) \| (?P<rest>.*) \|$", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_CLAIM = re.compile(r"^Claims ((?:[A-Z]\d+(?:, )?)+)\.$")


@dataclass(frozen=True)
class Requirement:
    """One row: the tests that claim it as file::name, or the reason why none does; the function behind it."""

    name: str
    asks: str
    tests: tuple[str, ...]
    reason: str
    code: tuple[str, ...]


def requirements(text: str) -> list[Requirement]:
    """The rows of the page, in its order."""
    return [_requirement(found["id"], found["rest"].split(" | ")) for found in _ROW.finditer(text)]


def _requirement(name: str, cells: list[str]) -> Requirement:
    _, asks, claimed, code = cells
    tests = tuple(_CODE.findall(claimed))
    return Requirement(name, asks, tests, "" if tests else claimed, tuple(_CODE.findall(code)))


def claims(folder: Path) -> set[tuple[str, str]]:
    """What the tests of a folder say of themselves: id and test, as file::name."""
    return {
        (name, f"{path.name}::{test.name}")
        for path in sorted(folder.glob("test_*.py"))
        for test in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_")
        for name in _claimed(ast.get_docstring(test) or "")
    }


def _claimed(docstring: str) -> list[str]:
    found = _CLAIM.match(docstring.split("\n\n", maxsplit=1)[0])
    return found[1].split(", ") if found else []


def functions(path: Path) -> set[str]:
    """The functions of a module, methods as Class.name."""
    return set(_functions(ast.parse(path.read_text(encoding="utf-8")).body, ""))


def _functions(body: list[ast.stmt], before: str) -> Iterator[str]:
    for each in body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{before}{each.name}"
        elif isinstance(each, ast.ClassDef):
            yield from _functions(each.body, f"{each.name}.")
