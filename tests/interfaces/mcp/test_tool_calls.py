"""A call of a tool, in both protocol eras: what goes in and what comes out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, MCPError, types

from metagit_mcp.errors import MetagitError
from metagit_mcp.interfaces.mcp.server import build_server
from metagit_mcp.interfaces.mcp.tools import TOOLS
from metagit_mcp.wire.requests import (
    GivenCheckpoint,
    GivenResult,
    GivenUsage,
    NextRequest,
    PlannedNode,
    PolicyRequest,
    StatusRequest,
    TaskPlanRequest,
    TaskUpdateRequest,
    WorkReportRequest,
    WorkStartRequest,
)
from tests.interfaces.mcp.fake_application import DECISION, LEAST, SETTINGS, FakeApplication, next_answer, status_answer
from tests.interfaces.mcp.results import refusal, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metagit_mcp.wire.codec import Json

MODES = ("auto", "legacy")
Arguments = dict[str, Any]


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def connected(application: FakeApplication, mode: str) -> Client:
    return Client(build_server(application.opened, SETTINGS), mode=mode)


def error_classes(of: type[MetagitError] = MetagitError) -> Iterator[type[MetagitError]]:
    yield of
    for each in of.__subclasses__():
        yield from error_classes(each)


# Other modules may have made more of them by now, each with arguments of its own.
EVERY_ERROR = {each.__name__: each for each in error_classes() if each.__module__ == MetagitError.__module__}


# --- answers


@pytest.mark.parametrize("tool", LEAST)
async def test_an_answer_is_structured_and_the_same_as_text(tool: str, mode: str) -> None:
    async with connected(FakeApplication(), mode) as client:
        await client.list_tools()  # from here on the client checks answers against the output schema
        result = await client.call_tool(tool, LEAST[tool])
    assert not result.is_error
    assert json.loads(text_of(result)) == result.structured_content
    assert text_of(result) == json.dumps(result.structured_content, separators=(",", ":"), ensure_ascii=False)


async def test_what_is_absent_is_left_out(mode: str) -> None:
    application = FakeApplication()
    async with connected(application, mode) as client:
        result = await client.call_tool("metagit_schedule_next", {})
    assert result.structured_content == {
        "decisions": [
            {
                "decision_id": "0" * 32,
                "at": "2026-11-29T12:00:00Z",
                "graph_id": "shop",
                "node_id": "build",
                "title": "Build it",
                "score": 3.25,
                "reasons": ["priority=3", "cost=0.2500(tokens=1000)"],
                "factors": [{"name": "priority", "value": 3.0, "weight": 1.0, "contribution": 3.0}],
                "dispatch_hints": {
                    "title": "Build it",
                    "graph_id": "shop",
                    "priority": 3,
                    "estimated_tokens": 1000,
                    "depends_on": ["plan"],
                    "handoff": {"prompt": "Work on node build of graph shop."},
                },
                "acl_commands": [],
            }
        ],
        "skipped": [],
        "ready_count": 2,
        "runnable_count": 1,
        "not_eligible": [{"reason": "blocked", "nodes": 1}],
        "all_finished": False,
        "truncated": False,
        "omitted": [],
        "state_version": "v1",
        "warnings": [],
        "next_step": "Work on it.",
        "held": [],
    }


async def test_the_client_finds_an_answer_that_breaks_the_schema(mode: str) -> None:
    async def wrong(_call: object) -> tuple[Json, bytes]:
        return {"decisions": "none"}, b'{"decisions":"none"}'

    entry = replace(TOOLS[0], name="wrong", answering=wrong)
    async with Client(build_server(FakeApplication().opened, SETTINGS, [entry]), mode=mode) as client:
        await client.list_tools()
        with pytest.raises(RuntimeError, match="Invalid structured content"):
            await client.call_tool("wrong", {})


async def test_a_large_answer_is_cut_and_still_keeps_the_schema(mode: str) -> None:
    async def many(_: object) -> object:
        return next_answer(*[replace(DECISION, node_id=f"n{number:05}") for number in range(500)])

    async with connected(FakeApplication(instead=many), mode) as client:
        await client.list_tools()
        result = await client.call_tool("metagit_schedule_next", {"limit": 100})
    assert len(text_of(result).encode()) <= 40_000
    assert isinstance(result.structured_content, dict)
    assert result.structured_content["truncated"]
    assert [each["what"] for each in result.structured_content["omitted"]] == ["decisions"]


# --- arguments

REPORT = {"lease_id": "L-1", "state": "failed"}


@pytest.mark.parametrize(
    ("tool", "arguments", "request_"),
    [
        ("metagit_schedule_next", {"graph_id": "", "agent_id": None, "capabilities": "", "detail": ""}, NextRequest()),
        ("metagit_schedule_next", {"capabilities": '["gpu", "web"]'}, NextRequest(capabilities=("gpu", "web"))),
        ("metagit_schedule_next", {"limit": 100}, NextRequest(limit=100)),
        (
            "metagit_schedule_next",
            {"claim": True, "wait_seconds": 0, "new_session": "", "action_id": "a-1"},
            NextRequest(claim=True, action_id="a-1"),
        ),
        ("metagit_work_start", {"node_id": "n", "lease_seconds": 60}, WorkStartRequest(node_id="n", lease_seconds=60)),
        (
            "metagit_work_report",
            {**REPORT, "result": '{"summary": "S", "artifacts": ["a"], "evidence": null}', "usage": {"tokens": 7}},
            WorkReportRequest(
                lease_id="L-1",
                state="failed",
                result=GivenResult(summary="S", artifacts=("a",)),
                usage=GivenUsage(tokens=7),
            ),
        ),
        (
            "metagit_work_report",
            {**REPORT, "checkpoint": {"uri": "", "note": "N"}, "rate_limited": None},
            WorkReportRequest(lease_id="L-1", state="failed", checkpoint=GivenCheckpoint(note="N")),
        ),
        ("metagit_schedule_status", {"recent": 0, "node_id": ""}, StatusRequest(recent=0)),
        ("metagit_schedule_policy", {"action": "", "priority": 0.5}, PolicyRequest(priority=0.5)),
        (
            "metagit_task_plan",
            {"title": "T", "nodes": '[{"title": "a"}]'},
            TaskPlanRequest(title="T", nodes=(PlannedNode(title="a"),)),
        ),
        (
            "metagit_task_update",
            {"node_id": "n", "depends_on": "[]", "status": "running"},
            TaskUpdateRequest(node_id="n", depends_on=(), status="running"),
        ),
    ],
)
async def test_arguments_are_read_kindly(tool: str, arguments: Arguments, request_: object, mode: str) -> None:
    application = FakeApplication()
    async with connected(application, mode) as client:
        assert not (await client.call_tool(tool, arguments)).is_error
    assert application.asked == [request_]


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("metagit_schedule_next", {"limit": 0}, "limit"),
        ("metagit_schedule_next", {"limit": -1}, "limit"),
        ("metagit_schedule_next", {"limit": 101}, "limit"),
        ("metagit_schedule_next", {"limit": "x"}, "limit"),
        ("metagit_schedule_next", {"limit": True}, "limit"),
        ("metagit_schedule_next", {"limit": 10**400}, "limit"),
        ("metagit_schedule_next", {"preview": "perhaps"}, "preview"),
        ("metagit_schedule_next", {"detail": "medium"}, "detail"),
        ("metagit_schedule_next", {"capabilities": "gpu"}, "capabilities"),
        ("metagit_schedule_next", {"capabilities": {"gpu": True}}, "capabilities"),
        ("metagit_schedule_next", {"graph_id": "../../x"}, "graph_id"),
        ("metagit_schedule_next", {"graph_id": "/b"}, "graph_id"),
        ("metagit_schedule_next", {"graph_id": "g" * 300}, "graph_id"),
        ("metagit_schedule_next", {"graph_id": ["g"]}, "graph_id"),
        ("metagit_schedule_next", {"wait_seconds": 301}, "wait_seconds"),
        ("metagit_schedule_next", {"lease_seconds": 59}, "lease_seconds"),
        ("metagit_schedule_next", {"claim": "perhaps"}, "claim"),
        ("metagit_schedule_next", {"action_id": "x" * 129}, "action_id"),
        ("metagit_work_start", {}, "node_id"),
        ("metagit_work_start", {"node_id": "../x"}, "node_id"),
        ("metagit_work_start", {"node_id": "n", "agent_id": "a b"}, "agent_id"),
        ("metagit_work_report", {"state": "running"}, "lease_id"),
        ("metagit_work_report", {"lease_id": "L-1"}, "state"),
        ("metagit_work_report", {"lease_id": "L-1", "state": "done"}, "state"),
        ("metagit_work_report", {**REPORT, "note": "x" * 2001}, "note"),
        ("metagit_work_report", {**REPORT, "result": "{"}, "result"),
        ("metagit_work_report", {**REPORT, "result": ["it"]}, "result"),
        ("metagit_work_report", {**REPORT, "result": {"sumary": "S"}}, "result/sumary"),
        ("metagit_work_report", {**REPORT, "checkpoint": {"checkpoint_id": "half done"}}, "checkpoint/checkpoint_id"),
        ("metagit_work_report", {**REPORT, "checkpoint": {"digest": "sha256:\n"}}, "checkpoint/digest"),
        ("metagit_work_report", {**REPORT, "usage": {"tokens": -1}}, "usage/tokens"),
        ("metagit_work_report", {**REPORT, "rate_limited": {"resource": "api"}}, "rate_limited/until"),
        (
            "metagit_work_report",
            {**REPORT, "rate_limited": {"resource": "api", "until": "2026-12-01T12:00:00"}},
            "rate_limited/until",
        ),
        ("metagit_schedule_status", {"recent": -1}, "recent"),
        ("metagit_schedule_policy", {"action": "explode"}, "action"),
        ("metagit_schedule_policy", {"priority": -0.5}, "priority"),
        ("metagit_schedule_policy", {"priority": "much"}, "priority"),
        ("metagit_schedule_policy", {"merge_queue_threshold": 0}, "merge_queue_threshold"),
        ("metagit_task_plan", {}, "title"),
        ("metagit_task_plan", {"title": ""}, "title"),
        ("metagit_task_plan", {"title": "T", "nodes": '[{"title": "a"'}, "nodes"),
        ("metagit_task_plan", {"title": "T", "nodes": [{"title": "a", "colour": "red"}]}, "nodes/0/colour"),
        ("metagit_task_plan", {"title": "T", "graph_id": "a/b"}, "graph_id"),
        ("metagit_task_update", {"node_id": "n", "status": "finished"}, "status"),
        ("metagit_group_deliver", {"group_id": "g"}, "events"),
        ("metagit_group_deliver", {"group_id": "g", "events": []}, "events"),
        ("metagit_group_deliver", {"group_id": "g", "events": "[{"}, "events"),
        ("metagit_group_deliver", {"group_id": "g", "events": [{}, 7]}, "events/1"),
        ("metagit_group_deliver", {"group_id": "g", "events": [{}] * 1001}, "events"),
        ("metagit_group_deliver", {"group_id": "../g", "events": [{}]}, "group_id"),
        ("metagit_group_deliver", {"group_id": "g", "events": [{}], "first_sequence": 0}, "first_sequence"),
    ],
)
async def test_a_bad_argument_is_named(tool: str, arguments: Arguments, field: str, mode: str) -> None:
    application = FakeApplication()
    async with connected(application, mode) as client:
        record = refusal(await client.call_tool(tool, arguments))
    assert (record["code"], record["details"], record["retryable"]) == ("INVALID_INPUT", {"field": field}, False)
    assert record["message"].startswith(f"{field}: ")
    assert application.asked == []


@pytest.mark.parametrize("tool", LEAST)
async def test_an_unknown_argument_is_refused_by_name(tool: str, mode: str) -> None:
    async with connected(FakeApplication(), mode) as client:
        record = refusal(await client.call_tool(tool, {**LEAST[tool], "graphid": "shop"}))
    assert (record["message"], record["details"]) == ("unknown argument graphid", {"field": "graphid"})
    of_groups = dict.fromkeys(("metagit_group_deliver", "metagit_group_estimate"), "Did you mean group_id? ")
    meant = {"metagit_work_report": "", **of_groups}
    assert record["hint"].startswith(f"{meant.get(tool, 'Did you mean graph_id? ')}Known: ")


async def test_an_unknown_field_of_an_object_is_refused_with_those_it_has(mode: str) -> None:
    async with connected(FakeApplication(), mode) as client:
        record = refusal(await client.call_tool("metagit_work_report", {**REPORT, "checkpoint": {"url": "x"}}))
    assert record["hint"] == "Did you mean uri? Known: checkpoint_id, uri, digest, note."


@pytest.mark.parametrize("name", ["$(reboot)", "a\nb", "\x1b[31m", "\u202egraph_id", "x" * 500, ""])
async def test_an_argument_name_is_repeated_only_if_it_is_one(name: str, mode: str) -> None:
    async with connected(FakeApplication(), mode) as client:
        record = refusal(await client.call_tool("metagit_schedule_next", {name: 1}))
    assert record["message"] == "unknown argument (not a name)"


# --- refusals and failures


@pytest.mark.parametrize("error", EVERY_ERROR.values(), ids=EVERY_ERROR)
async def test_every_error_is_a_result_of_every_tool(error: type[MetagitError], mode: str) -> None:
    raised = error(hint="Do this.", node_id="build", nodes=["a", "b"], count=2)

    async def refuse(_: object) -> object:
        raise raised

    async with connected(FakeApplication(instead=refuse), mode) as client:
        await client.list_tools()
        records = [refusal(await client.call_tool(tool, arguments)) for tool, arguments in LEAST.items()]
    assert records == [raised.as_record()] * len(TOOLS)
    assert raised.as_record() == {
        "code": error.code,
        "message": error.__doc__,
        "hint": "Do this.",
        "details": {"node_id": "build", "nodes": ["a", "b"], "count": 2},
        "retryable": error.retryable,
    }


async def test_an_unexpected_failure_says_nothing_but_a_reference(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_: object) -> object:
        raise OSError("secret /etc/passwd")

    async with connected(FakeApplication(instead=fail), mode) as client:
        record = refusal(await client.call_tool("metagit_schedule_next", {}))
    reference = record["details"]["reference"]
    assert record["code"] == "INTERNAL_ERROR"
    assert record["hint"] == f"Look for {reference} in the standard error log of the server."
    assert "secret" not in json.dumps(record)
    assert f"internal error {reference}" in caplog.text
    assert "OSError: secret /etc/passwd" in caplog.text


async def test_an_answer_that_cannot_be_written_is_a_failure(mode: str) -> None:
    async def broken(_: object) -> object:
        return replace(status_answer(), next_step="half a character: \ud800")

    async with connected(FakeApplication(instead=broken), mode) as client:
        assert refusal(await client.call_tool("metagit_schedule_status", {}))["code"] == "INTERNAL_ERROR"
        assert not (await client.list_tools()).next_cursor


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("metagit_nothing", "Unknown tool metagit_nothing. Known: "),
        ("$(reboot)\n", "Unknown tool (not a name). Known: "),
        ("", "Unknown tool (not a name). Known: "),
    ],
)
async def test_an_unknown_tool_is_a_fault_of_the_protocol(name: str, message: str, mode: str) -> None:
    async with connected(FakeApplication(), mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool(name, {})
    assert (caught.value.code, caught.value.message) == (
        types.INVALID_PARAMS,
        message + ", ".join(entry.name for entry in TOOLS) + ".",
    )


async def test_a_tool_of_another_toolset_says_which(mode: str) -> None:
    settings = replace(SETTINGS, toolsets=frozenset({"schedule"}))
    async with Client(build_server(FakeApplication().opened, settings), mode=mode) as client:
        with pytest.raises(MCPError, match="It is in the toolset tasks: add it to --toolsets"):
            await client.call_tool("metagit_task_plan", {"title": "T"})
