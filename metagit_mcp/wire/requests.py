"""What each tool and command may be asked, and how its arguments are read. Knows no use case.

One dataclass per question; the same one is read from MCP arguments and from command-line flags.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from typing import Annotated, Any, Final, Literal, TypeVar

from annotated_types import MaxLen
from pydantic import AwareDatetime, ValidationError

from metagit_mcp.domain.tasks import Approval, ModelTier, Risk, Urgency
from metagit_mcp.domain.text import AGENT_PATTERN, ANY_ID_PATTERN, ID_PATTERN, close_words, is_any_id, is_id
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.codec import Json, adapter, compact, parse_json, problem
from metagit_mcp.wire.portable import input_schema

T = TypeVar("T")
_LONGEST_NAME = 100
Line = Annotated[str, MaxLen(1000)]
Detail = Literal["brief", "full"]
_GRAPH = "Task graph (Group) id; the file name under tasks/graphs without .json"


def said(description: str, default: Any = MISSING, **bounds: object) -> Any:  # noqa: ANN401 - stands for any field
    """Declare an argument with the description that its schema shows; without a default it is required."""
    return field(default=default, metadata={"description": description, **bounds})


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


def parse_request(shape: type[T], arguments: Mapping[str, Any]) -> T:
    """Read arguments as `shape`.

    An empty string or null is absent; a JSON string is accepted where a list or an object is expected.

    Raises:
        InvalidInput: with `details.field`; unknown names are refused with the one that may be meant.
    """
    kinds = _kinds(shape)
    for name in arguments:
        if name not in kinds:
            raise _unknown(name, kinds)
    given = {name: _filled_in(_decoded(each, kinds[name], name)) for name, each in _filled_in(arguments).items()}
    _refuse_half_characters(given)
    try:
        request = adapter(shape).validate_python(given)
    except ValidationError as error:
        raise _wrong(shape, error) from None
    for name, is_fit in _id_checks(shape):
        # `.` and `..` fit the pattern, and its letters are not the same to every program.
        if (given_id := getattr(request, name)) is not None and not is_fit(given_id):
            raise InvalidInput(f"{name}: is no id that a file could have", hint=_hint(shape, name), field=name)
    return request


def _wrong(shape: type[Any], error: ValidationError) -> InvalidInput:
    """Return the first thing that is wrong; a misspelt field before the one that is missing because of it."""
    details = error.errors(include_url=False, include_input=False)
    unknown = [each for each in details if each["type"] == "unexpected_keyword_argument"]
    where, rule = problem((unknown or details)[0])
    hint = _field_hint(shape, where) if unknown else _hint(shape, where)
    return InvalidInput(f"{where}: {rule}", hint=hint, field=where)


def _field_hint(shape: type[Any], where: str) -> str:
    outer, inner = where.partition("/")[0], where.rpartition("/")[2]
    part = input_schema(shape)["properties"][outer]
    known = list(part.get("items", part)["properties"])
    return f"{_meant(inner, known)}Known: {', '.join(known)}."


def _filled_in(given: Any) -> Any:  # noqa: ANN401 - any JSON value may stand in an argument
    """Leave out what an object says nothing of; other values are what they are."""
    if not isinstance(given, Mapping):
        return given
    return {name: each for name, each in given.items() if each not in (None, "")}


_KINDS: Final[dict[type[Any], Mapping[str, str]]] = {}
_ID_RULES: Final = {ID_PATTERN: is_id, ANY_ID_PATTERN: is_any_id}
_ID_CHECKS: Final[dict[type[Any], Sequence[tuple[str, Callable[[str], bool]]]]] = {}


def _kinds(shape: type[Any]) -> Mapping[str, str]:
    if shape not in _KINDS:
        _KINDS[shape] = {name: str(each["type"]) for name, each in input_schema(shape)["properties"].items()}
    return _KINDS[shape]


def _id_checks(shape: type[Any]) -> Sequence[tuple[str, Callable[[str], bool]]]:
    if shape not in _ID_CHECKS:
        patterns = {name: str(each.get("pattern")) for name, each in _metadata(shape).items()}
        _ID_CHECKS[shape] = [(name, _ID_RULES[each]) for name, each in patterns.items() if each in _ID_RULES]
    return _ID_CHECKS[shape]


def _refuse_half_characters(given: Json) -> None:
    """Refuse half of a surrogate pair here, since no answer and no file could hold it."""
    try:
        compact(given)
    except ValueError:
        raise InvalidInput("a text holds half of a character (a lone surrogate)") from None


def _unknown(name: str, kinds: Mapping[str, str]) -> InvalidInput:
    known = ", ".join(sorted(kinds))
    quoted = name if name.isidentifier() and len(name) <= _LONGEST_NAME else "(not a name)"
    return InvalidInput(f"unknown argument {quoted}", hint=f"{_meant(name, kinds)}Known: {known}.", field=quoted)


def _meant(name: str, known: Iterable[str]) -> str:
    return "".join(f"Did you mean {each}? " for each in close_words(name, known))


_NAMES: Final = '["one", "two"]'
_EXAMPLES: Final = {
    "nodes": '[{"title": "Build it"}, {"title": "Test it", "depends_on": ["build-it"]}]',
    "events": '[{"eventId": "event:1", "groupId": "group:auth", "sequence": 1, "kind": "work.started", ...}]',
    "result": '{"summary": "Built it", "artifacts": ["dist/it.whl"]}',
    "checkpoint": '{"note": "Parsed; next: types"}',
    "usage": '{"tokens": 1200}',
    "rate_limited": '{"resource": "api", "until": "2026-12-01T12:00:00Z"}',
}


def _decoded(each: object, kind: str, name: str) -> object:
    if isinstance(each, str) and kind in {"array", "object"}:
        try:
            return parse_json(each.encode("utf-8", "surrogatepass"))
        except ValueError as error:
            hint = f"For example: {_EXAMPLES.get(name, _NAMES)}"
            raise InvalidInput(f"{name}: must be a JSON {kind}: {error}", hint=hint, field=name) from None
    if isinstance(each, bool) and kind in {"integer", "number"}:
        raise InvalidInput(f"{name}: must be {'an integer' if kind == 'integer' else 'a number'}", field=name)
    return each


def _hint(shape: type[Any], where: str) -> str:
    name = where.partition("/")[0]
    described = _metadata(shape)[name].get("description", "")
    return f"{name}: {described}." if described else ""


def _metadata(shape: type[Any]) -> Mapping[str, Mapping[Any, Any]]:
    return {each.name: each.metadata for each in fields(shape)}


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
