"""What is said of work under way: the events of the ledger, the diagram and the table of states. Decides nothing."""

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from making.markdown import Row, code, page, table, told
from making.records import record_parts, record_rows, records_of

from metagit_mcp.domain.events import EVENT_KINDS
from metagit_mcp.domain.transitions import TRANSITIONS, Transition
from metagit_mcp.domain.work import FINISHED_STATES, WorkState
from metagit_mcp.wire.ledger_codec import EVENT_VERSION

# --- events ----------------------------------------------------------------------------------------------------


def events_page() -> str:
    """The kinds of events."""
    records: dict[str, type[Any]] = {}
    for shape in EVENT_KINDS.values():
        records_of(shape, records)
    kinds = [
        f"## {kind}\n\n{told(shape)}\n\n{table(('field', 'type'), record_rows(shape))}"
        for kind, shape in EVENT_KINDS.items()
    ]
    return page(
        "Events of the ledger",
        "`.metagit/schedule/ledger.db` keeps what happened to work, one event after another: a kind, a version and a "
        f"JSON object with the fields below. All kinds are of version {EVENT_VERSION}. Fields marked with ? are absent "
        "when there is nothing to say. [What happens to a node](../explanation/work.md) tells which event follows "
        "from what; the names are stable ([SemVer](interfaces.md)), and a field that changes its meaning makes a new "
        "version with a reader for the old one.",
        "An event is never changed and never taken back. It carries all that replay needs: the state of all work is "
        "what remains when the events are applied in their order, and no file is looked at for that.",
        *kinds,
        "## Records",
        *record_parts(records),
    )


# --- states ----------------------------------------------------------------------------------------------------

STATES: tuple[WorkState, ...] = get_args(WorkState)


def from_anywhere(each: Transition) -> bool:
    """Say whether a trigger is known in every state but the finished ones; the diagram leaves it to the table."""
    return set(each.sources) == set(STATES) - set(FINISHED_STATES)


def arrows() -> Iterator[tuple[str, str, str]]:
    """Yield each pair of states with what leads from one to the other."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in TRANSITIONS:
        if not from_anywhere(each):
            for source in each.sources:
                for target in each.targets:
                    found.setdefault((source, target), []).append(each.trigger)
    for (source, target), triggers in found.items():
        yield source, target, ", ".join(dict.fromkeys(triggers))


def states_diagram() -> str:
    """The states of work and what leads from one to another, as a Mermaid diagram."""
    lines = [f"    {source} --> {target}: {triggers}" for source, target, triggers in arrows()]
    ends = [f"    {state} --> [*]" for state in FINISHED_STATES]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> open", *lines, *ends, "```"])


def states_table() -> str:
    """All transitions, a row each."""
    return table(("from", "trigger", "to", "when"), map(transition_row, TRANSITIONS))


def transition_row(each: Transition) -> Row:
    """One transition."""
    sources = "any but the finished ones" if from_anywhere(each) else words(each.sources)
    return sources, code(each.trigger), words(each.targets), each.when


def words(states: Iterable[str]) -> str:
    """Return states as a list of words."""
    return ", ".join(states)
