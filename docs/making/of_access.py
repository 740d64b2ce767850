"""The page about who may do what over the network, from the table of acts. It must not know how that is enforced."""

from collections.abc import Iterator, Mapping
from typing import get_args

from making.markdown import Row, code, page, refuse_drift, table

from metagit_mcp.application.news.topics import Kind
from metagit_mcp.domain.access import ACTS, Act, Role
from metagit_mcp.interfaces.http.metrics import METRICS_PATH
from metagit_mcp.interfaces.http.routes import CHANGES, LOOKS
from metagit_mcp.interfaces.mcp.tools import TOOLS

ROLES: tuple[Role, ...] = get_args(Role)

# Each tool by what it is asked for, and the act that this is; nothing where it depends on more than the tool.
TOOL_ACTS: Mapping[str, tuple[tuple[str, Act], ...]] = {
    "metagit_schedule_next": (("preview", "look_at_group"), ("advice", "advise"), ("claim", "take_work")),
    "metagit_schedule_status": (("", "look_at_group"),),
    "metagit_schedule_policy": (
        ("show, preview", "look"),
        ("set, RFC-0012 keys", "set_order"),
        ("set, other keys", "set_organization"),
    ),
    "metagit_work_start": (("", "take_work"),),
    "metagit_work_report": (("", "take_work"),),
    "metagit_task_plan": (("", "plan_work"),),
    "metagit_task_update": (("", "plan_work"),),
    "metagit_group_deliver": (("", "feed_group"),),
    "metagit_group_estimate": (("", "look_at_group"),),
}
RESOURCE_ACTS: Mapping[Kind, tuple[str, Act | None]] = {
    "policy": ("metagit://policy", "look"),
    "status": ("metagit://status", "look"),
    "decisions": ("metagit://decisions", "look"),
    "graph": ("metagit://graphs/{graph_id}", "look_at_group"),
    "group": ("metagit://groups/{group_id}", "look_at_group"),
    "outbox": ("metagit://groups/{group_id}/outbox", "look_at_group"),
    "schema": ("metagit://schemas/{name}", None),
}
# What the board asks for as an MCP App.
APP_ACTS: Mapping[str, Act] = {"metagit://board": "look_at_group", "metagit://board/graphs/{graph_id}": "look_at_group"}
ROUTE_ACTS: Mapping[str, Act] = {
    "/v1/next": "advise",
    "/v1/next?preview=true": "look_at_group",
    "/v1/status": "look_at_group",
    "/v1/board": "look_at_group",
    "/v1/graphs/{graph_id:path}": "look_at_group",
    "/v1/changes": "look_at_group",
    METRICS_PATH: "look",
    **{path: act for path, _, act in CHANGES},
}


def who(act: Act | None) -> Row:
    """Return a cell for each role; without an act everybody with a token may."""
    return tuple(_cell(role, act) for role in ROLES)


def _cell(role: Role, act: Act | None) -> str:
    if act is not None and role not in ACTS[act][1]:
        return ""
    return "own Group" if role == "coordinator" and act is not None else "yes"


def act_rows() -> Iterator[Row]:
    """Yield the acts."""
    for act, (meaning, _) in ACTS.items():
        yield (meaning, *who(act))


def tool_rows() -> Iterator[Row]:
    """Yield the tools by what they are asked for."""
    refuse_drift("TOOL_ACTS", TOOL_ACTS, (entry.name for entry in TOOLS))
    for tool, acts in TOOL_ACTS.items():
        for asked, act in acts:
            yield (f"{code(tool)}: {asked}" if asked else code(tool), *who(act))


def rest_rows() -> Iterator[Row]:
    """Yield resources and routes."""
    refuse_drift("RESOURCE_ACTS", RESOURCE_ACTS, get_args(Kind))
    changes = {path for path, *_ in CHANGES}
    told = (path.partition("?")[0] for path in ROUTE_ACTS)
    refuse_drift("ROUTE_ACTS", told, ("/v1/changes", METRICS_PATH, *changes, *(path for path, _ in LOOKS)))
    for uri, act in (*RESOURCE_ACTS.values(), *APP_ACTS.items()):
        yield (code(uri), *who(act))
    for path, act in ROUTE_ACTS.items():
        yield (code(f"{'POST' if path in changes else 'GET'} {path.replace(':path', '')}"), *who(act))


def access_page() -> str:
    """Who may do what."""
    return page(
        "Who may do what",
        "Over HTTP each caller has a token, and each token a role. The operating-system user who starts "
        "commands, or a server on standard input and output, has no role: there gates are guard rails "
        "([trust](interfaces.md#4-trust)). Tokens are given out as in [Serve over HTTP](../how-to/serve-over-http.md).",
        table(("", *ROLES), act_rows()),
        "A **coordinator** sees and feeds its own Group, which it need not name. Another Group is to it as one that is "
        "not there, in the same words and with the same code. What it is answered names, counts and times nothing of "
        "others, and the version of what it sees moves with its own Group alone.\n\n"
        "An **agent** speaks for itself and for whatever is below it: the token of `builder` takes and reports work as "
        "`builder` and as `builder/tests`, that of `builder/tests` not as `builder`. So a token for `builder/tests` "
        "makes a part of `builder`, whose token may end its sessions: give agents that are no parts of each other "
        "names without a slash in common. The lease of another agent is as one that is not there. A **viewer** changes "
        "nothing, and nothing is logged for it. An **operator** acts in the name of its token's subject.\n\n"
        "Without a token there are the empty page `GET /`, `GET /healthz`, `GET /readyz`, `GET /v1/openapi.json` and "
        "`/v1/session`, where a browser signs in and out. With `--no-token`, on loopback only, a caller without one is "
        "a viewer.",
        "## Tools",
        table(("tool", *ROLES), tool_rows()),
        "Lists, prompts and completions are everybody's with a token; only ids that a caller may know are completed.",
        "## Resources and routes",
        table(("resource or route", *ROLES), rest_rows()),
        "Whoever may read a resource may subscribe to it. A subscription to anything else is taken, and never told "
        "of. A change by cookie needs the header `X-Metagit-Board: 1`; MCP takes no cookie.",
    )
