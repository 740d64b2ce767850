"""Every tool an agent sees: its table entry, and its function: parse, one application call, render.

Must not know files or how the protocol is served.
"""

from typing import TYPE_CHECKING, Any, Final

from metagit_mcp.domain.decision import ScheduleDecision
from metagit_mcp.domain.value import value
from metagit_mcp.interfaces.mcp.board_app import PAGE_URI
from metagit_mcp.wire.answer_size import Rendered, rendered
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.codec import Json
from metagit_mcp.wire.estimate_answers import EstimateAnswer, EstimateRequest
from metagit_mcp.wire.group_answers import DeliverAnswer
from metagit_mcp.wire.group_requests import DeliverRequest
from metagit_mcp.wire.portable import input_schema, output_schema
from metagit_mcp.wire.requests import (
    NextRequest,
    PlannedNode,
    PolicyRequest,
    StatusRequest,
    TaskPlanRequest,
    TaskUpdateRequest,
    WorkReportRequest,
    WorkStartRequest,
)
from metagit_mcp.wire.responses import (
    NextAnswer,
    PolicyAnswer,
    TaskPlanAnswer,
    TaskUpdateAnswer,
    WorkReportAnswer,
    WorkStartAnswer,
)
from metagit_mcp.wire.status_answers import StatusAnswer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from metagit_mcp.bootstrap import Application

    Opened = Callable[[], Awaitable[Application]]
    Progress = Callable[[float, float], Awaitable[None]]
    Answering = Callable[["Call"], Awaitable[Rendered]]


@value
class Effects:
    """What a call may do to the workspace; the hosts' defaults assume the worst, so all is said."""

    read_only: bool
    destructive: bool
    idempotent: bool


LOOKS: Final = Effects(read_only=True, destructive=False, idempotent=True)
ADDS: Final = Effects(read_only=False, destructive=False, idempotent=False)
# A repetition gets the same lease, or is refused.
SETTLES: Final = Effects(read_only=False, destructive=False, idempotent=True)
REPLACES: Final = Effects(read_only=False, destructive=True, idempotent=True)


@value
class Call:
    """One call of a tool: where it gets the application, what it was given, and whom it tells how long it waits."""

    application: "Opened"
    arguments: Json
    progress: "Progress"


@value
class ToolEntry:
    """One row of the table of tools.

    `described_items`: arrays of the answer whose items are worth describing, and the shape of these.
    `fields_as_in`: a shape of another tool of the toolset that describes fields of the same name.
    `page_uri`: the page that hosts of MCP Apps show in place of the answer.
    `asks_who_calls`: its argument `agent_id` is who calls, and no hint about a node.
    """

    name: str
    title: str
    description: str
    toolset: str
    effects: Effects
    request: type[Any]
    answer: type[Any]
    answering: "Answering"
    described_items: tuple[tuple[str, type[Any]], ...] = ()
    fields_as_in: type[Any] | None = None
    always_loaded: bool = False
    page_uri: str | None = None
    asks_who_calls: bool = False


async def tool_schedule_next(call: Call) -> Rendered:
    """Answer what should be worked on next."""
    request = parse_request(NextRequest, call.arguments)
    answer = await (await call.application()).schedule.next(request, call.progress)
    return rendered(answer)


async def tool_schedule_status(call: Call) -> Rendered:
    """Answer how things stand, and why a node is not offered."""
    request = parse_request(StatusRequest, call.arguments)
    answer = await (await call.application()).schedule.status(request)
    return rendered(answer)


async def tool_schedule_policy(call: Call) -> Rendered:
    """Show, change or try out the policy."""
    request = parse_request(PolicyRequest, call.arguments)
    answer = await (await call.application()).policies.run(request)
    return rendered(answer)


async def tool_work_start(call: Call) -> Rendered:
    """Take one named node."""
    request = parse_request(WorkStartRequest, call.arguments)
    answer = await (await call.application()).work.start(request)
    return rendered(answer)


async def tool_work_report(call: Call) -> Rendered:
    """Take down how the work under a lease stands."""
    request = parse_request(WorkReportRequest, call.arguments)
    answer = await (await call.application()).work.report(request)
    return rendered(answer)


async def tool_task_plan(call: Call) -> Rendered:
    """Write down new work."""
    request = parse_request(TaskPlanRequest, call.arguments)
    answer = await (await call.application()).tasks.plan(request)
    return rendered(answer)


async def tool_task_update(call: Call) -> Rendered:
    """Change one node."""
    request = parse_request(TaskUpdateRequest, call.arguments)
    answer = await (await call.application()).tasks.update(request)
    return rendered(answer)


async def tool_group_deliver(call: Call) -> Rendered:
    """Take in Events of a Group's log."""
    request = parse_request(DeliverRequest, call.arguments)
    answer = await (await call.application()).groups.deliver(request)
    return rendered(answer)


async def tool_group_estimate(call: Call) -> Rendered:
    """Answer when work of one Group starts and ends."""
    request = parse_request(EstimateRequest, call.arguments)
    answer = await (await call.application()).groups.estimate(request)
    return rendered(answer)


# In the order of tools/list: what an agent needs first stands first.
TOOLS: Final[tuple[ToolEntry, ...]] = (
    ToolEntry(
        name="metagit_schedule_next",
        title="What to work on next",
        description=(
            "Call this whenever you are free. claim=true takes the best node for you under a lease: do the work, then"
            " call metagit_work_report with its lease_id. Without claim it is advice: which node is next, and why. held"
            " lists what you have already. Nothing given: wait_seconds waits for work, not_eligible counts why."
        ),
        toolset="schedule",
        # With claim, the next call may give another node.
        effects=ADDS,
        request=NextRequest,
        answer=NextAnswer,
        answering=tool_schedule_next,
        described_items=(("decisions", ScheduleDecision),),
        always_loaded=True,
        asks_who_calls=True,
    ),
    ToolEntry(
        name="metagit_schedule_status",
        title="How the work stands",
        description=(
            "Use this for an overview (counts, Groups and their shares, running nodes, what needs a person) or, with"
            " node_id, to learn why a node is not offered. Changes nothing. Then call metagit_schedule_next."
        ),
        toolset="schedule",
        effects=LOOKS,
        request=StatusRequest,
        answer=StatusAnswer,
        answering=tool_schedule_status,
        page_uri=PAGE_URI,
    ),
    ToolEntry(
        name="metagit_schedule_policy",
        title="Show or tune the order",
        description=(
            "Use this to see or change the weights that order the work. preview shows order and shares before and after"
            " and writes nothing: call it before set. Pass the revision you read as expected_revision to set. Then call"
            " metagit_schedule_next."
        ),
        toolset="schedule",
        effects=REPLACES,
        request=PolicyRequest,
        answer=PolicyAnswer,
        answering=tool_schedule_policy,
    ),
    ToolEntry(
        name="metagit_work_start",
        title="Take one named node",
        description=(
            "Use this to take the node that you were told to do, rather than the best one by metagit_schedule_next with"
            " claim=true. It gives the same lease: do the work, then call metagit_work_report with its lease_id. Also"
            " starts what you own: after queue_only=true, or after you reported paused."
        ),
        toolset="work",
        effects=SETTLES,
        request=WorkStartRequest,
        answer=WorkStartAnswer,
        answering=tool_work_start,
        asks_who_calls=True,
    ),
    ToolEntry(
        name="metagit_work_report",
        title="Report on work under a lease",
        description=(
            "Say how the work under your lease stands. running and checkpointed keep the lease; completed, failed,"
            " blocked, paused and released end it and free your slot. Report completed with a result, which agents on"
            " dependent nodes read; failed and blocked with a note. Then call metagit_schedule_next with claim=true."
        ),
        toolset="work",
        effects=SETTLES,
        request=WorkReportRequest,
        answer=WorkReportAnswer,
        answering=tool_work_report,
        always_loaded=True,
        asks_who_calls=True,
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
        answering=tool_task_plan,
    ),
    ToolEntry(
        name="metagit_task_update",
        title="Change one node",
        description=(
            "Use this to change fields of a node (as in metagit_task_plan) or to remove those in clear. status is for"
            " nodes that no agent holds: ready unblocks one. Take work with metagit_schedule_next and claim=true, and"
            " end it with metagit_work_report; status=running only marks work that is done without a lease."
        ),
        toolset="tasks",
        effects=REPLACES,
        request=TaskUpdateRequest,
        answer=TaskUpdateAnswer,
        answering=tool_task_update,
        fields_as_in=PlannedNode,
    ),
    ToolEntry(
        name="metagit_group_deliver",
        title="Take in Events of a Group",
        description=(
            "Use this to pass on what the log of a Group says, in any order and as often as you like: each Event counts"
            " once, and all of a call or none. Events beyond a gap are held; next_step says which are missing. Then"
            " call metagit_schedule_next for the work."
        ),
        toolset="groups",
        effects=SETTLES,
        request=DeliverRequest,
        answer=DeliverAnswer,
        answering=tool_group_deliver,
    ),
    ToolEntry(
        name="metagit_group_estimate",
        title="When work of a Group is done",
        description=(
            "Use this to tell a Group when its work, or one node of it, will start and be done. The answer rests on"
            " that Group's own queue and on fixed figures, and tells nothing of other Groups. Changes nothing. Where it"
            " says blocked, metagit_schedule_status with node_id says why."
        ),
        toolset="groups",
        effects=LOOKS,
        request=EstimateRequest,
        answer=EstimateAnswer,
        answering=tool_group_estimate,
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
