"""What an agent is told when its session begins, or its memory was cut: facts in at most 600 characters, no orders.

It names no agent to the shell: a host that is started in there would take itself for that agent (ADR 0040).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from metagit_mcp.interfaces.hooks.facts import answered
from metagit_mcp.interfaces.hooks.hosts import Said, silent, with_context
from metagit_mcp.interfaces.hooks.identity import agent_of

if TYPE_CHECKING:
    from metagit_mcp.application.briefing import Briefing, HeldWork

LONGEST = 600
_LONGEST_NOTE = 120
# Whatever a reader may take for the end of a quotation: a note stands in one, and must not get out of it.
_QUOTES = dict.fromkeys(map(ord, '"\u201c\u201d\u201e\u201f\u00ab\u00bb\u301d\u301e\u301f\uff02`'), "'")


def briefed(host: str, given: Mapping[str, object], environ: Mapping[str, str]) -> Said:
    """Return what an agent should know now; nothing where there is no workspace, or nothing to tell."""
    agent_id = agent_of(given, environ)

    def said(briefing: "Briefing") -> Said:
        text = briefing_text(briefing)
        return with_context(host, text) if text else silent(host)

    return answered(host, lambda briefings: briefings.at_start(agent_id or ""), given, environ, said)


def briefing_text(briefing: "Briefing") -> str:
    """Return the facts in one text; where they are too many, fewer leases and Groups are named, the rest counted."""
    for leases, groups, note in ((3, 5, _LONGEST_NOTE), (2, 3, 60), (1, 2, 0), (1, 0, 0)):
        text = _text(briefing, leases, groups, note)
        if len(text) <= LONGEST:
            return text
    return _text(briefing, 0, 0, 0)


def _text(briefing: "Briefing", leases: int, groups: int, note: int) -> str:
    facts = [*_held(briefing.held, leases, note), *_runnable(briefing, groups)]
    if briefing.persons_needed:
        facts.append(f"Waiting for a person: {briefing.persons_needed}.")
    return " ".join(["metagit:", *facts]) if facts else ""


def _held(held: "Sequence[HeldWork]", named: int, note: int) -> list[str]:
    sentences = [_lease(each, note) for each in held[:named]]
    if len(held) > named:
        left = len(held) - named
        sentences.append(
            f"{'And' if named else 'This agent holds'} {left}{' more' if named else ''} {_many(left, 'lease')}."
        )
    return sentences


def _lease(held: "HeldWork", note: int) -> str:
    until = held.until.strftime("%Y-%m-%dT%H:%M:%SZ")
    point = (held.checkpoint or "").translate(_QUOTES)
    if len(point) > note:
        point = f"{point[: note - 1].rstrip()}…" if note else ""
    checkpoint = f'; last checkpoint: "{point}"' if point else ""
    what = f"lease {held.lease_id} on node {held.node_id} of graph {held.graph_id}"
    return f"This agent holds {what}, until {until}{checkpoint}."


def _runnable(briefing: "Briefing", named: int) -> list[str]:
    found = briefing.runnable
    if not found:
        return ["Runnable now: 0."] if briefing.held or briefing.persons_needed else []
    total = sum(each.nodes for each in found)
    parts = [f"{each.graph_id} {each.nodes}" for each in found[:named]]
    rest = found[named:]
    if rest:
        others = f"{len(rest)}{' other' if named else ''} {_many(len(rest), 'graph')}"
        parts.append(f"{sum(each.nodes for each in rest)} in {others}")
    return [f"Runnable now: {total} ({', '.join(parts)})."]


def _many(number: int, what: str) -> str:
    return what if number == 1 else f"{what}s"
