"""Every tool an agent sees: its table entry, and its function: parse, one application call, render.

Must not know files or how the protocol is served.
"""

from typing import TYPE_CHECKING, Any, Final

from metagit_mcp.domain.decision import ScheduleDecision
from metagit_mcp.domain.value import value
from metagit_mcp.wire.answer_size import Rendered, rendered
from metagit_mcp.wire.codec import Json
from metagit_mcp.wire.portable import input_schema, output_schema
from metagit_mcp.wire.requests import (
    NextRequest,
    PlannedNode,
    PolicyRequest,
    StatusRequest,
    TaskPlanRequest,
    TaskUpdateRequest,
    parse_request,
)
from metagit_mcp.wire.responses import NextAnswer, PolicyAnswer, StatusAnswer, TaskPlanAnswer, TaskUpdateAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from metagit_mcp.bootstrap import Application

    Opened = Callable[[], Awaitable[Application]]
    Call = Callable[[Opened, Json], Awaitable[Rendered]]


@value
class Effects:
    """What a call may do to the workspace; the hosts' defaults assume the worst, so all is said."""

    read_only: bool
    destructive: bool
    idempotent: bool


LOOKS: Final = Effects(read_only=True, destructive=False, idempotent=True)
LOGS: Final = Effects(read_only=False, destructive=False, idempotent=True)
ADDS: Final = Effects(read_only=False, destructive=False, idempotent=False)
REPLACES: Final = Effects(read_only=False, destructive=True, idempotent=True)


@value
class ToolEntry:
    """One row of the table of tools.

    `described_items`: arrays of the answer whose items are worth describing, and the shape of these.
    `fields_as_in`: a shape of another tool of the toolset that describes fields of the same name.
    """

    name: str
    title: str
    description: str
    toolset: str
    effects: Effects
    request: type[Any]
    answer: type[Any]
    call: "Call"
    described_items: tuple[tuple[str, type[Any]], ...] = ()
    fields_as_in: type[Any] | None = None
    always_loaded: bool = False


async def tool_schedule_next(application: "Opened", arguments: Json) -> Rendered:
    """Answer what should be worked on next."""
    request = parse_request(NextRequest, arguments)
    answer = await (await application()).schedule.next(request)
    return rendered(answer)


async def tool_schedule_status(application: "Opened", arguments: Json) -> Rendered:
    """Answer how things stand, and why a node is not offered."""
    request = parse_request(StatusRequest, arguments)
    answer = await (await application()).schedule.status(request)
    return rendered(answer)


async def tool_schedule_policy(application: "Opened", arguments: Json) -> Rendered:
    """Show, change or try out the policy."""
    request = parse_request(PolicyRequest, arguments)
    answer = await (await application()).policies.run(request)
    return rendered(answer)


async def tool_task_plan(application: "Opened", arguments: Json) -> Rendered:
    """Write down new work."""
    request = parse_request(TaskPlanRequest, arguments)
    answer = await (await application()).tasks.plan(request)
    return rendered(answer)


async def tool_task_update(application: "Opened", arguments: Json) -> Rendered:
    """Change one node."""
    request = parse_request(TaskUpdateRequest, arguments)
    answer = await (await application()).tasks.update(request)
    return rendered(answer)


# In the order of tools/list: what an agent needs first stands first.
TOOLS: Final[tuple[ToolEntry, ...]] = (
    ToolEntry(
        name="metagit_schedule_next",
        title="What to work on next",
        description=(
            "Call this whenever you are free to take work: it names the node to do next and why. Then set it running"
            " with metagit_task_update and do it. No decisions: not_eligible counts why, metagit_schedule_status tells"
            " more. preview=true only looks."
        ),
        toolset="schedule",
        effects=LOGS,
        request=NextRequest,
        answer=NextAnswer,
        call=tool_schedule_next,
        described_items=(("decisions", ScheduleDecision),),
        always_loaded=True,
    ),
    ToolEntry(
        name="metagit_schedule_status",
        title="How the work stands",
        description=(
            "Use this for an overview (counts, Groups, running nodes, what needs a person, merge pressure) or, with"
            " node_id, to learn why a node is not offered. Changes nothing. Then call metagit_schedule_next."
        ),
        toolset="schedule",
        effects=LOOKS,
        request=StatusRequest,
        answer=StatusAnswer,
        call=tool_schedule_status,
    ),
    ToolEntry(
        name="metagit_schedule_policy",
        title="Show or tune the order",
        description=(
            "Use this to see or change the weights that order the work. preview shows the order before and after and"
            " writes nothing: call it before set. Pass the revision you read as expected_revision to set. Then call"
            " metagit_schedule_next."
        ),
        toolset="schedule",
        effects=REPLACES,
        request=PolicyRequest,
        answer=PolicyAnswer,
        call=tool_schedule_policy,
    ),
    ToolEntry(
        name="metagit_task_plan",
        title="Write down new work",
        description=(
            "Use this to write down work as nodes with dependencies: a new graph, or more nodes of the graph graph_id."
            " Give nodes or outline, not both. It only adds; change nodes with metagit_task_update. Then call"
            " metagit_schedule_next."
        ),
        toolset="tasks",
        effects=ADDS,
        request=TaskPlanRequest,
        answer=TaskPlanAnswer,
        call=tool_task_plan,
    ),
    ToolEntry(
        name="metagit_task_update",
        title="Change one node",
        description=(
            "Call this with status=running before you work on a node, and with status=completed, or status=blocked and"
            " blocker_reason, when you stop. Also sets the fields you name (as in metagit_task_plan) and removes those"
            " in clear. Then call metagit_schedule_next."
        ),
        toolset="tasks",
        effects=REPLACES,
        request=TaskUpdateRequest,
        answer=TaskUpdateAnswer,
        call=tool_task_update,
        fields_as_in=PlannedNode,
    ),
)


def entry_input_schema(entry: ToolEntry) -> Json:
    """Return the schema of a tool's arguments, without the sentence that the tool's description says better."""
    schema = _bare(input_schema(entry.request))
    if entry.fields_as_in is not None:
        told = input_schema(entry.fields_as_in)["properties"]
        own = schema["properties"]
        schema["properties"] = {name: _bare(each) if told.get(name) == each else each for name, each in own.items()}
    return schema


def entry_output_schema(entry: ToolEntry) -> Json:
    """Return the schema of a tool's answer: the top level, and the items that are worth describing."""
    schema = _open(output_schema(entry.answer, depth=1))
    for name, shape in entry.described_items:
        schema["properties"][name]["items"] = _open(output_schema(shape, depth=1))
    return schema


def _bare(schema: Json) -> Json:
    return {name: each for name, each in schema.items() if name != "description"}


def _open(schema: Json) -> Json:
    """Allow more fields than are named: a host may check an answer against a schema it read before an update."""
    return {name: each for name, each in _bare(schema).items() if name != "additionalProperties"}
