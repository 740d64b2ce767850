"""The table of what can be asked over HTTP: method, path, what is sent, what comes back, who may, what is refused.

Knows no handler and no JSON Schema.
"""

from collections.abc import Mapping
from typing import Any, Final

from metagit_mcp import errors
from metagit_mcp.domain.access import Act
from metagit_mcp.domain.value import value
from metagit_mcp.errors import MetagitError
from metagit_mcp.wire.access_answers import WhoAnswer
from metagit_mcp.wire.board_answers import BoardAnswer, BoardRequest, GraphPicture, PictureRequest
from metagit_mcp.wire.codec import Json
from metagit_mcp.wire.http import openapi_examples as examples
from metagit_mcp.wire.http.http_requests import AdviceRequest, ClaimRequest
from metagit_mcp.wire.person_requests import (
    ApproveRequest,
    NodeRequest,
    PauseRequest,
    ResumeRequest,
    ReviewRequest,
    SessionRequest,
)
from metagit_mcp.wire.requests import StatusRequest, WorkReportRequest, WorkStartRequest
from metagit_mcp.wire.responses import (
    ApprovalAnswer,
    NextAnswer,
    PauseAnswer,
    WorkReportAnswer,
    WorkStandingAnswer,
    WorkStartAnswer,
)
from metagit_mcp.wire.status_answers import StatusAnswer

Refusals = tuple[type[MetagitError], ...]

TAGS: Final[Mapping[str, str]] = {
    "work": "What an orchestrator needs: ask, claim, report.",
    "board": "What the board shows, and what a person decides there.",
    "session": "A browser's session: a token becomes a cookie. A change by cookie needs the header X-Metagit-Board: 1.",
    "server": "About the server.",
}


@value
class Operation:
    """One way to call one path.

    `act` is what a caller's role has to allow, None where no token is needed; `path_shape`, `query`, `body`, `answer`
    are the shapes of what is sent and answered; `media` the type of an answer that is no record of `answer`; `gives`
    says what a successful one is.
    """

    method: str
    path: str
    name: str
    tag: str
    summary: str
    gives: str
    act: Act | None
    detail: str = ""
    path_shape: type[Any] | None = None
    query: type[Any] | None = None
    body: type[Any] | None = None
    answer: type[Any] | None = None
    media: str | None = None
    status: int = 200
    refusals: Refusals = ()
    example: Json | None = None


_STORE: Final[Refusals] = (errors.StoreUnavailable, errors.StoreCorrupt, errors.StoreTooNew)
_CALLER: Final[Refusals] = (errors.InvalidInput, errors.AuthRequired, errors.AuthForbidden)
_LOOKING: Final[Refusals] = (*_CALLER, errors.GraphNotFound, errors.GraphInvalid, errors.PolicyInvalid, *_STORE)
_WRITING: Final[Refusals] = (errors.ReadOnlyWorkspace, *_STORE)
_TAKING: Final[Refusals] = (
    *_LOOKING,
    errors.ReadOnlyWorkspace,
    errors.AuthStaleSession,
    errors.ActionIdCollision,
)
_NODE: Final[Refusals] = (errors.NodeNotFound, errors.NodeAmbiguous)
_JUDGING: Final[Refusals] = (*_CALLER, errors.GraphNotFound, *_NODE, errors.InvalidStateTransition, *_WRITING)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        method="get",
        path="/v1/next",
        name="next",
        tag="work",
        summary="Say which nodes to work on next, and why",
        detail="Advice: nothing is taken. `limit` nodes for as many agents, and no more than could be started together."
        " The same advice at the same state is logged once; with `preview` nothing is logged, and whoever may look may"
        " ask.",
        gives="The nodes; none, and the reasons counted, where nothing can be started.",
        act="advise",
        query=AdviceRequest,
        answer=NextAnswer,
        refusals=(*_LOOKING, errors.ReadOnlyWorkspace),
    ),
    Operation(
        method="post",
        path="/v1/claim",
        name="claim",
        tag="work",
        summary="Take what is next, under leases",
        detail="With `wait_seconds` it waits for work, at most as long as the server was started with (`--max-wait`),"
        " and ends when the caller hangs up. Whoever holds as many leases as it may gets them in `held`. A lease given"
        " over HTTP lasts `leases.unattended_seconds` of the policy without a report.",
        gives="What was taken, each with its lease; nothing, and the reasons counted, where nothing can be started.",
        act="take_work",
        body=ClaimRequest,
        answer=NextAnswer,
        refusals=_TAKING,
        example=examples.CLAIM,
    ),
    Operation(
        method="post",
        path="/v1/start",
        name="start",
        tag="work",
        summary="Take one named node",
        detail="For whoever decides itself which node is done; the rules of a claim hold.",
        gives="The lease, or with `queue_only` the ownership.",
        act="take_work",
        body=WorkStartRequest,
        answer=WorkStartAnswer,
        refusals=(
            *_TAKING,
            *_NODE,
            errors.NodeNotEligible,
            errors.WorkAlreadyOwned,
            errors.CapacityExceeded,
            errors.ApprovalRequired,
            errors.BudgetExceeded,
        ),
        example=examples.START,
    ),
    Operation(
        method="post",
        path="/v1/report",
        name="report",
        tag="work",
        summary="Say how the work under a lease stands",
        detail="`running` renews the lease; `completed`, `failed`, `blocked`, `paused` and `released` end it. The lease"
        " of another agent is as one that is not there.",
        gives="The node as it stands now, and the lease if it goes on.",
        act="take_work",
        body=WorkReportRequest,
        answer=WorkReportAnswer,
        refusals=(
            *_CALLER,
            errors.LeaseNotFound,
            errors.WorkLeaseExpired,
            errors.WorkStaleOwnership,
            errors.AuthStaleSession,
            errors.BudgetExceeded,
            errors.InvalidStateTransition,
            errors.ActionIdCollision,
            *_WRITING,
        ),
        example=examples.REPORT,
    ),
    Operation(
        method="get",
        path="/v1/status",
        name="status",
        tag="work",
        summary="Say how things stand, and why a node is not offered",
        gives="Counts, Groups, running work, what waits for a person; with `node_id` every reason of that node.",
        act="look_at_group",
        query=StatusRequest,
        answer=StatusAnswer,
        refusals=(*_LOOKING, *_NODE),
    ),
    Operation(
        method="get",
        path="/v1/board",
        name="board",
        tag="board",
        summary="All that the board shows, of one moment",
        gives="The board.",
        act="look_at_group",
        query=BoardRequest,
        answer=BoardAnswer,
        refusals=_LOOKING,
    ),
    Operation(
        method="get",
        path="/v1/graphs/{graph_id}",
        name="graph",
        tag="board",
        summary="One task graph in waves, with its critical chain",
        gives="The graph.",
        act="look_at_group",
        path_shape=PictureRequest,
        answer=GraphPicture,
        refusals=_LOOKING,
    ),
    Operation(
        method="get",
        path="/v1/changes",
        name="changes",
        tag="board",
        summary="Say each time that the board would show something else",
        detail="A stream of server-sent events `change`, the first at once, whose data are a JSON object with"
        " `state_version`. It ends with its token.",
        gives="The stream.",
        act="look_at_group",
        query=BoardRequest,
        media="text/event-stream",
        refusals=_LOOKING,
    ),
    Operation(
        method="post",
        path="/v1/approve",
        name="approve",
        tag="board",
        summary="Approve a node as it was shown",
        gives="Who approved it, and when.",
        act="judge",
        body=ApproveRequest,
        answer=ApprovalAnswer,
        refusals=(*_JUDGING, errors.RevisionConflict),
    ),
    Operation(
        method="post",
        path="/v1/review",
        name="review",
        tag="board",
        summary="Judge a submitted result",
        gives="The node as it stands now.",
        act="judge",
        body=ReviewRequest,
        answer=WorkStandingAnswer,
        refusals=_JUDGING,
    ),
    Operation(
        method="post",
        path="/v1/retry",
        name="retry",
        tag="board",
        summary="Let a parked node be tried again",
        gives="The node as it stands now.",
        act="judge",
        body=NodeRequest,
        answer=WorkStandingAnswer,
        refusals=_JUDGING,
    ),
    Operation(
        method="post",
        path="/v1/release",
        name="release",
        tag="board",
        summary="Take a node from whoever has it",
        gives="The node as it stands now.",
        act="judge",
        body=NodeRequest,
        answer=WorkStandingAnswer,
        refusals=_JUDGING,
    ),
    Operation(
        method="post",
        path="/v1/pause",
        name="pause",
        tag="board",
        summary="Let nothing new start in a scope",
        gives="What is paused now.",
        act="pause",
        body=PauseRequest,
        answer=PauseAnswer,
        refusals=(*_CALLER, errors.GraphNotFound, errors.PolicyInvalid, *_WRITING),
    ),
    Operation(
        method="post",
        path="/v1/resume",
        name="resume",
        tag="board",
        summary="End a pause",
        gives="What is paused now.",
        act="pause",
        body=ResumeRequest,
        answer=PauseAnswer,
        refusals=(*_CALLER, *_WRITING),
    ),
    Operation(
        method="get",
        path="/v1/session",
        name="showSession",
        tag="session",
        summary="Say who calls",
        gives="Who calls and what it may do, or that nobody is signed in.",
        act=None,
        answer=WhoAnswer,
    ),
    Operation(
        method="post",
        path="/v1/session",
        name="beginSession",
        tag="session",
        summary="Begin a browser's session",
        gives="Who calls and what it may do; the cookie is set.",
        act=None,
        body=SessionRequest,
        answer=WhoAnswer,
        refusals=(errors.InvalidInput, errors.AuthRequired, *_STORE),
    ),
    Operation(
        method="delete",
        path="/v1/session",
        name="endSession",
        tag="session",
        summary="End a browser's session",
        gives="It has ended.",
        act=None,
        status=204,
        refusals=(errors.AuthForbidden,),
    ),
    Operation(
        method="get",
        path="/v1/openapi.json",
        name="document",
        tag="server",
        summary="This document",
        gives="The document.",
        act=None,
        media="application/json",
    ),
    Operation(
        method="get",
        path="/healthz",
        name="lives",
        tag="server",
        summary="Say whether the server lives",
        gives="`ok`.",
        act=None,
        media="text/plain",
    ),
    Operation(
        method="get",
        path="/readyz",
        name="isReady",
        tag="server",
        summary="Say whether the server can answer",
        gives="`ready`.",
        act=None,
        media="text/plain",
    ),
)
