"""What starts take from each other: resources, exclusive keys, write scopes; and what a lease then holds."""

from __future__ import annotations

from typing import Any

import pytest

from metagit_mcp.domain.limits import AgentPolicy, ResourcePolicy
from metagit_mcp.domain.policy import GroupPolicy, SchedulePolicy
from metagit_mcp.domain.work import ExecutionLease, Holding, WorkState
from metagit_mcp.scheduling.cycle import WorkspaceQueue, holding_of
from metagit_mcp.scheduling.demand import Demand, demand_of, first_collision, scopes_of, with_own
from metagit_mcp.scheduling.holdings import Changed, Holdings
from metagit_mcp.scheduling.needs import Needs
from metagit_mcp.scheduling.snapshot import Asker
from tests.snapshots import ANYONE, against, group, known, learn, lease, ledger, names, queue_of, queue_over, task

W1 = Asker(agent_id="w1")
API = SchedulePolicy(resources={"api": ResourcePolicy(capacity=4)})


@pytest.mark.parametrize(
    ("globs", "scopes"),
    [
        ((), ()),
        (("src/a",), ("src/a/",)),
        (("src/a/", "./src//a"), ("src/a/",)),
        (("src\\a\\*.py",), ("src/a/",)),
        (("src/a*",), ("src/a",)),
        (("src/[ab]/x",), ("src/",)),
        (("src/{a,b}",), ("src/",)),
        (("src/x?.py",), ("src/x",)),
        (("**", "src/**"), ("", "src/")),
        (("",), ("",)),
    ],
)
def test_the_fixed_beginning_of_a_glob(globs: tuple[str, ...], scopes: tuple[str, ...]) -> None:
    assert scopes_of(globs) == scopes


@pytest.mark.parametrize(
    ("one", "other", "collides"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/a", "src/ab", False),
        ("src/a", "src/ab*", False),
        ("src/a*", "src/ab", True),
        ("src/a", "src/a*", True),
        ("src/a/**", "src/b/**", False),
        ("**/*.py", "docs", True),
        ("src", "src", True),
        ("src/a.py", "src/a.py/", True),
    ],
)
def test_two_globs_collide_if_one_can_hold_the_other(one: str, other: str, *, collides: bool) -> None:
    for mine, theirs in ((one, other), (other, one)):
        assert (first_collision(scopes_of((mine,)), scopes_of((theirs,))) is not None) is collides
        nodes = task("a", touches=(mine,)), task("r")
        queue = queue_over(*nodes, work=ledger(lease("r", touches=(theirs,))))
        assert bool(against(queue, "a", W1)[:-1]) is collides


def test_a_demand_is_what_counts_of_how_it_is_spelt() -> None:
    node = task("a", uses={"b": 2, "a": 1, "c": 0, "d": -1}, exclusive=("y", "x", "y"), touches=("src/**", "./src/"))
    item = known("a", "queued", owner="w1", released_by=("w2",))
    assert demand_of(node, item, exhausted=True) == Demand(
        repository="",
        capabilities=frozenset(),
        slots=1,
        uses=(("a", 1), ("b", 2)),
        exclusive=("x", "y"),
        touches=("src/",),
        owner="w1",
        shunned_by=("w2",),
        exhausted=True,
    )
    assert demand_of(node, known("a", "blocked", owner="w1")).owner is None
    assert [demand_of(each).is_contended for each in (node, task("b"), task("b", uses={"x": 0}))] == [
        True,
        False,
        False,
    ]


def test_units_of_node_and_agent_are_added_up() -> None:
    assert with_own((("a", 1),), ()) == (("a", 1),)
    assert with_own((("b", 1),), (("a", 2), ("b", 3))) == (("a", 2), ("b", 4))


@pytest.mark.parametrize(
    ("uses", "of_agent", "said"),
    [
        ({"api": 1}, {}, []),
        ({"api": 2}, {}, ["resource_busy(api, 3/4)"]),
        ({}, {"api": 1}, []),
        ({}, {"api": 2}, ["resource_busy(api, 3/4)"]),
        ({"api": 1}, {"api": 1}, ["resource_busy(api, 3/4)"]),
        ({"unknown": 99}, {"other": 99}, []),
        ({"bad name": 1}, {}, ["resource_busy((not a plain name), 0/0)"]),
    ],
)
def test_a_resource_is_busy_when_too_few_units_are_left(
    uses: dict[str, int], of_agent: dict[str, int], said: list[str]
) -> None:
    resources = {"api": ResourcePolicy(capacity=4), "bad name": ResourcePolicy(capacity=0)}
    policy = SchedulePolicy(resources=resources, agents={"w1": AgentPolicy(uses=of_agent, slots=9)})
    queue = queue_over(task("a", uses=uses), task("r"), policy=policy, work=ledger(lease("r", "w2", uses={"api": 3})))
    assert against(queue, "a", W1) == said
    assert names(queue, W1) == ([] if said else ["a"])


def test_an_exclusive_key_has_one_holder_in_the_whole_workspace() -> None:
    graphs = group("g", task("a", exclusive=("deploy", "bad key"))), group("h", task("r"), task("q"))
    held = lease("r", graph_id="h", exclusive=("deploy",)), lease("q", graph_id="h", exclusive=("deploy", "bad key"))
    queue = queue_of(*graphs, work=ledger(*held))
    assert against(queue, "a") == [
        "exclusive((not a plain name), held by q)",
        "exclusive(deploy, held by q)",
    ]


def test_write_scopes_collide_in_one_repository_only_and_each_holder_is_named() -> None:
    nodes = task("a", repository="p/a", touches=("src/x/**", "**")), task("b", repository="p/b", touches=("**",))
    held = [lease(name, repository="p/a", touches=("src/x/y.py",)) for name in ("s", "r")]
    queue = queue_over(*nodes, task("r"), task("s"), work=ledger(*held))
    assert against(queue, "a") == ["conflicts_with(r, .)", "conflicts_with(s, .)"]
    assert against(queue, "b") == []
    assert names(queue) == ["b"]


@pytest.mark.parametrize(("state", "first"), [("active", "leased"), ("blocked", "blocked")])
def test_what_a_lease_holds_is_never_said_to_stand_against_its_own_node(state: WorkState, first: str) -> None:
    """An agent that is stuck keeps its lease, and what it holds, under the status `blocked`."""
    takes: dict[str, Any] = {"exclusive": ("deploy",), "touches": ("src/**",), "uses": {"api": 4}}
    held = lease("a", **{**takes, "touches": ("src/",)})
    stands = known("a", state, owner="w1", lease_id=held.lease_id, ownership_epoch=1)
    queue = queue_over(task("a", **takes), task("b", **takes), policy=API, work=ledger(held, stands))
    assert [text.partition("(")[0] for text in against(queue, "a")] == [first]
    assert against(queue, "b") == [
        "exclusive(deploy, held by a)",
        "conflicts_with(a, src/)",
        "resource_busy(api, 4/4)",
    ]


def test_a_glob_is_never_quoted() -> None:
    nodes = task("a", touches=("rm -rf ~/**",)), task("r")
    queue = queue_over(*nodes, work=ledger(lease("r", touches=("**",))))
    assert against(queue, "a") == ["conflicts_with(r, (not a plain name))"]


# --- plans -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"exclusive": ("deploy",)}, ["a"]),
        ({"touches": ("src/**",)}, ["a"]),
        ({"touches": ("src/**",), "repository": "p/a"}, ["a"]),
        ({"uses": {"api": 2}}, ["a", "b"]),
        ({"uses": {"api": 3}}, ["a"]),
        ({"uses": {"other": 3}}, ["a", "b", "c"]),
    ],
)
def test_a_plan_never_holds_what_collides(fields: dict[str, Any], expected: list[str]) -> None:
    queue = queue_over(*(task(name, **fields) for name in "abc"), task("z", priority=-1), policy=API)
    assert names(queue) == [*expected, "z"]
    assert names(queue, limit=len(expected)) == expected


def test_two_lanes_collide_as_two_nodes_of_one_lane_do() -> None:
    nodes = (
        task("a", priority=9, exclusive=("deploy",), uses={"api": 1}),
        task("b", priority=8, exclusive=("deploy", "main")),
        task("c", priority=7, touches=("src/**",), repository="p/a"),
        task("d", priority=6, touches=("src/x",), repository="p/a"),
        task("e", priority=5, touches=("src/x",), repository="p/b"),
        task("f", priority=4, uses={"api": 4}),
        task("g", priority=3, uses={"api": 3}),
    )
    assert names(queue_over(*nodes, policy=API)) == ["a", "c", "e", "g"]


def test_a_plan_counts_what_each_agent_takes_for_itself() -> None:
    policy = SchedulePolicy(resources=API.resources, agents={"w*": AgentPolicy(uses={"api": 2})})
    queue = queue_over(*(task(name) for name in "abc"), policy=policy)
    assert (names(queue, W1), names(queue)) == (["a", "b"], ["a", "b", "c"])
    assert queue.moment(W1) is queue.moment(Asker(agent_id="w2")) is not queue.moment(ANYONE)


def test_a_group_at_its_quota_ends_and_the_others_go_on() -> None:
    policy = SchedulePolicy(groups={"g": GroupPolicy(quota=1)})
    nodes = [task(f"a{number}", priority=9, repository=f"p/{number}") for number in range(3)]
    queue = queue_of(group("g", *nodes), group("h", task("b")), policy=policy)
    assert names(queue) == ["a0", "b"]
    queue = queue_of(group("g", *nodes), group("h", task("b")), policy=policy, work=ledger(lease("a0")))
    assert names(queue) == ["b"]


# --- what a lease holds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "slots", "cost"), [(0, None, 1), (1_000, 1, 1), (1_001, 1, 2), (2_500, 3, 9), (None, 2, 2)]
)
def test_the_charge_of_a_lease(tokens: int | None, slots: int | None, cost: int) -> None:
    node = task("a", estimated_tokens=tokens, slots=slots)
    assert holding_of(queue_over(node), W1, "g", node) == Holding(slots=slots or 1, cost=cost)


def test_a_lease_holds_what_its_node_and_its_agent_take() -> None:
    node = task(
        "a",
        repository="A.git",
        project="P",
        uses={"api": 1, "db": 2, "off": 0},
        exclusive=("deploy",),
        touches=("src/**",),
    )
    policy = SchedulePolicy(agents={"w1": AgentPolicy(uses={"api": 2, "none": 0})})
    queue = queue_over(node, policy=policy)
    assert holding_of(queue, W1, "g", task("a", slots=9)) == Holding(
        repository="p/a", uses={"api": 3, "db": 2}, exclusive=("deploy",), touches=("src/**",)
    )
    assert holding_of(queue, ANYONE, "g", node).uses == {"api": 1, "db": 2}


def test_holdings_say_what_is_held_in_another_way() -> None:
    fields: dict[str, Any] = {
        "slots": 2,
        "repository": "p/a",
        "uses": {"api": 1},
        "exclusive": ("k",),
        "touches": ("src/**",),
    }
    first = lease("a", **fields)
    holdings = Holdings([first])
    assert (holdings.slots, holdings.units["api"], dict(holdings.by_agent)) == (2, 1, {"w1": 1})

    def noted(node_id: str, *now: ExecutionLease) -> tuple[dict[str, int], set[str], set[tuple[str, str]]]:
        changed = Changed()
        holdings.put(("g", node_id), next(iter(now), None), changed)
        assert bool(changed) is any((changed.units, changed.keys, changed.scopes))
        return changed.units, changed.keys, changed.scopes

    assert noted("a", lease("a", **fields)) == ({}, set(), set())
    assert noted("b", lease("b", "w2", uses={"db": 1})) == ({"db": 0}, set(), set())
    assert noted("a", lease("a", uses={"api": 2})) == ({"api": 1}, {"k"}, {("p/a", "src/")})
    assert noted("a") == ({"api": 2}, set(), set())
    assert noted("a") == ({}, set(), set())
    assert (holdings.slots, dict(holdings.by_agent), holdings.holder("k")) == (1, {"w2": 1}, None)


@pytest.mark.parametrize(
    ("holding", "felt"),
    [
        ({"uses": {"api": 1}}, []),
        ({"uses": {"api": 2}}, [1]),
        ({"uses": {"api": 4}}, [0, 1]),
        ({"uses": {"other": 4}}, []),
        ({"exclusive": ("deploy", "unknown")}, [2]),
        ({"touches": ("src/a/x",), "repository": "p/a"}, [3, 4]),
        ({"touches": ("src/**",), "repository": "p/a"}, [3, 4, 5, 7]),
        ({"touches": ("web/**",), "repository": "p/a"}, []),
        ({"touches": ("src/**",), "repository": "p/b"}, []),
    ],
)
def test_only_lanes_that_feel_a_lease_are_looked_at(holding: dict[str, Any], felt: list[int]) -> None:
    fields: list[dict[str, Any]] = [
        {"uses": {"api": 1, "other": 1}},
        {"uses": {"api": 2}},
        {"exclusive": ("deploy",)},
        {"touches": ("src/**", "src/a/**"), "repository": "p/a"},
        {"touches": ("src/a*",), "repository": "p/a"},
        {"touches": ("src/b",), "repository": "p/a"},
        {},
        {"touches": ("src/b",), "repository": "p/a", "exclusive": ("own",)},
    ]
    needs, holdings, changed = Needs(), Holdings(), Changed()
    for place, each in enumerate(fields):
        needs.put(demand_of(task("a", **each)), place)
    holdings.put(("g", "r"), lease("r", **holding), changed)
    assert sorted(set(needs.that_feel(changed, holdings, {"api": 4}, (("api", 1),)))) == felt


def test_what_a_group_needs_only_later_is_felt_like_what_it_needed_from_the_first() -> None:
    """Its node is ready when another one is done: until then no lane of the Group needed the resource."""
    work = ledger()
    graphs = group("g", task("a"), task("b", "a", uses={"db": 1})), group("h", task("c", uses={"db": 1}))
    queue = queue_of(*graphs, work=work, policy=SchedulePolicy(resources={"db": ResourcePolicy()}))
    assert names(queue) == ["a", "c"]
    queue.follow(work, {learn(work, known("a", "completed"))})
    assert names(queue, graph_id="g") == ["b"]
    queue.follow(work, {learn(work, lease("c", graph_id="h", uses={"db": 1}))})
    assert (names(queue), against(queue, "b")) == ([], ["resource_busy(db, 1/1)"])
    queue.follow(work, {learn(work, known("c", "completed", "h"))})
    assert names(queue) == ["b"]


def test_few_agents_are_remembered_at_a_time() -> None:
    policy = SchedulePolicy(agents={"w*": AgentPolicy(uses={"api": 1})})
    queue: WorkspaceQueue = queue_over(task("a"), policy=policy)
    for number in range(1_030):
        assert queue.units_of(f"w{number}") == (("api", 1),)
    assert queue.units_of("w0") == (("api", 1),)
    assert queue.units_of("other") == ()
