"""The terms of the score that depend only on the repository and the asker. Knows neither lanes nor who may be taken."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from metagit_mcp.scheduling.queue import GroupQueue
from metagit_mcp.scheduling.scoring import RepositoryTerms
from metagit_mcp.scheduling.snapshot import Asker, Snapshot, Worktree


def repository_terms(asker: Asker, snapshot: Snapshot, groups: Iterable[GroupQueue]) -> dict[str, RepositoryTerms]:
    """Return the terms of every repository that is warm, pressured or under-represented, for this asker."""
    policy, around = snapshot.policy, snapshot.surroundings
    warm = {tree.repository for tree in around.worktrees if is_warm(tree, asker, snapshot)}
    under = _under_represented(snapshot, groups)
    names = warm | under | around.merge_depth.keys()
    names.discard("")
    return {
        name: RepositoryTerms(
            warm=name in warm,
            under_represented=name in under,
            merge_depth=around.merge_depth.get(name, 0),
            pressured=around.merge_depth.get(name, 0) >= policy.merge_queue_threshold,
        )
        for name in names
    }


def is_warm(tree: Worktree, asker: Asker, snapshot: Snapshot) -> bool:
    """Say whether the worktree makes its repository warm for the asker (interfaces.md §1)."""
    affinity = snapshot.policy.affinity
    if affinity.scope == "agent" and (not asker.agent_id or tree.agent_id != asker.agent_id):
        return False
    if affinity.require_path and not tree.on_disk:
        return False
    end = cold_from(tree, affinity.max_age_seconds)
    return end is None or end > snapshot.now


def cold_from(tree: Worktree, max_age_seconds: int | None) -> datetime | None:
    """Return the instant from which the worktree is too old, or None when age does not count, is unknown or no end."""
    if max_age_seconds is None or tree.updated_at is None:
        return None
    try:
        return tree.updated_at + timedelta(seconds=max_age_seconds)
    except OverflowError:
        return None


def _under_represented(snapshot: Snapshot, groups: Iterable[GroupQueue]) -> set[str]:
    """Return the ready repositories with the fewest services (scheduling.md §2); none while no weight asks for it."""
    every = list(groups)
    if not any(group.weights.fairness for group in every):
        return set()
    ready = {name for group in every for name in group.repositories} - {""}
    fewest = min((snapshot.surroundings.services.get(name, 0) for name in ready), default=0)
    return {name for name in ready if snapshot.surroundings.services.get(name, 0) == fewest}
