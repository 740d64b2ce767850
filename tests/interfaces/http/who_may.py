"""Who may do what over HTTP, written down once more by hand: every tool, resource, prompt and route, by role.

It knows nothing of `domain/access.py`, which it is compared with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.groups.offered import offering
from tests.interfaces.http.calling import outcome
from tests.interfaces.http.people import OWN, OWN_FED
from tests.scenarios.planted import AGENT, FED, FILED, planted_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interfaces.http.calling import Caller

    Act = Callable[[Caller, str], str]

NEXT, STATUS, POLICY = "metagit_schedule_next", "metagit_schedule_status", "metagit_schedule_policy"
START, REPORT = "metagit_work_start", "metagit_work_report"
PLAN, UPDATE = "metagit_task_plan", "metagit_task_update"
DELIVER, ESTIMATE = "metagit_group_deliver", "metagit_group_estimate"


def tool(name: str, **arguments: Any) -> Act:  # noqa: ANN401 - any argument
    """Call a tool; ROLE in an argument stands for who calls."""

    def act(caller: Caller, role: str) -> str:
        said = {key: each.replace("ROLE", role) if isinstance(each, str) else each for key, each in arguments.items()}
        return caller.tool(name, **said).code

    return act


def resource(uri: str) -> Act:
    """Read a resource."""
    return lambda caller, _: caller.read(uri).code


def ask(method: str, named: str | None = None, /, **params: Any) -> Act:  # noqa: ANN401 - any parameter
    """Make any other request of MCP."""
    return lambda caller, _: outcome(caller.rpc(method, params, named)).code


def look(path: str) -> Act:
    """Look at a route."""
    return lambda caller, _: caller.get(path).code


def change(path: str, **document: Any) -> Act:  # noqa: ANN401 - any field
    """Post to a route; ROLE in a field stands for who calls."""

    def act(caller: Caller, role: str) -> str:
        said = {key: each.replace("ROLE", role) if isinstance(each, str) else each for key, each in document.items()}
        return caller.post(path, said).code

    return act


Row = tuple[str, "Act", str]

# What is asked for, and what the five roles of `ROLES` hear, in their order: + an answer, - AUTH_FORBIDDEN,
# ? that there is no such graph, Group or lease, in the words for what is not there, ! that the work is not in that
# state: the role is no obstacle.
TOOLS: Final[tuple[Row, ...]] = (
    ("next, previewed", tool(NEXT, preview=True), "+++++"),
    ("next, previewed, of mine", tool(NEXT, preview=True, graph_id=OWN), "+++?+"),
    ("next, previewed, of another", tool(NEXT, preview=True, graph_id=FILED), "++??+"),
    ("next, as advice", tool(NEXT), "-+--+"),
    ("next, as advice on another", tool(NEXT, graph_id=FILED), "-+--+"),
    ("next, taken", tool(NEXT, claim=True, graph_id=OWN), "-+--+"),
    ("next, taken by a sub-agent", tool(NEXT, claim=True, graph_id=OWN, agent_id="agent://acme/coder/sub"), "-+--+"),
    ("next, taken by another agent", tool(NEXT, claim=True, graph_id=OWN, agent_id=AGENT), "----+"),
    ("next, advice to another agent", tool(NEXT, agent_id=AGENT), "----+"),
    ("status", tool(STATUS), "+++++"),
    ("status of mine", tool(STATUS, graph_id=OWN), "+++?+"),
    ("status of a node of mine", tool(STATUS, graph_id=OWN, node_id="free"), "+++?+"),
    ("status of another", tool(STATUS, graph_id=FILED), "++??+"),
    ("policy, shown", tool(POLICY, action="show"), "++--+"),
    ("policy, previewed", tool(POLICY, action="preview", priority=2.0), "++--+"),
    ("policy, a weight", tool(POLICY, action="set", priority=1.0), "-+--+"),
    ("policy, a weight of one graph", tool(POLICY, action="set", priority=1.0, graph_id=OWN), "-+--+"),
    ("policy, Organization", tool(POLICY, action="set", patch='{"groups": {"for-ROLE": {"weight": 2}}}'), "----+"),
    ("start", tool(START, node_id="start-ROLE", graph_id=OWN), "-+--+"),
    ("start as another agent", tool(START, node_id="start-ROLE", graph_id=OWN, agent_id=AGENT), "----!"),
    ("report of no lease", tool(REPORT, lease_id="L-0000000000AA", state="running"), "-?--?"),
    ("plan in mine", tool(PLAN, title="x", graph_id=OWN, outline="more of ROLE"), "-++?+"),
    ("plan in another", tool(PLAN, title="x", graph_id=FILED, outline="more of ROLE"), "-+??+"),
    ("update in mine", tool(UPDATE, node_id="update-ROLE", graph_id=OWN, priority=3), "-++?+"),
    ("update in another", tool(UPDATE, node_id="canary-wide", graph_id=FILED, priority=3), "-+??+"),
    ("deliver to a Group", tool(DELIVER, group_id=OWN_FED, events=offering(OWN_FED).log), "--?++"),
    ("deliver to another", tool(DELIVER, group_id=FED, events=planted_log()), "--??+"),
    ("estimate of mine", tool(ESTIMATE, group_id=OWN), "+++?+"),
    ("estimate of a fed Group", tool(ESTIMATE, group_id=OWN_FED), "++?++"),
    ("estimate of another", tool(ESTIMATE, group_id=FED), "++??+"),
)
RESOURCES: Final[tuple[Row, ...]] = (
    ("policy", resource("metagit://policy"), "++--+"),
    ("status", resource("metagit://status"), "++--+"),
    ("decisions", resource("metagit://decisions"), "++--+"),
    ("graph of mine", resource(f"metagit://graphs/{OWN}"), "+++?+"),
    ("graph of another", resource(f"metagit://graphs/{FILED}"), "++??+"),
    ("Group", resource("metagit://groups/group%3Acli"), "++?++"),
    ("Group of another", resource("metagit://groups/group%3Acanary"), "++??+"),
    ("outbox", resource("metagit://groups/group%3Acli/outbox"), "++?++"),
    ("outbox of another", resource("metagit://groups/group%3Acanary/outbox"), "++??+"),
    ("schema", resource("metagit://schemas/policy"), "+++++"),
)
REST: Final[tuple[Row, ...]] = (
    *((method, ask(method), "+++++") for method in ("server/discover", "tools/list", "prompts/list")),
    *((method, ask(method), "+++++") for method in ("resources/list", "resources/templates/list")),
    ("board page", resource("ui://metagit/board"), "+++++"),
    ("board", resource("metagit://board"), "+++++"),
    ("board graph of mine", resource(f"metagit://board/graphs/{OWN}"), "+++?+"),
    ("board graph of another", resource(f"metagit://board/graphs/{FILED}"), "++??+"),
    ("prompts/get", ask("prompts/get", "unblock", name="unblock"), "+++++"),
)
ROUTES: Final[tuple[Row, ...]] = (
    ("GET /", look("/"), "+++++"),
    ("GET /healthz", look("/healthz"), "+++++"),
    ("GET /readyz", look("/readyz"), "+++++"),
    ("GET /v1/session", look("/v1/session"), "+++++"),
    ("GET /v1/openapi.json", look("/v1/openapi.json"), "+++++"),
    ("GET /v1/next", look("/v1/next"), "-+--+"),
    ("GET /v1/next of another", look(f"/v1/next?graph_id={FILED}"), "-+--+"),
    ("GET /v1/next to another agent", look(f"/v1/next?agent={AGENT}"), "----+"),
    ("GET /v1/next?preview=true", look("/v1/next?preview=true"), "+++++"),
    ("GET /v1/next?preview=true of another", look(f"/v1/next?preview=true&graph_id={FILED}"), "++??+"),
    ("GET /v1/status", look("/v1/status"), "+++++"),
    ("GET /v1/status of another", look(f"/v1/status?graph_id={FILED}"), "++??+"),
    ("GET /v1/board", look("/v1/board"), "+++++"),
    ("GET /v1/board of another", look(f"/v1/board?graph_id={FILED}"), "++??+"),
    ("GET /v1/graphs of mine", look(f"/v1/graphs/{OWN}"), "+++?+"),
    ("GET /v1/graphs of another", look(f"/v1/graphs/{FILED}"), "++??+"),
    ("GET /metrics", look("/metrics"), "++--+"),
    ("GET /v1/changes of another", look(f"/v1/changes?graph_id={FILED}-not"), "?????"),
    ("POST /v1/claim", change("/v1/claim", graph_id=OWN), "-+--+"),
    ("POST /v1/claim by a sub-agent", change("/v1/claim", graph_id=OWN, agent_id="agent://acme/coder/sub"), "-+--+"),
    ("POST /v1/claim as another agent", change("/v1/claim", graph_id=OWN, agent_id=AGENT), "----+"),
    ("POST /v1/start", change("/v1/start", graph_id=OWN, node_id="start-ROLE"), "-+--+"),
    ("POST /v1/start as another agent", change("/v1/start", graph_id=OWN, node_id="free", agent_id=AGENT), "----!"),
    ("POST /v1/report", change("/v1/report", lease_id="L-0000000000AA", state="running"), "-?--?"),
    ("POST /v1/approve", change("/v1/approve", graph_id=OWN, node_id="approve-ROLE", digest=64 * "0"), "----!"),
    ("POST /v1/review", change("/v1/review", graph_id=OWN, node_id="review-ROLE", accept=True), "----!"),
    ("POST /v1/retry", change("/v1/retry", graph_id=OWN, node_id="retry-ROLE"), "----!"),
    ("POST /v1/release", change("/v1/release", graph_id=OWN, node_id="release-ROLE"), "----!"),
    ("POST /v1/pause", change("/v1/pause", scope="group", name=OWN, reason="lunch"), "----+"),
    ("POST /v1/resume", change("/v1/resume", scope="group", name=OWN), "----+"),
)

# What nobody needs a token for; all else is closed to whoever has none that is good here.
PUBLIC: Final = frozenset({"GET /", "GET /healthz", "GET /readyz", "GET /v1/session", "GET /v1/openapi.json"})
ALL: Final = (*TOOLS, *RESOURCES, *REST, *ROUTES)


def mark(code: str) -> str:
    """How an outcome is written in the table."""
    if code.endswith("_NOT_FOUND"):
        return "?"
    return {"ok": "+", "AUTH_FORBIDDEN": "-"}.get(code, "!")
