"""The tools of work over a real workspace, in both protocol eras: what they answer, and what a lost call leaves."""

from __future__ import annotations

import asyncio
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client

from metagit_mcp.application.upkeep.keeping import Keeping
from metagit_mcp.application.work.claims import Claims
from metagit_mcp.bootstrap import open_application
from metagit_mcp.interfaces.mcp.offload import OneThread
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.ports.machine import Waits
from metagit_mcp.settings import settings_from
from tests.interfaces.mcp.live import NEXT, REPORT, START, STATUS, Json, asleep, claimed, node, statuses, write_graph
from tests.interfaces.mcp.results import refusal
from tests.interfaces.mcp.test_workspace_tools import HOSTILE, MARK, is_shown, misplaced

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from metagit_mcp.application.work.leases import Claimed

MODES = ("auto", "legacy")
WAIT_S = 20.0


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    write_graph(tmp_path, node("one", priority=2, acceptance=["it works"]), node("two", priority=1))
    return tmp_path


def connected(root: Path, mode: str, offload: OneThread | None = None) -> Client:
    settings = settings_from({}, workspace=str(root))
    waits = Waits(offload=offload or OneThread(), sleep=asleep)
    return Client(build_server(partial(open_application, settings, surface="mcp", waits=waits), settings), mode=mode)


async def ask(client: Client, tool: str, **arguments: Any) -> Json:  # noqa: ANN401 - arguments of any tool
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    assert isinstance(result.structured_content, dict)
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> tuple[str, Json]:  # noqa: ANN401 - as above
    record = refusal(await client.call_tool(tool, arguments))
    return record["code"], record["details"]


# --- what they answer


async def test_one_node_from_its_claim_to_its_end(shop: Path, mode: str) -> None:
    async with connected(shop, mode) as client:
        await client.list_tools()  # from here on the client checks answers against the output schemas
        (decision,) = (await ask(client, NEXT, claim=True, agent_id="team/one"))["decisions"]
        lease_id = decision["lease"]["lease_id"]
        assert decision["dispatch_hints"]["acceptance"] == ["it works"]
        assert decision["lease"]["agent_id"] == "team/one"
        kept = await ask(client, REPORT, lease_id=lease_id, state="checkpointed", note="half", usage={"tokens": 7})
        assert (kept["node_status"], kept["lease"]["lease_id"]) == ("active", lease_id)
        assert lease_id in kept["next_step"]
        code, details = await refused(client, REPORT, lease_id=lease_id, state="running", usage={"tokens": 6})
        assert (code, details) == ("INVALID_INPUT", {"field": "usage"})
        assert await refused(client, REPORT, lease_id=lease_id, state="failed") == ("INVALID_INPUT", {"field": "note"})
        code, _ = await refused(client, REPORT, lease_id=lease_id, state="running", agent_id="team/two")
        assert code == "AUTH_FORBIDDEN"
        given_back = await ask(client, REPORT, lease_id=lease_id, state="released")
        assert (given_back["node_status"], given_back["released_slot"]) == ("open", True)
        assert "metagit_schedule_next with claim=true" in given_back["next_step"]
        code, _ = await refused(client, REPORT, lease_id=lease_id, state="running")
        assert code == "WORK_STALE_OWNERSHIP"
        assert (await refused(client, REPORT, lease_id="L-NOSUCHLEASE1", state="running"))[0] == "LEASE_NOT_FOUND"


async def test_a_named_node_is_taken_kept_for_later_and_resumed(shop: Path, mode: str) -> None:
    async with connected(shop, mode) as client:
        await client.list_tools()
        owned = await ask(client, START, node_id="two", agent_id="team/one", queue_only=True)
        assert (owned["ownership"]["node_id"], owned.get("lease")) == ("two", None)
        started = await ask(client, START, node_id="two", agent_id="team/one")
        assert started["lease"]["ownership_epoch"] == owned["ownership"]["ownership_epoch"]
        assert started["dispatch_hints"]["title"] == "two"
        # Whoever lost the reply gets the same lease.
        again = await ask(client, START, node_id="two", agent_id="team/one")
        assert again["lease"]["lease_id"] == started["lease"]["lease_id"]
        code, _ = await refused(client, START, node_id="two", agent_id="team/two")
        assert code == "WORK_ALREADY_OWNED"
        paused = await ask(
            client, REPORT, lease_id=started["lease"]["lease_id"], state="paused", checkpoint={"note": "go on at 3"}
        )
        assert (paused["node_status"], paused["released_slot"]) == ("queued", True)
        resumed = await ask(client, START, node_id="two", agent_id="team/one")
        assert resumed["dispatch_hints"]["resume_from"]["note"] == "go on at 3"
        assert (await refused(client, START, node_id="three"))[0] == "NODE_NOT_FOUND"


async def test_a_claim_cannot_be_only_a_preview(shop: Path, mode: str) -> None:
    async with connected(shop, mode) as client:
        assert await refused(client, NEXT, claim=True, preview=True) == ("INVALID_INPUT", {"field": "preview"})
        assert (await ask(client, STATUS))["counts"]["running"] == 0


# Where things are and what shows that they are right: for tools to open, so it stands in fields of its own.
PLACES = {"uri", "artifacts", "evidence"}


async def test_what_agents_report_stands_only_in_fields_of_text_and_places(tmp_path: Path, mode: str) -> None:
    write_graph(tmp_path, node("one"), node("two", depends_on=["one"]))
    policy = tmp_path / ".metagit" / "schedule" / "policy.json"
    policy.parent.mkdir()
    policy.write_text('{"retries": {"backoff_seconds": 0}}')
    point = {"checkpoint_id": "c-1", "uri": HOSTILE, "digest": "sha256:0a", "note": HOSTILE}
    seen = []
    async with connected(tmp_path, mode) as client:
        await client.list_tools()
        lease_id = (await ask(client, NEXT, claim=True, agent_id="a"))["decisions"][0]["lease"]["lease_id"]
        seen.append(await ask(client, REPORT, lease_id=lease_id, state="checkpointed", checkpoint=point))
        seen.append(await ask(client, REPORT, lease_id=lease_id, state="failed", note=HOSTILE))
        seen.append(await ask(client, NEXT, claim=True, agent_id="b"))
        hints = seen[-1]["decisions"][0]["dispatch_hints"]
        assert hints["resume_from"]["note"].startswith(MARK)
        assert hints["attempts"][0]["note"].startswith(MARK)
        lease_id = seen[-1]["decisions"][0]["lease"]["lease_id"]
        result = {"summary": HOSTILE, "artifacts": [HOSTILE], "evidence": [HOSTILE]}
        seen.append(await ask(client, REPORT, lease_id=lease_id, state="completed", result=result))
        seen.append(await ask(client, START, node_id="two", agent_id="c"))
        assert seen[-1]["dispatch_hints"]["inputs"][0]["summary"].startswith(MARK)
        seen += [await ask(client, STATUS, node_id="one"), await ask(client, STATUS, recent=100)]
    found = {(field, is_shown(text)) for record in seen for field, text in misplaced(record)}
    assert found == {(field, True) for field in PLACES}


# --- what a lost call leaves


class Watched(OneThread):
    """An offload that says when it was asked for something."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def __call__(self, blocking: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the work returns
        self.asked.set()
        return await super().__call__(blocking)


async def test_a_claim_that_is_given_up_before_its_turn_takes_nothing(shop: Path, mode: str) -> None:
    offload, go_on = Watched(), Event()
    async with asyncio.timeout(WAIT_S), connected(shop, mode, offload) as client:
        await ask(client, STATUS)
        busy = asyncio.create_task(offload(partial(go_on.wait, WAIT_S)))
        await asyncio.sleep(0)
        offload.asked.clear()
        call = asyncio.create_task(client.call_tool(NEXT, {"claim": True}))
        await offload.asked.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        # The server has read the cancellation when it answers what was sent after it.
        await client.list_tools()
        go_on.set()
        assert await busy
        assert (await ask(client, STATUS))["counts"]["running"] == 0
        assert claimed(await ask(client, NEXT, claim=True)) == ["one"]


async def test_a_claim_under_way_when_the_connection_ends_is_released(
    shop: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = Event(), Event()
    claim, end = Claims.claim, Keeping.end

    def slow_claim(claims: Claims, *turn: Any) -> Claimed:  # noqa: ANN401 - passed on untouched
        begun.set()
        assert go_on.wait(WAIT_S)
        return claim(claims, *turn)

    async def late_end(keeping: Keeping) -> None:
        # The first time that it waits for anything, the claim goes on.
        asyncio.get_running_loop().call_soon(go_on.set)
        await end(keeping)

    monkeypatch.setattr(Claims, "claim", slow_claim)
    monkeypatch.setattr(Keeping, "end", late_end)
    offload = OneThread()
    async with asyncio.timeout(WAIT_S):
        async with connected(shop, mode, offload) as client:
            call = asyncio.create_task(client.call_tool(NEXT, {"claim": True}))
            assert await asyncio.to_thread(begun.wait, WAIT_S)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
    offload.drain(WAIT_S)
    assert statuses(shop) == {"one": "ready", "two": "ready"}
    monkeypatch.undo()
    async with connected(shop, mode) as client:
        assert (await ask(client, STATUS))["counts"]["running"] == 0
