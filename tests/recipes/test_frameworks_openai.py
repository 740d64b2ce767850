"""The program of the page about the OpenAI Agents SDK schedules work: over both transports, and when it is killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.interop.http_server import served
from tests.recipes.blocks import written
from tests.recipes.frameworks import HERE, ran, running
from tests.recipes.shop import until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.recipes.shop import Shop

pytestmark = pytest.mark.interop
PAGE: Final = "openai-agents-sdk"
DRIVER: Final = HERE / "drive_openai.py"
DONE: Final = {"search": "completed", "cart": "completed", "till": "completed"}
# Longer than the client waits for an answer unless it is told to.
LONG_S: Final = "6"


def words(folder: Path, how: str, wait_s: str = "1") -> tuple[Path | str, ...]:
    return (DRIVER, written(PAGE, "fleet.py", folder), how, wait_s)


def test_lost_answers_change_nothing_and_what_the_model_forgets_is_reported(shop: Shop, tmp_path: Path) -> None:
    said = ran(PAGE, *words(tmp_path, "lossy"), cwd=shop.root, said=tmp_path / "said")
    history = shop.history()
    assert sorted((what, node_id) for what, node_id, _ in history) == [
        *(("completed", "cart"), ("completed", "search"), ("failed", "till")),
        *(("started", "cart"), ("started", "search"), ("started", "till")),
    ]
    assert {agent_id for _, _, agent_id in history} == {"crew/ada", "crew/bob"}
    assert [each["note"] for each in shop.bodies("work_failed")] == ["the run ended without a report"]
    # Of each node what was taken, reported, and asked after the run; and that there was no more for two agents.
    assert said == "11 answers lost\n"


def test_a_killed_program_with_servers_of_its_own_leaves_its_nodes_open(shop: Shop, tmp_path: Path) -> None:
    with running(PAGE, *words(tmp_path, "hangs"), cwd=shop.root, said=tmp_path / "said") as program:
        until(lambda: len(shop.history()) == 2, tmp_path / "said", program)
        program.kill()
        until(lambda: len(shop.history()) == 4, tmp_path / "said")
    assert sorted(what for what, _, _ in shop.history()) == ["released", "released", "started", "started"]


def test_a_killed_program_goes_on_over_http_where_it_was(shop: Shop, tmp_path: Path) -> None:
    with served(shop.root, tmp_path / "served") as address:
        at = {"METAGIT_URL": f"{address}/mcp", "METAGIT_TOKEN": shop.token("crew")}
        with running(PAGE, *words(tmp_path, "hangs"), cwd=tmp_path, said=tmp_path / "hung", **at) as program:
            until(lambda: len(shop.history()) == 2, tmp_path / "hung", program)
        before = shop.history()
        ran(PAGE, *words(tmp_path, "works", LONG_S), cwd=tmp_path, said=tmp_path / "said", **at)
    assert (shop.statuses(), shop.history()[:2]) == (DONE, before)
    # Nothing was started twice: both agents got what they held.
    assert sorted(node_id for what, node_id, _ in shop.history() if what == "started") == ["cart", "search", "till"]
