"""A workload as JSON, and what its run is worth as JSON. Knows no run and no file.

The core counts in whole numbers and fractions; they become decimals of four places here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, fields, is_dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Literal, get_args, get_type_hints

from pydantic import ValidationError

from metagit_mcp.domain.policy import PriorityClass
from metagit_mcp.domain.text import close_words, is_id, shown_id
from metagit_mcp.domain.value import value
from metagit_mcp.errors import InvalidInput
from metagit_mcp.scheduling.simulation.outcome import Deadlines, GroupOutcome, Outcome, Quantiles, Turn
from metagit_mcp.scheduling.simulation.workload import MOST_NODES, Workload, nodes_of
from metagit_mcp.wire.codec import adapter, compact, parse_json, problem

_PLACES: Final = 4
# Some thirty years: past that an instant may not be a date any more.
_LAST_SECOND: Final = 1_000_000_000


# --- what comes in -------------------------------------------------------------------------------------------------


def read_workload(text: str) -> Workload:
    """Return the workload that a JSON text means; `$schema` is passed over.

    Raises:
        InvalidInput: names the first field that is wrong, and what is valid there.
    """
    try:
        record = parse_json(text.encode())
    except ValueError as error:
        raise InvalidInput(f"workload is not valid JSON: {error}", hint=_SCHEMA, field="workload") from None
    if not isinstance(record, dict):
        raise InvalidInput("workload: should be one JSON object", hint=_SCHEMA, field="workload")
    record.pop("$schema", None)
    try:
        workload = adapter(Workload).validate_json(compact(record))
    except ValidationError as error:
        raise _wrong(error) from None
    for where, rule in _beyond_fields(workload):
        raise InvalidInput(f"{where}: {rule}", hint=_SCHEMA, field=where)
    return workload


_SCHEMA: Final = "metagit-mcp schemas export FOLDER writes workload.schema.json, which says what is valid."


def _wrong(error: ValidationError) -> InvalidInput:
    """Return the first thing that is wrong; a misspelt field before the one that is missing because of it."""
    details = error.errors(include_url=False, include_input=False)
    unknown = [each for each in details if each["type"] == "unexpected_keyword_argument"]
    where, rule = problem((unknown or details)[0])
    if not unknown:
        return InvalidInput(f"{where}: {rule.removeprefix('Tuple ')}", hint=_SCHEMA, field=where)
    *path, name = where.split("/")
    known = _names(_shape_at(path))
    meant = "".join(f"Did you mean {each}? " for each in close_words(name, known))
    return InvalidInput(f"{where}: {rule}", hint=f"{meant}Known: {', '.join(known)}.", field=where)


def _shape_at(path: list[str]) -> Any:  # noqa: ANN401 - a dataclass, which has no type of its own
    """Return the dataclass at a path of field names, list places and map keys."""
    shape: Any = Workload
    for part in path:
        kind = get_type_hints(shape).get(_field_named(part, shape))
        shape = shape if kind is None else next(_dataclasses_in(kind))
    return shape


def _field_named(name: str, shape: Any) -> str:  # noqa: ANN401 - as above
    return next((each.name for each in fields(shape) if each.metadata.get("alias", each.name) == name), "")


def _dataclasses_in(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - annotations have no type
    if is_dataclass(kind):
        yield kind
    for each in get_args(kind):
        yield from _dataclasses_in(each)


def _names(shape: Any) -> list[str]:  # noqa: ANN401 - as above
    return [str(each.metadata.get("alias", each.name)) for each in fields(shape)]


def _beyond_fields(workload: Workload) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the whole though each field may be right: field and rule."""
    seen: set[str] = set()
    for place, group in enumerate(workload.groups):
        where = f"groups/{place}"
        if not is_id(group.graph_id):
            yield f"{where}/graph_id", "is no id that a file could have"
        if group.graph_id in seen:
            yield f"{where}/graph_id", f"{shown_id(group.graph_id)} is there twice"
        seen.add(group.graph_id)
        for number, kind in enumerate(group.arrivals):
            if kind.at_seconds + 2 * kind.every_seconds * kind.nodes > _LAST_SECOND:
                yield f"{where}/arrivals/{number}/every_seconds", f"the last node comes after {_LAST_SECOND} seconds"
    if nodes_of(workload) > MOST_NODES:
        yield "groups", f"should have at most {MOST_NODES} nodes in all, has {nodes_of(workload)}"


# --- what goes out -------------------------------------------------------------------------------------------------


@value
class ShareReceived:
    """What a Group got while it was backlogged, as parts of all work that was started then, by its cost.

    `received` is its part, `by_weight` what its weights give, `ratio` the first by the second.
    """

    received: float
    by_weight: float
    ratio: float


@value
class TurnTaken:
    """The most between two services of a Group that could start something all the while, and its proven bound.

    `cost` is work of other Groups in units of cost, `seconds` how long the Group got nothing.
    """

    dispatches: int
    cost: int
    cost_bound: float
    cost_ratio: float
    seconds: int
    seconds_bound: int
    seconds_ratio: float


@value
class SimulatedGroupAnswer:
    """What one Group got in the run. Waits are of its nodes, from when they could start to when they did or the end."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = {"serialize_by_alias": True}

    graph_id: str
    priority_class: PriorityClass = field(metadata={"alias": "class"})
    weight: int
    nodes: int
    started: int
    finished: int
    paused: int
    never_fit: int
    cost: int
    share: ShareReceived | None
    wait_seconds: Quantiles
    wait_dispatches: Quantiles
    turn: TurnTaken
    deadlines: Deadlines


@value
class SimulationAnswer:
    """What a workload's run under its policy is worth: the same workload and seed give the same answer.

    `cost` is in units; `jain_index` is 1 when all Groups received the same part of what their weights give.
    `largest_cost_ratio` and `largest_seconds_ratio` are the longest turns by their bounds: above 1 somebody starved.
    """

    title: str
    seed: int
    ordering: Literal["fair", "score"]
    agents: int
    slots: int
    seconds: int
    nodes: int
    started: int
    finished: int
    cost: int
    jain_index: float | None
    largest_cost_ratio: float
    largest_seconds_ratio: float
    deadlines: Deadlines
    groups: tuple[SimulatedGroupAnswer, ...]


def simulation_answer(workload: Workload, seed: int, outcome: Outcome) -> SimulationAnswer:
    """Return the answer that says what a run was worth."""
    groups = tuple(map(_group, outcome.groups))
    policy = outcome.course.policy
    return SimulationAnswer(
        title=workload.title,
        seed=seed,
        ordering=policy.ordering,
        agents=workload.agents,
        slots=policy.slots or workload.agents,
        seconds=outcome.course.end,
        nodes=sum(each.nodes for each in groups),
        started=sum(each.started for each in groups),
        finished=sum(each.finished for each in groups),
        cost=sum(each.cost for each in groups),
        jain_index=None if outcome.jain is None else _decimal(outcome.jain),
        largest_cost_ratio=max(each.turn.cost_ratio for each in groups),
        largest_seconds_ratio=max(each.turn.seconds_ratio for each in groups),
        deadlines=outcome.deadlines,
        groups=groups,
    )


def _group(group: GroupOutcome) -> SimulatedGroupAnswer:
    return SimulatedGroupAnswer(
        graph_id=group.graph_id,
        priority_class=group.priority_class,
        weight=group.weight,
        nodes=group.nodes,
        started=group.started,
        finished=group.finished,
        paused=group.paused,
        never_fit=group.never_fit,
        cost=group.cost,
        share=_share(group),
        wait_seconds=group.wait_seconds,
        wait_dispatches=group.wait_dispatches,
        turn=_turn(group, group.turn),
        deadlines=group.deadlines,
    )


def _share(group: GroupOutcome) -> ShareReceived | None:
    if not group.expected:
        return None
    return ShareReceived(
        received=_decimal(Fraction(group.received, group.dispatched)),
        by_weight=_decimal(group.expected / group.dispatched),
        ratio=_decimal(group.received / group.expected),
    )


def _turn(group: GroupOutcome, turn: Turn) -> TurnTaken:
    bound = group.bound
    return TurnTaken(
        dispatches=turn.dispatches,
        cost=turn.cost,
        cost_bound=_decimal(bound.cost),
        cost_ratio=_ratio(turn.cost, bound.cost),
        seconds=turn.seconds,
        seconds_bound=bound.seconds,
        seconds_ratio=_ratio(turn.seconds, Fraction(bound.seconds)),
    )


def _ratio(most: int, bound: Fraction) -> float:
    """A bound of 0 is that of a Group that is alone, or of which nothing can run: nothing comes between."""
    return _decimal(most / bound) if bound else 0.0


def _decimal(number: Fraction) -> float:
    return float(round(number, _PLACES))


SHAPES: Final[Mapping[str, tuple[type[Any], Literal["validation", "serialization"]]]] = {
    "workload": (Workload, "validation"),
    "simulation": (SimulationAnswer, "serialization"),
}
