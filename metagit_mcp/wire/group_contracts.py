"""Reads a WorkItem with its contract, in either dialect, in the words of a node. Knows no envelope and no kind.

The dialects are that of the protocol's schemas and that of the Events which its reference writes.
"""

import re
from collections.abc import Mapping
from typing import Final, get_args

from metagit_mcp.domain.feeds import Contract
from metagit_mcp.domain.tasks import Approval, Risk, Urgency
from metagit_mcp.domain.text import shown
from metagit_mcp.wire.group_fields import Part

# Our name of a figure, and the names under which the dialects have it in whole numbers.
_FIGURES: Final[Mapping[str, tuple[str, str]]] = {
    "tokens": ("modelTokens", "modelTokenLimit"),
    "tool_calls": ("toolCalls", "toolCallLimit"),
    "seconds": ("wallClockSeconds", "wallClockSecondsLimit"),
}
_MICROS: Final = 1_000_000
_MOST: Final = 1_000_000_000
_LONGEST_CRITERION: Final = 1000
# From which requested priority on which urgency is meant.
_URGENCY_FROM: Final[tuple[tuple[int, Urgency], ...]] = ((90, "critical"), (70, "high"), (30, "normal"), (0, "routine"))
_URGENCIES: Final[Mapping[str, Urgency]] = {word: word for word in get_args(Urgency)}
_RISKS: Final[Mapping[str, Risk]] = {word: word for word in get_args(Risk)}
# No colon: that an agent was offered work is a capability with one, which no contract may ask for.
_CAPABILITY: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}\Z")
_VERSION: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,127}\Z")


def contract_of(item: Part) -> Contract:
    """Return what a WorkItem asks for. A budget is a limit and no estimate: of tokens there is none.

    Raises:
        SchemaMismatch: a field is not as it should be.
    """
    contract = item.part("contract")
    item.refuse_extensions()
    contract.refuse_extensions()
    urgency, priority = _urgency(contract)
    budget = contract.part_or_none("budget")
    return Contract(
        node_id=item.named(item.either("id", "workItemId")),
        title=shown(contract.text("goal")),
        depends_on=_depends_on(item, contract),
        priority=priority,
        requested_urgency=urgency,
        deadline=contract.instant_or_none("deadline"),
        estimated_runtime_seconds=contract.whole_or_none("estimatedDurationSeconds", most=_MOST),
        business_impact=contract.shown("businessImpact") or None,
        # A word that is not known may mean anything: nothing counts as harmless for want of a word.
        risk=_RISKS.get(contract.text("sideEffectRisk"), "high_risk"),
        approval=_approval(contract),
        capabilities=tuple(dict.fromkeys(map(_capability, contract.parts("requiredCapabilities")))),
        budget=None if budget is None else budget_of(budget) or None,
        acceptance=_acceptance(contract),
    )


def budget_of(budget: Part) -> dict[str, int]:
    """Return the figures of a budget by our names; one that is left out has no limit.

    Raises:
        SchemaMismatch: a figure is no number of at least 0.
    """
    figures = {name: budget.whole_or_none(budget.either(*theirs)) for name, theirs in _FIGURES.items()}
    figures["cost_micros"] = _cost(budget)
    return {name: each for name, each in figures.items() if each is not None}


def _cost(budget: Part) -> int | None:
    """Return the limit of money in millionths of whatever currency the Group reckons in."""
    if budget.either("financialMicrounits", "financialLimit") == "financialMicrounits":
        return budget.whole_or_none("financialMicrounits")
    return round(budget.number("financialLimit", most=_MOST) * _MICROS)


def _depends_on(item: Part, contract: Part) -> tuple[str, ...]:
    both = (*item.all_named("dependencyIds"), *contract.all_named("dependencyWorkItemIds"))
    return tuple(dict.fromkeys(both))


def _urgency(contract: Part) -> tuple[Urgency | None, int]:
    """Return the requested urgency, which the other dialect means by its priority, and that priority."""
    said = contract.text_or_none("requestedUrgency")
    priority = contract.whole_or_none("requestedPriority", most=100)
    if said is not None:
        if said not in _URGENCIES:
            contract.refuse("requestedUrgency", "must be routine, normal, high or critical")
        return _URGENCIES[said], priority or 0
    if priority is None:
        return None, 0
    return next(word for least, word in _URGENCY_FROM if priority >= least), priority


def _approval(contract: Part) -> Approval:
    """Return whether the start waits for an approval: in a Group that is always a person's, told by an Event."""
    return "not_required" if contract.text("executionApproval") == "not_required" else "human_required"


def _capability(asked: Part) -> str:
    """Return a capability as agents name theirs: with its version where a certain one is asked for."""
    name = asked.text("id")
    if not _CAPABILITY.match(name):
        asked.refuse("id", "must be at most 200 letters, digits and '_', '.', '-'")
    version = asked.text_or_none("version")
    if version is None:
        least = asked.whole_or_none("minimumVersion") or 1
        return name if least == 1 else f"{name}@{least}"
    if not _VERSION.match(version):
        asked.refuse("version", "must be a version like 1.2.0")
    return f"{name}@{version}"


def _acceptance(contract: Part) -> tuple[str, ...]:
    """Return the criteria, which are texts in one dialect and objects with a description in the other."""
    criteria = contract.listed("acceptanceCriteria")
    texts = [each for each in criteria if type(each) is str]
    if len(texts) < len(criteria):
        texts = [each.text("description") for each in contract.parts("acceptanceCriteria")]
    return tuple(shown(each, _LONGEST_CRITERION) for each in texts)
