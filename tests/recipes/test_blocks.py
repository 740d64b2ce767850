"""Each page about a framework holds one program, which compiles; what it does is tried where its framework is."""

from __future__ import annotations

import pytest

from tests.recipes.blocks import program

PROGRAMS = [
    *(("claude-agent-sdk", "crew.py"), ("langgraph", "crew.py")),
    *(("openai-agents-sdk", "fleet.py"), ("temporal", "crew.py")),
]


@pytest.mark.parametrize(("page", "name"), PROGRAMS)
def test_a_page_holds_its_program(page: str, name: str) -> None:
    assert compile(program(page, name), name, "exec").co_filename == name


def test_a_program_that_is_not_there_is_missed() -> None:
    with pytest.raises(ValueError, match="not enough values"):
        program("temporal", "fleet.py")
