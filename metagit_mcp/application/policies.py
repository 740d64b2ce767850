"""Shows the schedule policy, changes it, and says what a change does to order and shares. Writes policy.json alone."""

from dataclasses import fields
from datetime import datetime
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from metagit_mcp.application.caller import Caller
from metagit_mcp.application.finding import first_names, usable_graph
from metagit_mcp.application.turns.current import Current
from metagit_mcp.application.turns.shared import View, snapshot_of
from metagit_mcp.domain.decision import SchedulerEvent
from metagit_mcp.domain.policy import MICRO, RFC_KEYS, WEIGHT_NAMES, SchedulePolicy
from metagit_mcp.domain.text import is_any_id
from metagit_mcp.errors import AuthForbidden, InvalidInput, PolicyInvalid, RevisionConflict
from metagit_mcp.ports.machine import Clock, Ids, Offload
from metagit_mcp.ports.workspace import DecisionLog, PolicyStore, Warnings, WorkspaceImage
from metagit_mcp.scheduling.capabilities import asker_for
from metagit_mcp.scheduling.cycle import WorkspaceQueue, plan
from metagit_mcp.wire.policy_codec import merge_patch, parse_patch, read_policy, revision_of, shown_policy
from metagit_mcp.wire.requests import PolicyRequest
from metagit_mcp.wire.responses import Placed, PolicyAnswer, PolicyEffect, ShareChange

if TYPE_CHECKING:
    from fractions import Fraction

Json = dict[str, Any]
_PLACES_COMPARED = 10
_SHARES_COMPARED = 20
_PLAIN_KEYS = ("merge_queue_threshold", "merge_pressure_penalty", "skip_on_merge_pressure")


class Policies:
    """The use case of the policy tool."""

    def __init__(
        self,
        current: Current,
        store: PolicyStore,
        log: DecisionLog,
        clock: Clock,
        ids: Ids,
        offload: Offload,
        caller: Caller,
    ) -> None:
        """Keep the collaborators."""
        self._current = current
        self._store = store
        self._log = log
        self._clock = clock
        self._ids = ids
        self._offload = offload
        self._caller = caller

    async def run(self, request: PolicyRequest) -> PolicyAnswer:
        """Show, set or preview, as the request says.

        Raises:
            InvalidInput: nothing to set, or a value out of range; names the field.
            PolicyInvalid: policy.json cannot be used (a set that mends it goes through).
            RevisionConflict, AuthForbidden, GraphNotFound: the set is refused, or the caller may not even look.
            ReadOnlyWorkspace, StoreUnavailable: it cannot be written.
        """
        self._caller.allow("set_order" if request.action == "set" else "look")
        if request.action == "show":
            view = await self._current.view()
            return _answer(view.image, view.policy, changed=False, next_step=_AFTER_SHOW)
        patch = requested_patch(request)
        if request.graph_id is not None:
            usable_graph((await self._current.image()).graphs, request.graph_id)
        if request.action == "preview":
            return await self._preview(patch)
        return await self._set(patch, request.expected_revision)

    async def _preview(self, patch: Json) -> PolicyAnswer:
        view = await self._current.view()
        after = read_policy(merge_patch(shown_policy(view.policy), patch), InvalidInput)
        effect = await self._offload(lambda: _effect(view, view.policy, after))
        changed = after != view.policy
        strange = _strange(patch, view.image)
        return _answer(view.image, after, changed=changed, next_step=_AFTER_PREVIEW, effect=effect, warnings=strange)

    async def _set(self, patch: Json, expected_revision: str | None) -> PolicyAnswer:
        if self._caller.policy_read_only:
            raise AuthForbidden(
                "This server was started with --policy-read-only.", hint="Use preview, or ask the owner to set it."
            )
        now = self._clock.now()
        before, after, warnings = await self._offload(lambda: self._written(patch, expected_revision, now))
        view = await self._current.view()
        warnings += _strange(patch, view.image)
        effect = None
        if before is not None and before != after:
            effect = await self._offload(lambda: _effect(view, before, after))
        return _answer(
            view.image, after, changed=before != after, next_step=_AFTER_SET, effect=effect, warnings=warnings
        )

    def _written(
        self, patch: Json, expected_revision: str | None, now: datetime
    ) -> tuple[SchedulePolicy | None, SchedulePolicy, Warnings]:
        """Write the change and its event in one go; return the policy before (None: unusable) and after."""
        outcome: list[tuple[SchedulePolicy | None, SchedulePolicy]] = []

        def change(record: Json) -> Json | None:
            before = _usable(record)
            _expect(expected_revision, before)
            revised, after = merge_patch(record, patch), _patched(record, patch)
            self._authorise(before, patch, after)
            outcome.append((before, after))
            return None if before == after else dict(revised)

        warnings = self._store.revise(change)
        before, after = outcome[-1]
        if before != after:
            warnings += self._log.append_audit([self._event(before, after, now)])
        return before, after, warnings

    def _authorise(self, before: SchedulePolicy | None, patch: Json, after: SchedulePolicy) -> None:
        """Refuse Organization policy unless an operator vouches for it (interfaces.md §4)."""
        if self._caller.operator is not None and self._caller.may("set_organization"):
            return
        foreign = sorted(key for key in patch if key not in RFC_KEYS and key != "$schema")
        known = {} if before is None else shown_policy(before)
        changed = [key for key in foreign if known.get(key) != shown_policy(after).get(key)]
        if changed:
            raise AuthForbidden(
                f"{', '.join(changed)}: Organization policy is set by an operator.",
                hint="Start with --operator NAME, or let the owner set it on the command line.",
                keys=changed,
            )

    def _event(self, before: SchedulePolicy | None, after: SchedulePolicy, now: datetime) -> SchedulerEvent:
        return SchedulerEvent(
            event_id=self._ids.new(),
            type="PolicyChanged",
            at=now,
            payload={
                "before": None if before is None else shown_policy(before),
                "after": shown_policy(after),
                "revision": revision_of(after),
                "agent_id": self._caller.agent_id,
                "operator": self._caller.operator,
                "surface": self._caller.surface,
            },
        )


def requested_patch(request: PolicyRequest) -> Json:
    """Return what a request sets, as one merge patch of policy.json.

    Raises:
        InvalidInput: it sets nothing, or names a graph with nothing that a graph can override.
    """
    # Zero is added to make zero of minus zero, which is the same policy but would have another revision.
    weights = {name: getattr(request, name) + 0 for name in WEIGHT_NAMES if getattr(request, name) is not None}
    plain = {name: getattr(request, name) for name in _PLAIN_KEYS if getattr(request, name) is not None}
    patch: Json = parse_patch(request.patch) if request.patch is not None else {}
    _refuse_no_ids(patch)
    if request.graph_id is not None:
        if not weights:
            raise InvalidInput("graph_id: only weights can be set for one graph", field="graph_id")
        patch = merge_patch(patch, {"graph_overrides": {request.graph_id: weights}})
    elif weights:
        patch = merge_patch(patch, {"weights": weights})
    patch = merge_patch(patch, plain)
    if not patch:
        settable = [each.name for each in fields(PolicyRequest) if each.name not in _CONTROL]
        raise InvalidInput("There is nothing to set.", hint=f"Pass one of: {', '.join(settable)}.", field="action")
    return patch


def _strange(patch: Json, image: WorkspaceImage) -> Warnings:
    """Warn of what is set for Groups that are not there: they may come later, or the name is misspelt."""
    return tuple(
        f"{key}: no graph is called {name} so far; known: {first_names(image.graphs)}"
        for key in _KEYED_BY_GRAPH
        for name, each in sorted((patch.get(key) or {}).items())
        if each is not None and name not in image.graphs
    )


def _refuse_no_ids(patch: Json) -> None:
    """Refuse to set something for a Group that could not be; a file of another program may have such keys."""
    for key in _KEYED_BY_GRAPH:
        named = patch.get(key)
        if isinstance(named, dict) and not all(is_any_id(name) for name, each in named.items() if each is not None):
            raise InvalidInput(f"{key}: one of its keys is no graph id", field=key)


_KEYED_BY_GRAPH = ("graph_overrides", "groups")


def _patched(record: Json, patch: Json) -> SchedulePolicy:
    """Return the policy that the record is with the patch in it.

    Raises:
        InvalidInput: the patch is wrong.
        PolicyInvalid: the record was wrong before, and the patch does not mend it; names what is left.
    """
    revised = merge_patch(record, patch)
    try:
        return read_policy(revised)
    except PolicyInvalid:
        read_policy(merge_patch({}, patch), InvalidInput)
        raise


_CONTROL = ("action", "graph_id", "expected_revision")


def _usable(record: Json) -> SchedulePolicy | None:
    try:
        return read_policy(record)
    except PolicyInvalid:
        return None


def _expect(expected_revision: str | None, before: SchedulePolicy | None) -> None:
    found = "" if before is None else revision_of(before)
    if expected_revision is not None and found != expected_revision:
        raise RevisionConflict(
            f"The policy has revision {found or 'none'}, not the expected one.",
            hint="Read it again with show and decide anew.",
            revision=found,
        )


def _effect(view: View, before: SchedulePolicy, after: SchedulePolicy) -> PolicyEffect:
    """What a change does to the order and to the shares."""
    was, old = _tried(view, before)
    will, new = _tried(view, after)
    names = old.keys() | new.keys()
    most = nsmallest(_SHARES_COMPARED, names, key=lambda name: (-abs(new.get(name, 0) - old.get(name, 0)), name))
    shares = (
        ShareChange(graph_id=name, before=_rounded(old.get(name)), after=_rounded(new.get(name)))
        for name in sorted(most)
    )
    return PolicyEffect(before=was, after=will, shares=tuple(shares), shares_total=len(names))


def _tried(view: View, policy: SchedulePolicy) -> "tuple[tuple[Placed, ...], dict[str, Fraction]]":
    """The first places of the order, and what each Group with work is guaranteed, on a queue of its own."""
    from metagit_mcp.scheduling.guarantee import guaranteed, has_work  # noqa: PLC0415 - every command loads this module

    queue = WorkspaceQueue(snapshot_of(view.image, policy, view.work, view.now))
    picks = plan(queue, asker_for(policy, "", None), _PLACES_COMPARED).picks
    order = (Placed(graph_id=pick.graph_id, node_id=pick.node.node_id, score=pick.score / MICRO) for pick in picks)
    with_work = [graph_id for graph_id, group in queue.groups.items() if has_work(group)]
    return tuple(order), guaranteed(policy, with_work)


def _rounded(share: "Fraction | None") -> float:
    """A share as JSON has it, to six places; 0 for a Group without one."""
    return 0.0 if share is None else float(round(share, 6))


_AFTER_SHOW = "action=preview shows what a change would do to order and shares, action=set makes it."
_AFTER_PREVIEW = "Nothing was written; action=set with the same arguments makes the change."
_AFTER_SET = "The next answer follows this policy."


def _answer(
    image: WorkspaceImage,
    policy: SchedulePolicy,
    *,
    changed: bool,
    next_step: str,
    effect: PolicyEffect | None = None,
    warnings: Warnings = (),
) -> PolicyAnswer:
    return PolicyAnswer(
        policy=shown_policy(policy),
        revision=revision_of(policy),
        changed=changed,
        effect=effect,
        warnings=image.warnings + warnings,
        next_step=next_step,
    )
