"""The project keeps its writing rules, and each rule notices when it is broken.

There is no list of exceptions here, and none is to be added: split the file or the function instead.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture import shape

ROOT = Path(__file__).resolve().parents[2]

# For each rule, the smallest file that breaks it: name, text, what the rule says of it.
# A forbidden word is written with an escape, so that this file keeps the rule itself.
BROKEN: dict[shape.Rule, tuple[str, str, str]] = {
    shape.files_too_long: (
        "long.py",
        '"""Long."""\n' + "x = 1\n" * 400,
        "long.py: 401 lines, the limit is 400",
    ),
    shape.files_without_docstring: ("bare.py", "x = 1\n", "bare.py: opens without a docstring"),
    shape.files_with_empty_names: (
        "task_utils.py",
        "",
        "task_utils.py: the name says 'utils', which is nothing",
    ),
    shape.functions_too_long: (
        "deep.py",
        "async def walk():\n" + "    x = 1\n" * 40,
        "deep.py:1 walk: 41 lines, the limit is 40",
    ),
    shape.unfinished_work: (
        "later.py",
        "# \x54ODO: all\n",
        "later.py:1: '# \x54ODO: all' is unfinished work",
    ),
    shape.exceptions_without_reason: (
        "quiet.py",
        "import os  # noqa: F401\n",
        "quiet.py:1: '# noqa: F401' gives no reason",
    ),
}


@pytest.mark.parametrize("rule", shape.RULES_OF_A_FILE, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("folder", ["metagit_mcp", "tests", "docs", ".ci"])
def test_every_file_keeps_the_rule(folder: str, rule: shape.Rule) -> None:
    assert list(rule(ROOT / folder)) == []


@pytest.mark.parametrize("rule", shape.RULES_OF_THE_PACKAGE, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: shape.Rule) -> None:
    assert list(rule(ROOT / "metagit_mcp")) == []


def test_the_rules_see_the_package() -> None:
    assert ROOT / "metagit_mcp" / "errors.py" in shape.python_files(ROOT / "metagit_mcp")


def test_each_rule_of_a_file_has_a_file_that_breaks_it() -> None:
    assert set(BROKEN) == set(shape.RULES_OF_A_FILE)


@pytest.mark.parametrize("rule", BROKEN, ids=lambda rule: rule.__name__)
def test_a_broken_rule_is_noticed(rule: shape.Rule, tmp_path: Path) -> None:
    name, text, message = BROKEN[rule]
    (tmp_path / name).write_text(text)
    assert [line.removeprefix(f"{tmp_path}/") for line in rule(tmp_path)] == [message]


def test_a_folder_with_an_empty_name_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "paths.py").touch()
    assert list(shape.files_with_empty_names(tmp_path)) == [
        f"{tmp_path}/common: the name says 'common', which is nothing"
    ]


def test_functions_that_are_long_on_the_whole_are_noticed(tmp_path: Path) -> None:
    for index, lines in enumerate([9, 9, 9, 30, 30]):
        (tmp_path / f"part{index}.py").write_text("def walk():\n" + "    x = 1\n" * (lines - 1))
    assert list(shape.functions_long_on_the_whole(tmp_path)) == [
        f"{tmp_path}: the median function has 9 lines, the target is 8",
        f"{tmp_path}: the 90th percentile of functions is 30.0 lines, the target is 25",
    ]


@pytest.mark.parametrize(
    "line",
    ["raise NotImplementedError", '"""Soon. \x46IXME."""', "x = 1  # \x58XX here", 'x = f"\x54ODO {1}"'],
)
def test_every_kind_of_unfinished_work_is_noticed(line: str, tmp_path: Path) -> None:
    (tmp_path / "later.py").write_text(f"{line}\n")
    assert len(list(shape.unfinished_work(tmp_path))) == 1


@pytest.mark.parametrize(
    ("comment", "has_reason"),
    [
        ("# noqa: S603 the arguments are fixed", True),
        ("# noqa: S603, S607  # both arguments are fixed", True),
        ("# type: ignore[misc]  # the stub lacks this overload", True),
        ("# type: ignore[misc]  # noqa: S603 the stub is wrong", True),
        ("# pragma: no cover - only on macOS", True),
        ("# why this line is here", True),
        ("# noqa", False),
        ("# noqa: S603, S607", False),
        ("# noqa: S603 fixed", False),
        ("# type: ignore", False),
        ("# type: ignore[misc, attr-defined]", False),
        ("# type: ignore[misc]  # noqa: S603", False),
        ("# pragma: no cover", False),
        ("# fmt: skip", False),
    ],
)
def test_an_exception_needs_a_reason(comment: str, *, has_reason: bool, tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text(f"x = 1  {comment}\n")
    assert (list(shape.exceptions_without_reason(tmp_path)) == []) is has_reason
