"""What one look at the board answers: all that it shows, of one moment. Absent means none. Knows no use case.

Instants are RFC 3339 in UTC; the page tells them against `at`, the instant of the answer. Free text stands in `title`,
`note`, `goal` and `summary` alone; every list is in a total order that the answer's text names.
"""

from datetime import datetime
from typing import Literal

from metagit_mcp.domain.decision import BudgetFigure
from metagit_mcp.domain.place import WorkspacePlace
from metagit_mcp.domain.text import ANY_ID_PATTERN
from metagit_mcp.domain.value import value
from metagit_mcp.wire.arguments import said
from metagit_mcp.wire.board_cards import BlockedCard, LostCard, PausedCard, PersonCard, QueueCard, RunningCard
from metagit_mcp.wire.responses import PauseRecord, ReasonCount
from metagit_mcp.wire.status_answers import GroupStatus, HeldSlots, MergePressure, StatusCounts

Became = Literal[
    "running",
    "not_taken",
    "skipped",
    "completed",
    "submitted",
    "failed",
    "released",
    "paused",
    "blocked",
    "expired",
    "session",
    "revoked",
    "finished",
]


@value
class BoardRequest:
    """Asks for the board."""

    graph_id: str | None = said(
        "Only this Group: then nothing of another one is told",
        None,
        min_length=1,
        max_length=256,
        pattern=ANY_ID_PATTERN,
    )
    limit: int = said("How many nodes each list shows at most", 50, ge=1, le=100)
    recent: int = said("How many recent decisions to show", 20, ge=0, le=100)


@value
class PictureRequest:
    """Asks for one task graph as a picture."""

    graph_id: str = said("The task graph", min_length=1, max_length=256, pattern=ANY_ID_PATTERN)


@value
class ShareLine:
    """One Group's received share, 0 to 1, after each number of charges in `ShareHistory.charges`."""

    graph_id: str
    received: tuple[float, ...]


@value
class ShareHistory:
    """How much of the newest charges each shown Group received so far, from the oldest of them on.

    `charges` are numbers of charges, the last of them all that are remembered. Each Group's guaranteed share is its
    `guaranteed` in `groups`.
    """

    charges: tuple[int, ...]
    lines: tuple[ShareLine, ...]


@value
class SlotsCard:
    """The slots of the workspace: absent `limit` is no limit. `held` are those kept for one node."""

    limit: int | None = None
    in_use: int | None = None
    held: HeldSlots | None = None


@value
class ResourceCard:
    """Something that agents share. A resource that turned an agent away is `closed` for all, until then; by whom.

    Of one Group alone neither that nor what is in use is told: both may be another Group's.
    """

    name: str
    capacity: int | None = None
    in_use: int | None = None
    closed: bool | None = None
    closed_until: datetime | None = None
    closed_by: str | None = None


@value
class KeyCard:
    """A key that only one may have, and the node that has it."""

    name: str
    graph_id: str
    node_id: str
    agent_id: str


@value
class AgentCard:
    """An agent that holds leases or opened a session: how many of its slots it holds, and its last proof of life.

    Those that hold something come first, then by id.
    """

    agent_id: str
    held: int
    slots: int
    paused: bool | None = None
    proof_at: datetime | None = None
    capabilities: tuple[str, ...] | None = None


@value
class BudgetCard:
    """What a node may use and what is left of it. The period is the life of the node: nothing is given back by time.

    Nodes of which nothing was used yet are left out; those that used up the most of a figure come first.
    """

    graph_id: str
    node_id: str
    title: str
    figures: tuple[BudgetFigure, ...]
    exhausted: bool
    period: Literal["life_of_node"] = "life_of_node"


@value
class DecisionCard:
    """One decision of the log, and what became of it; the newest comes first.

    `became`: how the lease of its agent on the node ended, at `became_at`, or that it runs. `not_taken`: nobody took
    what was advised. A decision may be older than what the ledger still remembers: then `became` is absent.
    """

    decision_id: str
    at: str
    graph_id: str
    node_id: str
    score: float
    reasons: tuple[str, ...]
    title: str | None = None
    agent_id: str | None = None
    repository: str | None = None
    became: Became | None = None
    became_at: datetime | None = None


@value
class BoardViewer:
    """Who looks, and what of the acts that the board offers they may do: `judge` nodes, `pause` and resume."""

    may: tuple[Literal["judge", "pause"], ...]
    name: str | None = None
    role: str | None = None
    graph_id: str | None = None


@value
class BoardTotals:
    """How much there is in all of what each list shows the first of."""

    needs_person: int
    running: int
    lost: int
    paused_work: int
    queue: int
    not_runnable: int
    groups: int
    agents: int
    budgets: int


@value
class BoardAnswer:
    """All that the board shows, of one moment and one `state_version`; with `graph_id` of that Group alone.

    Every unfinished node is in exactly one of `running`, `queue` and `not_runnable`, as far as these show all there is
    (`totals`; `truncated`: some list does not). `needs_person`, `lost` and `paused_work` name some of them again.
    `counts`, `ready_count`, `runnable_count`, `not_eligible` and `groups` are those of `schedule status`.
    """

    at: datetime
    state_version: str
    workspace: WorkspacePlace
    viewer: BoardViewer
    totals: BoardTotals
    truncated: bool
    needs_person: tuple[PersonCard, ...]
    counts: StatusCounts
    ready_count: int
    runnable_count: int
    not_eligible: tuple[ReasonCount, ...]
    running: tuple[RunningCard, ...]
    lost: tuple[LostCard, ...]
    paused_work: tuple[PausedCard, ...]
    queue: tuple[QueueCard, ...]
    not_runnable: tuple[BlockedCard, ...]
    groups: tuple[GroupStatus, ...]
    slots: SlotsCard
    resources: tuple[ResourceCard, ...]
    keys: tuple[KeyCard, ...]
    agents: tuple[AgentCard, ...]
    budgets: tuple[BudgetCard, ...]
    pauses: tuple[PauseRecord, ...]
    decisions: tuple[DecisionCard, ...]
    merge_pressure: tuple[MergePressure, ...]
    warnings: tuple[str, ...]
    ordering: Literal["fair", "score"]
    graph_id: str | None = None
    shares: ShareHistory | None = None


@value
class PictureNode:
    """One node of the picture: in which wave it can run at the earliest, the first being 1, and how it stands.

    `state` is its status, or one of `ready` (it may start, or waits only for its turn), `lost`, `awaiting_approval`,
    `awaiting_review` and `failed` where that says more. `critical`: it is on the chain that takes the longest.
    """

    node_id: str
    title: str
    wave: int
    state: str
    critical: bool | None = None
    agent_id: str | None = None
    estimated_runtime_seconds: int | None = None
    parent_id: str | None = None


@value
class PictureEdge:
    """From what comes first to what needs it; `discovered`: the second was found while the first was worked on."""

    source: str
    target: str
    kind: Literal["needs", "discovered"]
    critical: bool | None = None


@value
class GraphPicture:
    """One task graph in waves, with its critical chain over all that is not finished.

    Nodes are in the order of waves and ids, edges by source, target and kind. Nodes in or behind a circle stand in the
    last wave, and `circular` says so. `chain_seconds` is what the chain is estimated to take, absent without an
    estimate: then the chain with the most nodes is meant.
    """

    at: datetime
    state_version: str
    graph_id: str
    title: str
    goal: str
    state: str
    waves: int
    nodes: tuple[PictureNode, ...]
    nodes_total: int
    edges: tuple[PictureEdge, ...]
    edges_total: int
    chain: tuple[str, ...]
    truncated: bool
    circular: bool | None = None
    chain_seconds: int | None = None
