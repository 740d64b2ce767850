"""Every spelling of a repository has one key, and different repositories have different ones."""

from __future__ import annotations

import pytest

from metagit_mcp.domain.repository import repository_key


@pytest.mark.parametrize(
    ("repository", "project"),
    [
        ("p/a", None),
        ("P/A", None),
        (" p/a ", None),
        ("p / a", None),
        ("p//a", None),
        ("/p/a/", None),
        ("p\\a", None),
        ("\\P\\A\\", None),
        ("p/a.git", None),
        ("p/A.GIT/", None),
        ("p/a .git", None),
        ("a", "p"),
        (" A ", " P "),
        ("a.git", "p"),
        ("a", "p/"),
        ("a", "\\p"),
        ("p/a", "another project"),
        ("p/a", ""),
    ],
)
def test_spellings_of_one_repository(repository: str, project: str | None) -> None:
    assert repository_key(repository, project) == "p/a"


@pytest.mark.parametrize(
    ("repository", "project", "key"),
    [
        (None, None, ""),
        ("", "p", ""),
        ("   ", "p", ""),
        ("///", "p", ""),
        (".", None, "."),
        (".", "p", "."),
        ("./", "p", "."),
        ("a", None, "a"),
        ("a", "  ", "a"),
        ("a", "org/team", "org/team/a"),
        (".git", None, ".git"),
        ("p/.git", None, "p/.git"),
        ("a.git.git", "p", "p/a.git"),
        ("https://one.example/p/a.git", None, "https:/one.example/p/a"),
        ("https://two.example/p/a", None, "https:/two.example/p/a"),
        ("git@one.example:p/a.git", None, "git@one.example:p/a"),
        ("STRASSE/Ä", None, "strasse/ä"),
        ("straße/ä", None, "strasse/ä"),
    ],
)
def test_the_key(repository: str | None, project: str | None, key: str) -> None:
    assert repository_key(repository, project) == key
