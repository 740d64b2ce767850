"""What Groups and classes were charged for their work, and what is kept for wide or urgent work. Knows no rule.

The words are those of scheduling.md §3: a *level* is the root with the classes as its flows, or a class with its
Groups; *virtual* is V, a flow's *tag* is S, both in units of cost times `LCM`, so that every charge is a whole number.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Final

from metagit_mcp.domain.instant import Expiry
from metagit_mcp.domain.policy import PriorityClass
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import NodeKey, Share

# The least common multiple of all weights there are, 1 to 16.
LCM: Final = 720_720
# The name of the level whose flows are the classes.
ROOT: Final = ""
# The pool of those who bring none of the capabilities that nodes name.
ANYBODY: Final = ""


@value
class FlowTag:
    """One flow of a level: its start tag, its weight and whether it was eligible, as of the last start of its pool.

    `charged`: it was charged before, or runs; a Group that never was enters one unit behind.
    """

    tag: int
    weight: int
    eligible: bool = False
    charged: bool = False


@value
class Level:
    """One level of a pool: its virtual time, the largest tag ever given in it, and its flows by name.

    `eligible` is how many of them are.
    """

    virtual: int = 0
    top: int = 0
    eligible: int = 0
    flows: dict[str, FlowTag] = field(default_factory=dict)


@value
class Pool:
    """The tags among askers that satisfy the same of the capability sets which unfinished nodes name.

    `satisfied` are those sets, each sorted, in order.
    """

    satisfied: tuple[tuple[str, ...], ...] = ()
    levels: dict[str, Level] = field(default_factory=dict)

    def branch(self) -> "Pool":
        """Return a copy that may go its own way."""
        levels = {name: replace(level, flows=dict(level.flows)) for name, level in self.levels.items()}
        return replace(self, levels=levels)


def pool_name(satisfied: tuple[tuple[str, ...], ...]) -> str:
    """Return the name of a pool: another one for each other tuple of sets."""
    return "|".join("+".join(map(_spelt, names)) for names in satisfied)


def _spelt(name: str) -> str:
    return name.replace("%", "%25").replace("|", "%7C").replace("+", "%2B")


@value
class Age:
    """How long a node waits in its Group: it is passed over since that dispatch; the lower its number, the older it is.

    `first` is the dispatch before which it came. While it cannot be started, `since` is None and `passed` is how often
    it was passed over so far.
    """

    number: int
    first: int
    at: datetime
    since: int | None = None
    passed: int = 0


@value
class Round:
    """The dispatches of one Group: how many there were, at which one the guard picked last, and who waits since when.

    `lacking` is the best node that only the quota kept from starting, `lacking_starts` are the others' starts since.
    """

    dispatches: int = 0
    guarded_at: int | None = None
    numbered: int = 0
    ages: dict[str, Age] = field(default_factory=dict)
    lacking: str | None = None
    lacking_starts: int = 0


@value
class Hold:
    """The node for which slots are kept: a wide one, or one for which running work was asked to pause.

    `starts` are the other starts since; `until` is the end of the hold, once its slots were free.
    """

    graph_id: str
    node_id: str
    slots: int
    at: datetime
    starts: int = 0
    until: Expiry | None = None
    preempts: bool = False

    @property
    def key(self) -> NodeKey:
        """The node."""
        return self.graph_id, self.node_id


@value
class Preemption:
    """A lease whose holder was asked to pause for another node, as soon as it is safe."""

    lease_id: str
    graph_id: str
    node_id: str
    at: datetime


@value
class Run:
    """A run that another program started, as it was charged once: to whom, and how many units."""

    graph_id: str
    node_id: str
    share: Share
    cost: int


@value
class LevelChange:
    """How a start leaves a level: its virtual time, every flow that is other than before, and those no longer in it."""

    level: str
    virtual: int
    flows: Mapping[str, FlowTag] = field(default_factory=dict)
    gone: tuple[str, ...] = ()


@value
class PoolChange:
    """How a pick leaves its pool; `split_from` is the pool whose tags a new one starts with.

    `dropped` are pools in which nobody can be any more.
    """

    satisfied: tuple[tuple[str, ...], ...] = ()
    split_from: str | None = None
    levels: tuple[LevelChange, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the pool."""
        return pool_name(self.satisfied)


@value
class Dispatch:
    """What a start does to shares and ages: all that replay needs, worked out by scheduling/dispatch.py.

    Without `pick` it was no pick of a pool; without `share` nothing was charged, and the tags are forgotten.
    `class_window` and `group_window` are in units of cost. `arrived` and `left` are the nodes of the Group that became
    or ceased to be eligible since its last start, `lacking` is the best one that only the quota keeps from starting.
    `policy_revision` and `node_digest` say what was decided on.
    """

    class_window: int
    group_window: int
    share: Share | None = None
    pick: PoolChange | None = None
    guard: bool = False
    arrived: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    lacking: str | None = None
    policy_revision: str = ""
    node_digest: str = ""


@value
class Charged:
    """One charge, as it is remembered to show who received what."""

    graph_id: str
    priority_class: PriorityClass
    cost: int


@value
class Shares:
    """All that is kept about who is served: pools by name, rounds by Group, and the rest once for the workspace.

    `runs` are the charged runs of other programs, by Group and node; `holds` has at most one. `asked` are the
    nodes for which others were asked to pause, by Group, until they start. `recent` are the newest of our charges.
    """

    pools: dict[str, Pool] = field(default_factory=dict)
    rounds: dict[str, Round] = field(default_factory=dict)
    runs: dict[str, dict[str, Run]] = field(default_factory=dict)
    holds: list[Hold] = field(default_factory=list)
    preemptions: dict[str, Preemption] = field(default_factory=dict)
    asked: dict[str, dict[str, int]] = field(default_factory=dict)
    recent: list[Charged] = field(default_factory=list)

    @property
    def hold(self) -> Hold | None:
        """The hold there is."""
        return self.holds[0] if self.holds else None

    def branch(self) -> "Shares":
        """Return a copy that may go its own way."""
        rounds = {name: replace(each, ages=dict(each.ages)) for name, each in self.rounds.items()}
        return replace(self.branch_of_charges(), rounds=rounds)

    def branch_of_charges(self) -> "Shares":
        """Return a copy in which charges and holds may go their own way; the rounds of the Groups are shared."""
        return Shares(
            pools={name: pool.branch() for name, pool in self.pools.items()},
            rounds=dict(self.rounds),
            runs={name: dict(each) for name, each in self.runs.items()},
            holds=list(self.holds),
            preemptions=dict(self.preemptions),
            asked={name: dict(each) for name, each in self.asked.items()},
            recent=list(self.recent),
        )
