"""The score of RFC-0012 in exact whole micros, term by term (scheduling.md §2). Knows neither queue nor eligibility.

The static part (priority, dependency, cost, urgency) is one exact rational rounded half-even to whole micros; the
others are whole micros added to it. Floats appear only in `Factor`, for people to read.
"""

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from metagit_mcp.domain.decision import Factor
from metagit_mcp.domain.policy import MICRO, MicroWeights, SchedulePolicy
from metagit_mcp.domain.tasks import TaskNode, effective_tokens
from metagit_mcp.domain.value import value

URGENCY: Final = {None: 0, "routine": -1, "normal": 0, "high": 1, "critical": 2}


@value
class RepositoryTerms:
    """The terms that depend only on the repository (and, for its own worktrees, on the asker)."""

    warm: bool = False
    under_represented: bool = False
    merge_depth: int = 0
    pressured: bool = False


def static_micros(node: TaskNode, weights: MicroWeights, rank: int, top_rank: int) -> int:
    """Return priority, dependency, cost and urgency together, in micros.

    Args:
        node: the node to score.
        weights: the effective weights of its graph.
        rank: its upward rank in tokens; top_rank: the largest one of its graph (0 when all estimates are 0).
    """
    return static_micros_of(node, effective_tokens(node), weights, rank, top_rank)


def static_micros_of(node: TaskNode, tokens: int, weights: MicroWeights, rank: int, top_rank: int) -> int:
    """Return the same for a node whose effective tokens are known."""
    thousandths = 1000 + tokens
    whole = weights.priority * node.priority + weights.urgency * URGENCY[node.requested_urgency]
    scale = top_rank or 1
    numerator = weights.dependency * rank * thousandths + weights.cost * 1000 * scale
    return sum_half_even(whole, numerator, scale * thousandths)


def sum_half_even(whole: int, numerator: int, denominator: int) -> int:
    """Return whole + numerator / denominator rounded to the nearest whole number, halves to the even one."""
    quotient, rest = divmod(numerator, denominator)
    # The sum decides what is even, not the quotient: the score is one rational, rounded once.
    total = whole + quotient
    doubled = 2 * rest
    return total + 1 if doubled > denominator or (doubled == denominator and total & 1) else total


def repository_micros(weights: MicroWeights, terms: RepositoryTerms, penalty: int) -> int:
    """Return affinity, fairness and merge pressure together, in micros."""
    gain = weights.affinity * terms.warm
    if weights.fairness:
        gain += weights.fairness * terms.under_represented
    return gain - penalty * terms.pressured


def due_from(node: TaskNode, horizon_seconds: int) -> datetime | None:
    """Return the instant from which the node is due soon: deadline - estimated runtime - horizon; None without one."""
    if node.deadline is None:
        return None
    lead = _seconds((node.estimated_runtime_seconds or 0) + horizon_seconds)
    try:
        return node.deadline - lead
    except OverflowError:
        return datetime.min.replace(tzinfo=node.deadline.tzinfo)


@lru_cache(maxsize=1024)
def _seconds(number: int) -> timedelta:
    # To look it up takes a sixth of making it; each node with a deadline asks twice.
    return timedelta(seconds=number)


def is_due_soon(node: TaskNode, horizon_seconds: int, now: datetime) -> bool:
    """Say whether the due-soon instant has passed; being overdue changes nothing more."""
    start = due_from(node, horizon_seconds)
    return start is not None and start <= now


@value
class Scored:
    """All that the score of one node is made of.

    `affinity_idle`: every ready node has the same gain from a warm repository, so that the preference decides nothing.
    """

    weights: MicroWeights
    rank: int
    top_rank: int
    due_soon: bool
    terms: RepositoryTerms
    penalty: int
    affinity_idle: bool = False

    def total(self, node: TaskNode) -> int:
        """Return the whole score in micros."""
        own = static_micros(node, self.weights, self.rank, self.top_rank) + self.weights.deadline * self.due_soon
        return own + repository_micros(self.weights, self.terms, self.penalty)


def factors(node: TaskNode, scored: Scored) -> tuple[Factor, ...]:
    """Return the terms of the score in their fixed order, as people read them."""
    weights, terms = scored.weights, scored.terms
    return (
        _factor("priority", weights.priority, node.priority),
        _fraction("dependency", weights.dependency, scored.rank, scored.top_rank or 1),
        _factor("affinity", weights.affinity, terms.warm),
        _fraction("cost", weights.cost, 1000, 1000 + effective_tokens(node)),
        _factor("fairness", weights.fairness, terms.under_represented),
        _factor("urgency", weights.urgency, URGENCY[node.requested_urgency]),
        _factor("deadline", weights.deadline, scored.due_soon),
        _factor("merge_pressure", scored.penalty, -terms.pressured),
    )


def _factor(name: str, weight: int, number: int) -> Factor:
    return Factor(name=name, value=float(number), weight=weight / MICRO, contribution=weight * number / MICRO)


def _fraction(name: str, weight: int, numerator: int, denominator: int) -> Factor:
    return Factor(
        name=name,
        value=sum_half_even(0, numerator * MICRO, denominator) / MICRO,
        weight=weight / MICRO,
        contribution=sum_half_even(0, weight * numerator, denominator) / MICRO,
    )


def reasons(node: TaskNode, scored: Scored, policy: SchedulePolicy) -> tuple[str, ...]:
    """Return the score's factors as RFC-0012's short strings; one unknown to the RFC only where it counts."""
    weights, terms = scored.weights, scored.terms
    tokens = effective_tokens(node)
    found = [f"priority={node.priority}"]
    if weights.dependency and scored.rank:
        found.append(f"dependency={scored.rank / (scored.top_rank or 1):.4f}")
    found.append(f"affinity={int(terms.warm)}")
    if scored.affinity_idle:
        found.append("affinity=no_effect")
    found.append(f"cost={1000 / (1000 + tokens):.4f}(tokens={tokens})")
    if weights.fairness:
        found.append(f"fairness={int(terms.under_represented)}")
    if weights.urgency and URGENCY[node.requested_urgency]:
        found.append(f"urgency={URGENCY[node.requested_urgency]}")
    if weights.deadline and scored.due_soon:
        found.append("deadline=1")
    if terms.pressured:
        penalty = policy.merge_pressure_penalty
        found.append(
            f"merge_pressure depth={terms.merge_depth} threshold={policy.merge_queue_threshold} penalty={penalty!r}"
        )
    return tuple(found)
