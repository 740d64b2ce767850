"""The program of the page about LangGraph schedules work over HTTP: where answers are lost, and when it is killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.interop.http_server import served
from tests.recipes.blocks import written
from tests.recipes.frameworks import HERE, ran, running
from tests.recipes.shop import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.recipes.shop import Shop

pytestmark = pytest.mark.interop
PAGE: Final = "langgraph"
DRIVER: Final = HERE / "drive_langgraph.py"
DONE: Final = {"search": "completed", "cart": "completed", "till": "completed"}


@pytest.fixture
def at(shop: Shop, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Where the server is, for the program."""
    with served(shop.root, tmp_path / "served") as address:
        yield {"METAGIT_URL": f"{address}/mcp", "METAGIT_TOKEN": shop.token("crew")}


def words(folder: Path, how: str) -> tuple[Path | str, ...]:
    return (DRIVER, written(PAGE, "crew.py", folder), how, "1")


def test_lost_answers_change_nothing(shop: Shop, at: dict[str, str], tmp_path: Path) -> None:
    said = ran(PAGE, *words(tmp_path, "lossy"), cwd=tmp_path, said=tmp_path / "said", **at)
    # What was taken and reported, and what two agents asked for at the end.
    assert said == "8 answers lost\n"
    history = shop.history()
    assert sorted((what, node_id) for what, node_id, _ in history) == [
        *(("completed", "cart"), ("completed", "search"), ("completed", "till")),
        *(("started", "cart"), ("started", "search"), ("started", "till")),
    ]
    assert {agent_id for _, _, agent_id in history} == {"crew/ada", "crew/bob"}
    results = sorted(each["result"]["summary"] for each in shop.bodies("work_completed"))
    assert results == ["cart stands", "search stands", "till stands"]


def test_a_program_goes_on_where_it_was(shop: Shop, at: dict[str, str], tmp_path: Path) -> None:
    def run(how: str) -> list[tuple[str, str, str]]:
        ran(PAGE, *words(tmp_path, how), cwd=tmp_path, said=tmp_path / how, **at)
        return shop.history()

    # Broken off while the model thinks, and continued from the checkpoint.
    first = [("started", "search", "crew/ada"), ("completed", "search", "crew/ada")]
    assert run("resumes") == first
    # Killed while the model thinks, and started again: who had the node goes on under the same lease.
    with running(PAGE, *words(tmp_path, "hangs"), cwd=tmp_path, said=tmp_path / "hung", **at) as program:
        until(lambda: len(shop.history()) == 3, tmp_path / "hung", program)
    [*_, (_, _, agent_id)] = shop.history()
    second = [("started", "cart", agent_id), ("completed", "cart", agent_id)]
    assert run("works")[:4] == [*first, *second]
    assert len(shop.history()) == 6
    until(lambda: shop.statuses() == DONE, tmp_path / "works")
