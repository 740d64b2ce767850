"""The generated pages say what the code says, and a page that does not is noticed."""

import re
import shutil
import sys
from pathlib import Path
from typing import get_args

from metagit_mcp.domain.events import EVENT_KINDS
from metagit_mcp.domain.transitions import Trigger
from tests import ready
from tests.docs.pages import ROOT

REFERENCE = ROOT / "docs" / "reference"


def check(docs: Path) -> tuple[int, str]:
    """Exit code and output of the generator's check in a copy of the documentation."""
    command = [sys.executable, str(docs / "generate.py"), "--check"]
    done = ready.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_pages_are_what_the_code_says() -> None:
    assert check(ROOT / "docs") == (0, "the documentation is current\n")


def test_a_page_that_differs_is_shown(tmp_path: Path) -> None:
    docs = Path(shutil.copytree(ROOT / "docs", tmp_path / "docs"))
    page = docs / "reference" / "errors.md"
    page.write_text(page.read_text(encoding="utf-8").replace("READ_ONLY", "READ_NEVER"))
    ended, said = check(docs)
    assert (ended, "-| `READ_NEVER` |" in said, "+| `READ_ONLY` |" in said) == (1, True, True)


def test_a_missing_page_is_shown(tmp_path: Path) -> None:
    docs = Path(shutil.copytree(ROOT / "docs", tmp_path / "docs"))
    (docs / "reference" / "policy.md").unlink()
    ended, said = check(docs)
    assert (ended, "+# policy.json" in said) == (1, True)


def test_a_part_of_a_page_that_differs_is_shown(tmp_path: Path) -> None:
    docs = Path(shutil.copytree(ROOT / "docs", tmp_path / "docs"))
    page = docs / "explanation" / "work.md"
    page.write_text(page.read_text(encoding="utf-8").replace("active --> active", "active --> open"))
    ended, said = check(docs)
    assert ended == 1
    assert "-    active --> open: start, heartbeat, checkpoint" in said
    assert "+    active --> active: start, heartbeat, checkpoint" in said


def test_a_part_without_its_place_is_shown(tmp_path: Path) -> None:
    docs = Path(shutil.copytree(ROOT / "docs", tmp_path / "docs"))
    page = docs / "explanation" / "work.md"
    page.write_text(page.read_text(encoding="utf-8").replace("<!-- made: states -->", ""))
    ended, said = check(docs)
    assert (ended, "+<!-- made: states -->" in said) == (1, True)


def test_every_event_has_its_section() -> None:
    sections = re.findall(r"^## (\w+)$", (REFERENCE / "events.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections == [*EVENT_KINDS, "Records"]


def test_every_trigger_is_in_the_table_of_transitions() -> None:
    page = (ROOT / "docs" / "explanation" / "work.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| `(\w+)` \| [^|]+ \|", page, re.MULTILINE)
    assert set(rows) == set(get_args(Trigger))


def test_every_error_code_has_its_row() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (REFERENCE / "errors.md").read_text(encoding="utf-8"), re.MULTILINE)
    defined = (ROOT / "metagit_mcp" / "errors.py").read_text(encoding="utf-8")
    assert sorted(rows) == sorted(set(re.findall(r'^    code = "(\w+)"$', defined, re.MULTILINE)))
