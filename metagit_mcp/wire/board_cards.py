"""The cards of the board: single nodes, or what stands for several, as one look shows them. Knows no use case.

Instants, texts and order are as `board_answers.py` says.
"""

from dataclasses import field
from datetime import datetime
from typing import Literal

from metagit_mcp.domain.decision import ResumePoint
from metagit_mcp.domain.policy import PriorityClass
from metagit_mcp.domain.value import value

Act = Literal["approve", "review", "retry", "release", "resume", "file", "command"]


@value
class BoardReason:
    """One reason why a node may not be started now.

    `reason` is its kind, `text` the whole of it; `until` is the instant at which time alone ends it, absent where time
    does not; `person`: only a person can end it; absent otherwise.
    """

    reason: str
    text: str
    note: str | None = None
    until: datetime | None = None
    person: bool | None = None


@value
class OfferedAct:
    """What a person can do about it, and what that leaves as it is.

    approve, review, retry and release are about the node; an approval is bound to `digest`. resume ends the pause of
    `scope` and `name`. With `file` that file has to be mended, with `command` only the command line does it; the others
    have the same command too. `leaves` are the reasons that stand against the node all the same.
    """

    act: Act
    digest: str | None = None
    scope: str | None = None
    name: str | None = None
    command: str | None = None
    file: str | None = None
    leaves: tuple[BoardReason, ...] = ()


@value
class PersonCard:
    """Something that only a person can set going: a node; or, without one, a pause, a limit or a graph file.

    `since` is when that began, absent where nobody knows; the oldest comes first, then what has no instant. `nodes`
    are how many the same limit holds back, of which `node_id` is one.
    """

    reason: str
    text: str
    act: OfferedAct
    graph_id: str | None = None
    node_id: str | None = None
    title: str | None = None
    since: datetime | None = None
    nodes: int | None = None
    note: str | None = None
    agent_id: str | None = None
    repository: str | None = None
    risk: str | None = None
    summary: str | None = None


@value
class UsedFigure:
    """How much of one figure was used, as the agent says: tokens, tool_calls, seconds or cost_micros."""

    name: str
    used: int


@value
class RunningCard:
    """A node that runs, with two marks that are never mixed: what the work is, and what proves that somebody is on it.

    `state`: `working`; `asked_to_pause` at a safe point; `seen`: another program's file says that it runs. `proof`:
    `live`: its lease was granted or renewed within the first half of its term; `late`: it was not since, and ends at
    `leased_until`; `file`: nothing but the file says so; `overdue`: the file says so for longer than policy allows, and
    a person must look. `proof_at` is the last such proof, `proof_by` who gave it: the agent by its reports, its server
    as long as its connection stands, or the file. `progress_at` is the last checkpoint: life is not progress. `used` is
    what the agent reported under this lease.
    """

    graph_id: str
    node_id: str
    state: Literal["working", "asked_to_pause", "seen"]
    proof: Literal["live", "late", "file", "overdue"]
    title: str
    repository: str | None = None
    agent_id: str | None = None
    since: datetime | None = None
    leased_until: datetime | None = None
    preempt_requested: bool | None = None
    proof_at: datetime | None = None
    proof_by: Literal["agent", "server", "file"] | None = None
    progress_at: datetime | None = None
    renewals: int | None = None
    attempts: int | None = None
    slots: int = 1
    used: tuple[UsedFigure, ...] = ()


@value
class LostCard:
    """A node that was lost: its lease ended without a word of its agent, and nobody was on it since.

    What was done by then may lie anywhere: look before somebody else goes on. `agent_id` had it, `lost_at` is when its
    lease ended; a run that another program never ended (`run_overdue`) is lost as well. The newest comes first. The
    same node stands in `queue` or `not_runnable` too: `may_start` says which.
    """

    graph_id: str
    node_id: str
    kind: Literal["lease_expired", "run_overdue"]
    title: str
    may_start: bool
    attempts: int
    agent_id: str | None = None
    lost_at: datetime | None = None
    checkpoint: ResumePoint | None = None
    act: OfferedAct | None = None


@value
class PausedCard:
    """A node whose agent paused it on purpose, and may go on with it alone until `until`; it is not lost.

    The same node stands in `queue` or `not_runnable` too.
    """

    graph_id: str
    node_id: str
    title: str
    agent_id: str
    since: datetime
    until: datetime | None = None
    checkpoint: ResumePoint | None = None


@value
class QueueCard:
    """A node that waits for its turn alone, in the order in which claims in a row would give the nodes out.

    `now`: one of as many claims at once would get it, so that nothing stands against it. Those that come after have
    `now` absent, and in `reasons` what stands against each: before any of the others starts, or, where that is nothing,
    once those before it have started.
    """

    __pydantic_config__ = {"serialize_by_alias": True}  # noqa: RUF012 - read by pydantic under this name, not a default

    place: int
    graph_id: str
    node_id: str
    title: str
    score: float
    score_reasons: tuple[str, ...]
    priority_class: PriorityClass = field(metadata={"alias": "class"})
    now: bool | None = None
    reasons: tuple[BoardReason, ...] = ()
    passed_over: int | None = None
    repository: str | None = None
    agent_id: str | None = None
    deadline: datetime | None = None
    lost: bool | None = None


@value
class BlockedCard:
    """A node that is not finished, does not run and may not start: with every reason, of which there is at least one.

    Nodes of active Groups come first; then by Group and id. `since` is its last change.
    """

    graph_id: str
    node_id: str
    title: str
    status: str
    reasons: tuple[BoardReason, ...]
    since: datetime | None = None
    repository: str | None = None
    agent_id: str | None = None
