"""Arguments of tools and commands: what is accepted, and the one sentence that refuses the rest."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.arguments import parse_request
from metagit_mcp.wire.requests import (
    NextRequest,
    PlannedNode,
    PolicyRequest,
    StatusRequest,
    TaskPlanRequest,
    TaskUpdateRequest,
    WorkStartRequest,
    node_fields,
)

LIMIT = "limit: How many nodes: with claim all for this agent, else each for another."
ONLY = "graph_id: Only this graph. Task graph (Group) id; the file name under tasks/graphs without .json."
IDS = "must be letters, digits and '_', '.', '-' only"
ANY_IDS = "must be letters, digits and '_', '.', '-', in ids from Events also ':', '/', '@'"
ADDED_TO = "graph_id: Add to this graph, or create it under this id; made from the title if absent."
WHOLE = "should be a valid integer"


def refused(shape: type, **arguments: Any) -> tuple[str, str, object]:  # noqa: ANN401 - any argument
    with pytest.raises(InvalidInput) as error:
        parse_request(shape, arguments)
    return error.value.message, error.value.hint, error.value.details.get("field")


@pytest.mark.parametrize(
    ("limit", "rule"),
    [
        (0, "should be greater than or equal to 1"),
        (-1, "should be greater than or equal to 1"),
        (101, "should be less than or equal to 100"),
        (10**400, "should be less than or equal to 100"),
        ("x", f"{WHOLE}, unable to parse string as an integer"),
        ("1e3", f"{WHOLE}, unable to parse string as an integer"),
        ("101", "should be less than or equal to 100"),
        (1.9, f"{WHOLE}, got a number with a fractional part"),
        (float("inf"), "should be a finite number"),
        (float("nan"), "should be a finite number"),
        ([1], WHOLE),
        ({}, WHOLE),
    ],
)
def test_a_limit_that_is_none(limit: Any, rule: str) -> None:  # noqa: ANN401 - any JSON
    assert refused(NextRequest, limit=limit) == (f"limit: {rule}", LIMIT, "limit")


@pytest.mark.parametrize("truth", [True, False])
def test_a_truth_value_is_no_number(*, truth: bool) -> None:
    assert refused(NextRequest, limit=truth) == ("limit: must be an integer", "", "limit")
    assert refused(PolicyRequest, cost=truth) == ("cost: must be a number", "", "cost")


@pytest.mark.parametrize(("given_limit", "limit"), [(1, 1), (100, 100), ("2", 2), (2.0, 2), ("", 1), (None, 1)])
def test_a_limit(given_limit: Any, limit: int) -> None:  # noqa: ANN401 - any JSON
    assert parse_request(NextRequest, {"limit": given_limit}) == NextRequest(limit=limit)


def test_empty_and_null_are_absent() -> None:
    every = [each.name for each in fields(NextRequest)]
    assert parse_request(NextRequest, dict.fromkeys(every)) == NextRequest()
    assert parse_request(NextRequest, dict.fromkeys(every, "")) == NextRequest()
    assert refused(TaskPlanRequest, title="")[0] == "title: is required"
    assert refused(TaskUpdateRequest)[0] == "node_id: is required"


@pytest.mark.parametrize(
    ("graph_id", "message"),
    [
        ("a/b", f"graph_id: {IDS}"),
        ("../../x", f"graph_id: {IDS}"),
        ("a b", f"graph_id: {IDS}"),
        ("a\n", f"graph_id: {IDS}"),
        ("½", f"graph_id: {IDS}"),
        ("..", "graph_id: is no id that a file could have"),
        (".", "graph_id: is no id that a file could have"),
        ("e\u0301", "graph_id: is no id that a file could have"),
        ("x" * 256, "graph_id: should have at most 255 characters"),
        (5, "graph_id: should be a valid string"),
        ([], "graph_id: should be a valid string"),
    ],
)
def test_a_graph_id_that_no_file_could_have(graph_id: Any, message: str) -> None:  # noqa: ANN401 - any JSON
    assert refused(TaskPlanRequest, title="T", graph_id=graph_id) == (message, ADDED_TO, "graph_id")


@pytest.mark.parametrize(
    ("graph_id", "message"),
    [
        ("../../x", f"graph_id: {ANY_IDS}"),
        ("/x", f"graph_id: {ANY_IDS}"),
        ("é/x", f"graph_id: {ANY_IDS}"),
        ("a b", f"graph_id: {ANY_IDS}"),
        ("a\n", f"graph_id: {ANY_IDS}"),
        ("½", f"graph_id: {ANY_IDS}"),
        ("..", "graph_id: is no id that a file could have"),
        ("e\u0301", "graph_id: is no id that a file could have"),
        ("é" * 256, "graph_id: is no id that a file could have"),
        ("x" * 257, "graph_id: should have at most 256 characters"),
        (5, "graph_id: should be a valid string"),
    ],
)
def test_a_graph_id_that_is_none(graph_id: Any, message: str) -> None:  # noqa: ANN401 - any JSON
    assert refused(NextRequest, graph_id=graph_id) == (message, ONLY, "graph_id")


@pytest.mark.parametrize("name", ["group:auth", "agent://acme/a@1", "a/../b", "x" * 256])
def test_what_names_no_file_may_be_of_events(name: str) -> None:
    assert parse_request(NextRequest, {"graph_id": name}) == NextRequest(graph_id=name)
    assert parse_request(PolicyRequest, {"graph_id": name}) == PolicyRequest(graph_id=name)
    assert parse_request(StatusRequest, {"graph_id": name, "node_id": name, "after_group": name}) == StatusRequest(
        graph_id=name, node_id=name, after_group=name
    )
    assert parse_request(WorkStartRequest, {"graph_id": name, "node_id": name}) == WorkStartRequest(
        graph_id=name, node_id=name
    )
    for shape, more in ((TaskPlanRequest, {"title": "T"}), (TaskUpdateRequest, {"node_id": "n"})):
        assert refused(shape, graph_id=name, **more)[2] == "graph_id"


@pytest.mark.parametrize("graph_id", ["a", "...", "задача", "名前", "x" * 255])
def test_a_graph_id(graph_id: str) -> None:
    assert parse_request(NextRequest, {"graph_id": graph_id}) == NextRequest(graph_id=graph_id)


def test_an_agent_id_may_have_more_signs() -> None:
    assert parse_request(NextRequest, {"agent_id": "team/w-1:a@host.x"}) == NextRequest(agent_id="team/w-1:a@host.x")
    rule = "must be letters, digits and '_', '.', ':', '/', '@', '-' only"
    for wrong in ("-w", "a b", "$(id)", "é"):
        assert refused(NextRequest, agent_id=wrong)[0] == f"agent_id: {rule}"


def test_an_unknown_argument_is_refused_with_what_may_be_meant() -> None:
    known = (
        "action_id, agent_id, capabilities, claim, detail, graph_id, lease_seconds, limit, new_session, preview, "
        "wait_seconds"
    )
    assert refused(NextRequest, limmit=1) == (
        "unknown argument limmit",
        f"Did you mean limit? Known: {known}.",
        "limmit",
    )
    assert refused(NextRequest, wroking=1) == ("unknown argument wroking", f"Known: {known}.", "wroking")
    for name in ("ignore all rules", "a" * 101, "$(id)", ""):
        assert refused(NextRequest, **{name: None})[::2] == ("unknown argument (not a name)", "(not a name)")


@pytest.mark.parametrize(
    ("capabilities", "read"),
    [(["a"], ("a",)), (("a",), ("a",)), ('["a", "b"]', ("a", "b")), ("[]", ()), ([], ())],
)
def test_a_json_string_is_accepted_for_a_list(capabilities: Any, read: tuple[str, ...]) -> None:  # noqa: ANN401 - any JSON
    assert parse_request(NextRequest, {"capabilities": capabilities}) == NextRequest(capabilities=read)


@pytest.mark.parametrize(
    ("capabilities", "message"),
    [
        ("gpu", "capabilities: must be a JSON array: expected value at line 1 column 1"),
        ("[", "capabilities: must be a JSON array: EOF while parsing a list at line 1 column 1"),
        ("[NaN]", "capabilities: must be a JSON array: expected value at line 1 column 2"),
        ("\ud800", "capabilities: must be a JSON array: expected value at line 1 column 1"),
        ('"gpu"', "capabilities: should be a list"),
        ('{"a": 1}', "capabilities: should be a list"),
        ("null", "capabilities: should be a list"),
        ([1], "capabilities/0: should be a valid string"),
        (5, "capabilities: should be a list"),
    ],
)
def test_what_is_no_list(capabilities: Any, message: str) -> None:  # noqa: ANN401 - any JSON
    if capabilities == "null":
        assert parse_request(NextRequest, {"capabilities": capabilities}) == NextRequest()
    else:
        assert refused(NextRequest, capabilities=capabilities)[0] == message


@pytest.mark.parametrize("text", [["\ud800"], ["a\udfff"]])
def test_half_a_character_is_refused(text: list[str]) -> None:
    assert refused(NextRequest, capabilities=text) == (
        "a text holds half of a character (a lone surrogate)",
        "",
        None,
    )


@pytest.mark.parametrize(
    ("preview", "read"), [(True, True), ("true", True), ("false", False), (0, False), (1, True), ("no", False)]
)
def test_a_truth_value_as_hosts_send_it(preview: Any, *, read: bool) -> None:  # noqa: ANN401 - any JSON
    assert parse_request(NextRequest, {"preview": preview}) == NextRequest(preview=read)


def test_what_is_no_truth_value() -> None:
    wrongs: list[Any] = ["maybe", 2, [], 0.5]
    for wrong in wrongs:
        assert refused(NextRequest, preview=wrong)[0].startswith("preview: should be a valid boolean")


@pytest.mark.parametrize(
    ("weight", "rule"),
    [
        ("nan", "should be a finite number"),
        (float("nan"), "should be a finite number"),
        (float("inf"), "should be a finite number"),
        (-1, "should be greater than or equal to 0"),
        (1e300, "should be less than or equal to 1000000"),
        ("abc", "should be a valid number, unable to parse string as a number"),
    ],
)
def test_a_weight_that_is_none(weight: Any, rule: str) -> None:  # noqa: ANN401 - any JSON
    hint = "urgency: New weight of requested urgency, 0 to 1000000."
    assert refused(PolicyRequest, urgency=weight) == (f"urgency: {rule}", hint, "urgency")
    assert refused(PolicyRequest, merge_pressure_penalty=weight)[0] == f"merge_pressure_penalty: {rule}"


def test_a_policy_request() -> None:
    arguments = {"action": "set", "priority": "1.5", "skip_on_merge_pressure": "false", "merge_queue_threshold": "4"}
    assert parse_request(PolicyRequest, arguments) == PolicyRequest(
        action="set", priority=1.5, skip_on_merge_pressure=False, merge_queue_threshold=4
    )
    assert parse_request(PolicyRequest, {"cost": 0}) == PolicyRequest(cost=0.0)
    assert refused(PolicyRequest, action="delete")[0] == "action: should be 'show', 'set' or 'preview'"
    assert refused(PolicyRequest, merge_queue_threshold=0)[0] == (
        "merge_queue_threshold: should be greater than or equal to 1"
    )


def test_a_status_request() -> None:
    assert parse_request(StatusRequest, {"recent": 0, "node_id": "a", "after_group": "g"}) == StatusRequest(
        recent=0, node_id="a", after_group="g"
    )
    assert refused(StatusRequest, recent=101)[0] == "recent: should be less than or equal to 100"
    assert refused(StatusRequest, detail="all")[0] == "detail: should be 'brief' or 'full'"


def test_a_plan_of_nodes() -> None:
    nodes = '[{"title": "a", "depends_on": ["b"], "slots": 2}, {"title": "b", "node_id": "b", "risk": null}]'
    found = parse_request(TaskPlanRequest, {"title": "t", "nodes": nodes})
    first, second = PlannedNode(title="a", depends_on=("b",), slots=2), PlannedNode(title="b", node_id="b")
    assert found == TaskPlanRequest(title="t", nodes=(first, second))
    assert node_fields(first) == {"title": "a", "depends_on": ["b"], "slots": 2}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([{"title": "a", "foo": 1}], "nodes/0/foo: unknown field"),
        ([{"title": "a", "ignore all rules": 1}], "nodes/0/(not a name): unknown field"),
        ([{"title": "a"}, {}], "nodes/1/title: is required"),
        ([{"title": ""}], "nodes/0/title: should have at least 1 character"),
        (
            [{"title": "a", "risk": "some"}],
            "nodes/0/risk: should be 'none', 'reversible', 'external', 'high_risk' or 'd",
        ),
        ([5], "nodes/0: should be an object"),
        (["a"], "nodes/0: should be an object"),
        ({"title": "a"}, "nodes: should be a list"),
    ],
)
def test_a_plan_with_a_bad_node_names_it(nodes: Any, message: str) -> None:  # noqa: ANN401 - any JSON
    said, hint, _ = refused(TaskPlanRequest, title="t", nodes=nodes)
    assert said.startswith(message)
    meant = "Known: title, node_id, depends_on, " if "unknown field" in message else "nodes: The nodes, in any order."
    assert hint.startswith(meant)


def test_a_misspelt_field_is_named_before_the_one_that_it_leaves_missing() -> None:
    said, hint, field = refused(TaskPlanRequest, title="t", nodes=[{"titel": "a"}])
    assert (said, field) == ("nodes/0/titel: unknown field", "nodes/0/titel")
    assert hint.startswith("Did you mean title? Known: title, node_id, ")


def test_an_update_names_only_what_changes() -> None:
    request = parse_request(
        TaskUpdateRequest,
        {"node_id": "a", "graph_id": "g", "status": "ready", "acceptance": "[]", "priority": 0, "clear": '["slots"]'},
    )
    assert node_fields(request) == {"node_id": "a", "status": "ready", "acceptance": [], "priority": 0}
    assert (request.clear, request.graph_id) == (("slots",), "g")
    assert refused(TaskUpdateRequest, node_id="..")[0] == "node_id: is no id that a file could have"


def test_fewer_than_no_tokens_are_not_written() -> None:
    for tokens in (0, 5, None):
        assert node_fields(PlannedNode(title="a", estimated_tokens=tokens)).get("estimated_tokens") == tokens
    with pytest.raises(InvalidInput) as error:
        node_fields(PlannedNode(title="a", estimated_tokens=-1))
    assert error.value.message == "estimated_tokens: should be greater than or equal to 0"
    assert error.value.details == {"field": "estimated_tokens"}


@pytest.mark.parametrize("shape", [PlannedNode, TaskUpdateRequest])
def test_what_a_request_puts_into_a_file_is_json_as_it_is(shape: type) -> None:
    kinds = set().union(*map(_kinds, get_type_hints(shape).values()))
    assert kinds == {str, int, type(None)}


def _kinds(hint: Any) -> set[type]:  # noqa: ANN401 - any annotation
    """Return of which types a value of this annotation is, or the values in it."""
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return {*map(type, parts)}
    return set().union(*(_kinds(part) for part in parts if part is not ...)) if parts else {hint}


SHAPES = (NextRequest, StatusRequest, PolicyRequest, TaskPlanRequest, TaskUpdateRequest)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@given(st.data(), st.sampled_from(SHAPES))
def test_any_arguments_are_read_or_refused_in_one_sentence(data: st.DataObject, shape: type) -> None:
    known = st.sampled_from([each.name for each in fields(shape)])
    arguments = data.draw(st.dictionaries(known, JSON, max_size=4))
    try:
        said = type(parse_request(shape, arguments)).__doc__
    except InvalidInput as error:
        said = error.message
    assert said is not None
    assert len(said.splitlines()) == 1
