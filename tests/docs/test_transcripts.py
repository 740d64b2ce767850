"""What the documentation shows at a prompt is what happens there."""

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, name_of
from tests.docs.transcripts import Step, differences, fits, steps

SESSIONS = [page for page in PAGES if any(step.is_run for step in steps(page))]


@pytest.mark.parametrize("page", SESSIONS, ids=name_of)
def test_a_session_goes_as_its_page_shows(page: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert "\n".join(differences(page, folder)) == ""


def test_the_tutorial_is_a_session() -> None:
    assert "docs/tutorials/first-workspace.md" in map(name_of, SESSIONS)


def test_a_session_is_read_as_it_stands(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# x\n\n```console\n$ cat <<'END'\n> one\n> END\none\n$ make\n```\n\n<!-- console\n$ printf x\n-->\n"
    )
    assert steps(page) == [
        Step("cat <<'END'\none\nEND", ("one",), 4),
        Step("make", (), 8),
        Step("printf x", (), 12),
    ]
    assert [step.is_run for step in steps(page)] == [True, False, True]


def test_what_differs_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ printf 'a\\nb\\n'\na\nc\n$ cat gone\n…\n$ echo $?\n3\n$ cat gone\n…\n```\n")
    assert differences(page, tmp_path) == [
        "line 2: $ printf 'a\\nb\\n'\na\nb\n",
        "line 7: the exit code is 1",
        "a command ended with 1, and the page does not say so",
    ]


@pytest.mark.parametrize(
    ("expected", "printed", "fit"),
    [
        (("a … c",), ["a b c"], True),
        (("a … c",), ["a b"], False),
        (("…", "b"), ["a", "a", "b"], True),
        (("a", "…"), ["a"], True),
        (("a",), ["a  "], True),
        (("a.c",), ["abc"], False),
        ((), ["a"], False),
    ],
)
def test_an_ellipsis_stands_for_what_differs(expected: tuple[str, ...], printed: list[str], *, fit: bool) -> None:
    assert fits(expected, printed) is fit
