"""The page of requirements, the tests that claim them and the code behind them agree, in every direction."""

from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.requirements.page import PAGE, TESTS, Requirement, claims, functions, requirements
from tests.requirements.prove import BREAKS, broken

IDS = [
    f"{letter}{number}"
    for letter, last in (
        *(("A", 11), ("B", 8), ("C", 8), ("D", 10), ("E", 10)),
        *(("F", 4), ("G", 10), ("H", 5), ("I", 7), ("J", 2), ("K", 12)),
    )
    for number in range(1, last + 1)
]
ROWS = requirements(PAGE.read_text(encoding="utf-8"))


def test_every_requirement_has_its_row() -> None:
    assert [row.name for row in ROWS] == IDS


def test_every_row_has_a_test_or_a_reason() -> None:
    assert [row.name for row in ROWS if not row.tests and not row.reason.startswith(("not here: ", "later: "))] == []
    assert [row.name for row in ROWS if bool(row.tests) != bool(row.code)] == []


def test_the_page_and_the_tests_claim_the_same() -> None:
    assert sorted((row.name, test) for row in ROWS for test in row.tests) == sorted(claims(TESTS))


def test_every_test_of_the_folder_claims_something() -> None:
    written = {f"{path.name}::{name}" for path in TESTS.glob("test_*.py") for name in functions(path)}
    assert {name for name in written if "::test_" in name} == {test for _, test in claims(TESTS)}


@pytest.mark.parametrize("row", [row for row in ROWS if row.code], ids=lambda row: row.name)
def test_the_code_behind_it_is_there(row: Requirement) -> None:
    for each in row.code:
        path, _, name = each.partition("::")
        assert name in functions(ROOT / "metagit_mcp" / path)


def test_a_row_is_read_as_it_stands() -> None:
    text = (
        "| id | clause | what |\n| D1 | WRK-1 | It asks | `a.py::test_x`, `b.py::test_y` | `d/e.py::C.f` |\n"
        "| D2 | 10.2 | It too | later: soon | – |\n"
    )
    assert requirements(text) == [
        Requirement("D1", "It asks", ("a.py::test_x", "b.py::test_y"), "", ("d/e.py::C.f",)),
        Requirement("D2", "It too", (), "later: soon", ()),
    ]


def test_a_claim_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        'def test_x():\n    """Claims D1, D2.\n\n    More.\n    """\ndef test_y():\n    """No claim."""\n'
        'def test_z(): ...\ndef other():\n    """Claims D3."""\n'
    )
    assert claims(tmp_path) == {("D1", "test_a.py::test_x"), ("D2", "test_a.py::test_x")}
    assert functions(tmp_path / "test_a.py") == {"test_x", "test_y", "test_z", "other"}


def test_every_line_to_break_is_there_once_and_behind_a_claimed_requirement() -> None:
    claimed = {row.name for row in ROWS if row.tests}
    assert [each.name for each in BREAKS if each.name not in claimed] == []
    assert len({each.name for each in BREAKS}) == len(BREAKS) >= 10
    for each in BREAKS:
        text = (ROOT / "metagit_mcp" / each.path).read_text(encoding="utf-8")
        assert broken(text, each.line, each.instead)[0] != text


def test_one_line_is_broken_and_the_others_stay() -> None:
    assert broken("a\n  b\nc\n", "b", "d") == ("a\n  d\nc\n", 2)
    for text in ("a\n", "b\nb\n"):
        with pytest.raises(ValueError, match="lines read: b"):
            broken(text, "b", "d")
