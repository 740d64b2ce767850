"""How leases look to their holders, and which of them this process keeps alive. Decides nothing."""

from metagit_mcp.domain.decision import BudgetFigure, LeaseRecord, ScheduleDecision
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.side_effects import mission_id
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import USAGE_NAMES, ExecutionLease, added


@value
class Claimed:
    """What a claim took, and what the agent held before it."""

    decisions: tuple[ScheduleDecision, ...]
    held: tuple[LeaseRecord, ...] = ()


def lease_record(lease: ExecutionLease, state: LedgerState, policy: SchedulePolicy, workspace_id: str) -> LeaseRecord:
    """Return a live lease as its holder sees it; nothing in it is of another Group (work.md §4)."""
    group = policy.groups.get(lease.graph_id)
    return LeaseRecord(
        lease_id=lease.lease_id,
        graph_id=lease.graph_id,
        node_id=lease.node_id,
        agent_id=lease.agent_id,
        ownership_epoch=lease.ownership_epoch,
        session_epoch=lease.session_epoch,
        expires_at=lease.expiry.at,
        mission_id=_mission(lease, state, workspace_id),
        budget=budget_figures(lease, state),
        context_refs=(group.context_refs or None) if group is not None else None,
        credential_refs=(group.credential_refs or None) if group is not None else None,
        resume_from=lease.resumed_from,
        preempt_requested=lease.lease_id in state.shares.preemptions or None,
    )


def _mission(lease: ExecutionLease, state: LedgerState, workspace_id: str) -> str:
    """Return the Mission of the node: its own in a Group with a log, where whoever does it computes the same keys."""
    item = state.item(lease.key)
    return mission_id(workspace_id, lease.graph_id) if item is None or item.fed is None else item.fed.mission_id


def budget_figures(lease: ExecutionLease, state: LedgerState) -> tuple[BudgetFigure, ...] | None:
    """Return what is left of each budgeted figure, all leases of the node counted; None without a budget."""
    limits = lease.budget
    if not limits:
        return None
    item = state.item(lease.key)
    spent = lease.usage if item is None else added(item.spent, lease.usage)
    figures = [
        BudgetFigure(name=name, limit=limits[name], left=max(0, limits[name] - getattr(spent, name)))
        for name in USAGE_NAMES
        if name in limits
    ]
    return tuple(figures) or None


def leases_of(state: LedgerState, agent_id: str, graph_id: str | None = None) -> list[ExecutionLease]:
    """Return an agent's live leases, of one Group or of all, the oldest first."""
    held = [each for each in state.leases.values() if each.agent_id == agent_id and graph_id in {None, each.graph_id}]
    return sorted(held, key=lambda lease: (lease.granted_at, lease.lease_id))


class Attended:
    """The leases that were granted through this process's connection: renewed with it, released at its end."""

    def __init__(self) -> None:
        """Keep none yet."""
        self.lease_ids: set[str] = set()

    def follow(self, state: LedgerState) -> set[str]:
        """Forget those that ended; return the live ones."""
        self.lease_ids &= state.leases.keys()
        return self.lease_ids
