"""Who may do what over the network: roles, the table of acts, and tokens. Knows no protocol and draws no secret.

A process of the operating-system user has no role: it may do everything, and gates are guard rails there
(interfaces.md §4).
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from metagit_mcp.domain.value import value

Role = Literal["viewer", "agent", "coordinator", "operator"]
Act = Literal[
    "look",
    "look_at_group",
    "advise",
    "take_work",
    "plan_work",
    "feed_group",
    "set_order",
    "set_organization",
    "judge",
    "pause",
    "administer",
]

# What each act is, in words that fit after "may not", and whose it is. A coordinator's acts are about its own Group.
ACTS: Final[Mapping[Act, tuple[str, frozenset[Role]]]] = {
    "look": (
        "look at the whole workspace: status, queue, graphs, decisions, policy, previews",
        frozenset({"viewer", "agent", "operator"}),
    ),
    "look_at_group": (
        "look at one Group: its status, queue, graph, estimates, outbox",
        frozenset({"viewer", "agent", "coordinator", "operator"}),
    ),
    "advise": ("ask for advice that is logged as a decision: a preview is not", frozenset({"agent", "operator"})),
    "take_work": ("take work or report on it", frozenset({"agent", "operator"})),
    "plan_work": ("write down nodes or change them", frozenset({"agent", "coordinator", "operator"})),
    "feed_group": ("deliver Events of a Group or answer its proposals", frozenset({"coordinator", "operator"})),
    "set_order": ("change the weights, threshold and penalties of the score", frozenset({"agent", "operator"})),
    "set_organization": ("change Organization policy", frozenset({"operator"})),
    "judge": ("approve, review, retry or take back work", frozenset({"operator"})),
    "pause": ("pause or resume", frozenset({"operator"})),
    "administer": (
        "administer the workspace: tokens, the doctor, checks of the ledger, which are the operating-system user's",
        frozenset(),
    ),
}


@value
class AccessToken:
    """A token that was issued: who calls with it, as what, until when. The secret itself is nowhere kept.

    `digest` is what `digest_of` says of the secret; `subject` the agent or person; `group_id` the Group of a
    coordinator; `audience` the URL of the one server that the token is for, or empty: any server of this workspace.
    """

    token_id: str
    digest: str
    subject: str
    role: Role
    issued_at: datetime
    issued_by: str
    group_id: str = ""
    audience: str = ""
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str = ""

    def is_live(self, now: datetime) -> bool:
        """Say whether the token is good at an instant."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


def digest_of(secret: str) -> str:
    """Return the SHA-256 of a secret as hex; the secrets are long and random, so that no slow hash is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_allowed(role: Role, act: Act) -> bool:
    """Say whether a role may do an act at all."""
    return role in ACTS[act][1]
