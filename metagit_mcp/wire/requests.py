"""What each tool and command may be asked, one dataclass per question. Knows no use case.

The same one is read from MCP arguments and from command-line flags: `arguments.py` says how.
"""

from dataclasses import MISSING, fields
from typing import Annotated, Any, Literal

from annotated_types import MaxLen
from pydantic import AwareDatetime

from metagit_mcp.domain.tasks import Approval, ModelTier, Risk, Urgency
from metagit_mcp.domain.text import AGENT_PATTERN, ANY_ID_PATTERN, ID_PATTERN
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.arguments import said
from metagit_mcp.wire.codec import Json

Line = Annotated[str, MaxLen(1000)]
Detail = Literal["brief", "full"]
_GRAPH = "Task graph (Group) id; the file name under tasks/graphs without .json"


def _id(description: str) -> Any:  # noqa: ANN401 - stands for any field
    return said(description, None, min_length=1, max_length=255, pattern=ID_PATTERN)


def _any_id(description: str, default: Any = None) -> Any:  # noqa: ANN401 - stands for any field
    """Declare the id of a Group or node that may be of a task graph file or of Events; it must reach no path."""
    return said(description, default, min_length=1, max_length=256, pattern=ANY_ID_PATTERN)


def _agent(description: str) -> Any:  # noqa: ANN401 - stands for any field
    return said(description, None, min_length=1, max_length=256, pattern=AGENT_PATTERN)


def _action() -> Any:  # noqa: ANN401 - stands for any field
    return said(
        "Repeating a call under the same id gets its first reply",
        None,
        min_length=1,
        max_length=128,
        pattern=AGENT_PATTERN,
    )


@value
class NextRequest:
    """Asks what should be worked on next."""

    graph_id: str | None = _any_id(f"Only this graph. {_GRAPH}")
    limit: int = said("How many nodes: with claim all for this agent, else each for another", 1, ge=1, le=100)
    agent_id: str | None = _agent("Who asks; default: the agent of this connection")
    claim: bool = said("true: take what is given, under a lease", default=False)
    preview: bool = said("true: only look, nothing is logged", default=False)
    capabilities: tuple[str, ...] | None = said("What the asker can do; nodes that need more are left out", None)
    wait_seconds: int = said("Wait up to this long for work when there is none", 0, ge=0, le=300)
    lease_seconds: int | None = said("Term of the lease without a report", None, ge=60, le=1_000_000_000)
    new_session: bool = said("true: this agent restarted; its former leases end", default=False)
    detail: Detail | None = said("full adds factors, hints and commands; default: full up to limit 3", None)
    action_id: str | None = _action()


@value
class StatusRequest:
    """Asks how things stand, and why a node is not offered."""

    graph_id: str | None = _any_id(f"Only this graph. {_GRAPH}")
    node_id: str | None = _any_id("Explain this node: every reason for or against it")
    recent: int = said("How many recent decisions to show", 10, ge=0, le=100)
    after_group: str | None = _any_id("Show the Groups that come after this one, the last one shown")
    detail: Detail | None = said("full adds factors and dispatch hints to recent decisions and explain", None)


def _weight(name: str) -> Any:  # noqa: ANN401 - stands for any field
    return said(f"New weight of {name}, 0 to 1000000", None, ge=0, le=1_000_000, allow_inf_nan=False)


@value
class PolicyRequest:
    """Show the policy, change it, or see what a change would do."""

    action: Literal["show", "set", "preview"] = said("show, set, or preview a set without writing", "show")
    priority: float | None = _weight("priority")
    dependency: float | None = _weight("criticality")
    affinity: float | None = _weight("a warm worktree")
    cost: float | None = _weight("small token cost")
    fairness: float | None = _weight("repositories served least")
    urgency: float | None = _weight("requested urgency")
    deadline: float | None = _weight("being due soon")
    merge_queue_threshold: int | None = said(
        "Queued or running merges from which a repository is under pressure", None, ge=1, le=1_000_000
    )
    merge_pressure_penalty: float | None = said(
        "Taken off the score under pressure", None, ge=0, le=1_000_000, allow_inf_nan=False
    )
    skip_on_merge_pressure: bool | None = said("true: leave pressured nodes out instead", None)
    graph_id: str | None = _any_id("Weights go to this graph's override")
    patch: str | None = said("RFC 7396 merge patch of policy.json, as a JSON string", None)
    expected_revision: str | None = said("Refuse the set unless the policy still has this revision", None)


@value
class WorkStartRequest:
    """Take one node."""

    node_id: str = _any_id("The node to take", MISSING)
    graph_id: str | None = _any_id(f"Needed when several graphs have the node. {_GRAPH}")
    agent_id: str | None = _agent("Who takes it")
    lease_seconds: int | None = said("Term of the lease without a report", None, ge=60, le=1_000_000_000)
    queue_only: bool = said("true: own it now, start it later", default=False)
    new_session: bool = said("true: this agent restarted; its former leases end", default=False)
    action_id: str | None = _action()


@value
class GivenResult:
    """What finished work left behind."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - read by pydantic under this name, not a default

    summary: str = said("What was done, for those who build on it", "", max_length=4000)
    artifacts: tuple[Line, ...] = said("Where it is: paths, links, commits", (), max_length=50)
    evidence: tuple[Line, ...] = said("What shows that it is right", (), max_length=50)


@value
class GivenCheckpoint:
    """A point from which the work can go on; its content stays with the agent."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - as above

    checkpoint_id: str | None = said("Its id; made if absent", None, max_length=255, pattern=AGENT_PATTERN)
    uri: str | None = said("Where it is", None, max_length=2000)
    digest: str | None = said("Digest that its content has", None, max_length=255, pattern=AGENT_PATTERN)
    note: str | None = said("How to go on from it", None, max_length=2000)


@value
class GivenUsage:
    """What was used under the lease so far, in all."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - as above

    tokens: int | None = said("Tokens", None, ge=0, le=1_000_000_000)
    tool_calls: int | None = said("Tool calls", None, ge=0, le=1_000_000_000)
    seconds: int | None = said("Seconds", None, ge=0, le=1_000_000_000)
    cost_micros: int | None = said("Cost in millionths", None, ge=0, le=1_000_000_000)


@value
class GivenRateLimit:
    """A resource that turned the agent away."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - as above

    resource: str = said("Its name in the policy", min_length=1, max_length=255)
    until: AwareDatetime = said("RFC 3339 instant from which it serves again")


ReportedState = Literal["running", "checkpointed", "paused", "blocked", "completed", "failed", "released"]


@value
class WorkReportRequest:
    """Say how the work under a lease stands."""

    lease_id: str = said("The lease that the claim gave", min_length=1, max_length=64, pattern=AGENT_PATTERN)
    state: ReportedState = said("running renews the lease; released gives the node back untried")
    note: str | None = said("What blocks it or went wrong; required for blocked and failed", None, max_length=2000)
    result: GivenResult | None = said("What finished work left behind", None)
    checkpoint: GivenCheckpoint | None = said("From where the work can go on", None)
    usage: GivenUsage | None = said("Used under this lease so far, in all", None)
    rate_limited: GivenRateLimit | None = said("With failed: a resource turned you away; costs no attempt", None)
    agent_id: str | None = _agent("Who reports; must be the holder")
    action_id: str | None = _action()


@value
class PlannedNode:
    """One node of a plan."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - read by pydantic under this name, not a default

    title: str = said("What to do, one line", min_length=1, max_length=500)
    node_id: str | None = said("Letters, digits, '_', '.', '-'; made from the title if absent", None, max_length=255)
    depends_on: tuple[str, ...] | None = said("Ids of nodes of this graph that must be completed first", None)
    parent_id: str | None = said("Its container, which waits for it", None)
    priority: int | None = said("Higher is more urgent, -1000000 to 1000000", None)
    estimated_tokens: int | None = said("Expected tokens, up to 1000000000", None)
    estimated_runtime_seconds: int | None = said("Expected run time in seconds", None)
    project: str | None = said("Its project", None)
    repository: str | None = said("Repository it works in, as project/name", None)
    agent_id: str | None = said("Which agent fits; only a hint", None)
    requested_urgency: Urgency | None = said("How urgent it is", None)
    deadline: str | None = said("RFC 3339 instant, for example 2026-12-01T12:00:00Z", None)
    not_before: str | None = said("RFC 3339 instant before which it may not run", None)
    risk: Risk | None = said("What can go wrong; high risks need approval", None)
    approval: Approval | None = said("human_required: a person approves it first", None)
    capabilities: tuple[str, ...] | None = said("What an agent must be able to do", None)
    slots: int | None = said("Execution slots it takes", None)
    acceptance: tuple[str, ...] | None = said("Criteria of being done", None)
    model_tier: ModelTier | None = said("A hint for the launcher", None)
    discovered_from: str | None = said("Node during which it was found", None)


@value
class TaskPlanRequest:
    """Write down new work: a new graph, or more nodes of an existing one."""

    title: str = said("Title of the graph", min_length=1, max_length=500)
    goal: str | None = said("What the whole is for", None, max_length=4000)
    graph_id: str | None = _id("Add to this graph, or create it under this id; made from the title if absent")
    nodes: tuple[PlannedNode, ...] | None = said("The nodes, in any order", None)
    outline: str | None = said(
        "Instead of nodes: one task a line, two spaces = child, at its end '(after: id)' = depends on,"
        " '(risk: destructive)' = its risk",
        None,
    )


@value
class TaskUpdateRequest:
    """Change one node."""

    node_id: str = said("The node to change", min_length=1, max_length=255, pattern=ID_PATTERN)
    graph_id: str | None = _id(f"Needed when several graphs have the node. {_GRAPH}")
    expected_updated_at: str | None = said("Refuse unless the node's updated_at is still this", None)
    status: Literal["pending", "ready", "running", "blocked", "completed", "cancelled"] | None = said(
        "New status; blocked needs blocker_reason", None
    )
    blocker_reason: str | None = said("What blocks it", None, max_length=2000)
    title: str | None = said("What to do, one line", None, min_length=1, max_length=500)
    depends_on: tuple[str, ...] | None = said("Replaces the dependencies", None)
    parent_id: str | None = said("Its container", None)
    priority: int | None = said("Higher is more urgent, -1000000 to 1000000", None)
    estimated_tokens: int | None = said("Expected tokens, up to 1000000000", None)
    estimated_runtime_seconds: int | None = said("Expected run time in seconds", None)
    project: str | None = said("Its project", None)
    repository: str | None = said("Repository it works in, as project/name", None)
    agent_id: str | None = said("Which agent fits; only a hint", None)
    requested_urgency: Urgency | None = said("How urgent it is", None)
    deadline: str | None = said("RFC 3339 instant", None)
    not_before: str | None = said("RFC 3339 instant before which it may not run", None)
    risk: Risk | None = said("May be raised here, lowered only by a person in the file", None)
    approval: Approval | None = said("May be raised here, lowered only by a person in the file", None)
    capabilities: tuple[str, ...] | None = said("What an agent must be able to do", None)
    slots: int | None = said("Execution slots it takes", None)
    acceptance: tuple[str, ...] | None = said("Criteria of being done", None)
    model_tier: ModelTier | None = said("A hint for the launcher", None)
    clear: tuple[str, ...] | None = said("Names of optional fields to remove", None)


def node_fields(request: PlannedNode | TaskUpdateRequest) -> Json:
    """Return the node fields that a request names, by their name in the task graph file.

    Raises:
        InvalidInput: fewer than no tokens, which only a file of another program may say; a title of blanks.
    """
    if request.estimated_tokens is not None and request.estimated_tokens < 0:
        raise InvalidInput("estimated_tokens: should be greater than or equal to 0", field="estimated_tokens")
    if request.title is not None:
        refuse_blank(request.title)
    control = {"graph_id", "expected_updated_at", "clear"}
    named = {each.name: getattr(request, each.name) for each in fields(request) if each.name not in control}
    return {name: list(each) if isinstance(each, tuple) else each for name, each in named.items() if each is not None}


def refuse_blank(title: str) -> None:
    """Raise InvalidInput for a title of blanks: the task graph tools refuse such a graph, and every command with it."""
    if not title.strip():
        raise InvalidInput("title: must say something", field="title")
