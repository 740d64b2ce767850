"""Every row of the field cases about shares, slots, preemption, storage, replay and imports is a test of its number."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

# Sections E, F and H, and N13.
FAIRNESS: Final = (88, 89, 91, 92, 94, 95, 97, 98, 100, 101, 103, 104, 106, 107, 109)
SLOTS: Final = (110, 112, 113, 115, 116, 118, 119, 121, 122)
STORAGE: Final = (136, 137, 139, 140, 142, 143, 145, 146, 148, 149, 151, 152)
# Of all sections, what becomes of lists that other programs keep.
IMPORTS: Final = (37, 38, 47, 49, 52, 53, 58, 80, 83, 85, 86, 140, 145)
ROWS: Final = (*(f"{row:03}" for row in (*FAIRNESS, *SLOTS, *STORAGE, *IMPORTS)), "n13")
_TEST: Final = re.compile(r"^def test_(n?\d+)_", re.MULTILINE)


def test_every_row_about_shares_slots_storage_and_imports_is_a_test() -> None:
    files = Path(__file__).parent.glob("test_field_cases*.py")
    tested = {row for each in files for row in _TEST.findall(each.read_text())}
    assert [row for row in ROWS if row not in tested] == []


def test_every_row_about_imports_is_tried_by_importing() -> None:
    tested = _TEST.findall(Path(__file__).with_name("test_field_cases_import.py").read_text())
    assert sorted(set(tested)) == [f"{row:03}" for row in IMPORTS]
