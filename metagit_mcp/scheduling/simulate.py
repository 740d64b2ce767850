"""Runs a workload in virtual time, through the same plan, decider and fold as real work. Knows no file and no clock.

The events of the ledger are decided and folded one by one and kept nowhere. What agents do is simple: whoever is free
asks for the next node, works on it for as long as it takes, and reports what it used, in the end and as often as it may
be asked to pause. Who is asked pauses at once and keeps what it has done (scheduling.md §3, §5 and §6).
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from itertools import count, groupby
from typing import Final

from metagit_mcp.domain.charging import units_of
from metagit_mcp.domain.commands import Enter, ReportState, ReportWork, StartWork
from metagit_mcp.domain.decide import Command, decide
from metagit_mcp.domain.events import Event, LeaseExpired
from metagit_mcp.domain.evolve import evolve_all
from metagit_mcp.domain.instant import Instant
from metagit_mcp.domain.lapses import lapses
from metagit_mcp.domain.policy import SchedulePolicy, slots_of_agent
from metagit_mcp.domain.share_events import PreemptionRequested
from metagit_mcp.domain.state import LedgerState
from metagit_mcp.domain.tasks import LoadedGraph, TaskGraph, TaskNode
from metagit_mcp.domain.value import value
from metagit_mcp.domain.work import NodeKey, Usage
from metagit_mcp.scheduling import cycle
from metagit_mcp.scheduling.capabilities import asker_for
from metagit_mcp.scheduling.simulation.course import Course, Service
from metagit_mcp.scheduling.simulation.jobs import Job, jobs_of, wall
from metagit_mcp.scheduling.simulation.workload import Workload, policy_in_force
from metagit_mcp.scheduling.snapshot import Asker, Snapshot, Surroundings

_BOOT: Final = "virtual"
# Seconds between reports of work that goes on, where the policy lets it be asked to pause even sooner.
_LEAST_BEAT: Final = 60
_NOTHING_AROUND: Final = Surroundings()


def simulate(workload: Workload, seed: int = 0) -> Course:
    """Return what happens when agents take the workload's nodes as `cycle.plan` says; equal arguments, equal course.

    At one second work ends before nodes come, and nodes come before agents ask.
    """
    policy, jobs = policy_in_force(workload), jobs_of(workload, seed)
    run = _Run(policy, workload.agents)
    end = workload.duration_seconds
    arrivals = [(at, list(group)) for at, group in groupby(jobs, key=lambda job: job.at)]
    arrivals.reverse()
    while (at := run.next_second(at for at, _ in arrivals[-1:])) is not None and (end is None or at <= end):
        run.go_to(at)
        if at == end:
            break
        if arrivals and arrivals[-1][0] == at:
            run.bring(arrivals.pop()[1])
        run.ask()
    return run.course(jobs, end)


@value
class _Work:
    """An agent at work on a node under a lease: since when, and the seconds and tokens that are still to go then."""

    agent: int
    lease_id: str
    job: Job
    place: int
    begin: int
    runtime: int
    tokens: int

    def tokens_by(self, second: int) -> int:
        """Return the tokens used by a second; they are used evenly."""
        return self.tokens * (second - self.begin) // self.runtime


class _Run:
    """One run under way: the ledger's state, the queue that follows it, and what each agent does."""

    def __init__(self, policy: SchedulePolicy, agents: int) -> None:
        self._policy = policy
        self._second = 0
        self._state = LedgerState()
        self._graphs: dict[str, LoadedGraph] = {}
        # The nodes that are not done, by Group: what is done need not be judged again at each arrival.
        self._open: dict[str, dict[str, TaskNode]] = {}
        self._jobs: dict[NodeKey, Job] = {}
        # The seconds and tokens that paused work still has to go.
        self._left: dict[NodeKey, tuple[int, int]] = {}
        self._queue = cycle.WorkspaceQueue(self._snapshot())
        self._askers = [asker_for(policy, f"agent-{number}", None) for number in range(1, agents + 1)]
        # Who may hold no lease at all never gets one.
        self._free = [place for place, each in enumerate(self._askers) if slots_of_agent(policy, each.agent_id)]
        self._at_work: dict[str, _Work] = {}
        self._may_pause = policy.preemption.enabled and policy.ordering == "fair"
        self._beat = max(_LEAST_BEAT, policy.preemption.min_quantum_seconds)
        # When whoever holds a lease reports: (second, place of the start, lease).
        self._reports: list[tuple[int, int, str]] = []
        self._services: list[Service | None] = []
        self._numbers = count(1)
        for asker in self._askers:
            self._command(Enter(agent_id=asker.agent_id))

    def _snapshot(self) -> Snapshot:
        return Snapshot(
            policy=self._policy,
            graphs=dict(self._graphs),
            surroundings=_NOTHING_AROUND,
            approvals={},
            now=wall(self._second),
            work=self._state,
        )

    def _now(self) -> Instant:
        return Instant(wall=wall(self._second), boot_id=_BOOT, ticks_ms=self._second * 1000)

    def _command(self, command: Command) -> str | None:
        """Let the decider decide and what follows happen; return the lease that it is about."""
        decided = decide(self._state, command, self._policy, self._now(), self._new_id)
        if decided.refusal is not None:  # pragma: no cover - what was planned may be started, and its report fits
            raise decided.refusal
        self._happen(decided.events)
        return decided.lease_id

    def _happen(self, events: Iterable[Event]) -> None:
        touched = evolve_all(self._state, events)
        if touched:
            self._queue.follow(self._state, touched)

    def _new_id(self) -> str:
        return f"{next(self._numbers):015x}"

    # --- time

    def next_second(self, arrivals: Iterable[int]) -> int | None:
        """Return the next second in which anything may happen, or None."""
        while self._reports and self._reports[0][2] not in self._at_work:
            heappop(self._reports)
        terms = [
            *self._state.terms.values(),
            *(hold.until for hold in self._state.shares.holds if hold.until is not None),
        ]
        ends = [each.ticks_ms // 1000 for each in terms]
        times = [*arrivals, *(second for second, *_ in self._reports[:1]), *(end for end in ends if end > self._second)]
        return min(times, default=None)

    def go_to(self, second: int) -> None:
        """Go on to a second; the terms and the work that end in it do, work in the order of its starts."""
        self._second = second
        self._queue.go_on(wall(second))
        due = []
        while self._reports and self._reports[0][0] <= second:
            due.append(heappop(self._reports)[2])
        for work in [self._at_work[lease_id] for lease_id in due if lease_id in self._at_work]:
            self._hear(work)
        self._happen(each for each in lapses(self._state, self._now()) if not isinstance(each, LeaseExpired))

    def bring(self, jobs: list[Job]) -> None:
        """Let nodes come, all in one event."""
        for job in jobs:
            self._jobs[_key(job)] = job
            self._open.setdefault(job.graph_id, {})[job.node.node_id] = job.node
        for graph_id in {job.graph_id: None for job in jobs}:
            nodes = tuple(self._open[graph_id].values())
            self._graphs[graph_id] = LoadedGraph(graph_id=graph_id, graph=TaskGraph(title=graph_id, nodes=nodes))
        self._queue.refresh(self._snapshot())

    # --- asking

    def ask(self) -> None:
        """Let each agent that is free ask once, the first one first: nobody's start makes room for one before it."""
        waiting = []
        while self._free:
            agent = heappop(self._free)
            if not self._claim(agent):
                waiting.append(agent)
                # Agents of whom the policy says nothing are all alike, but for what they own.
                if not (self._policy.agents or self._left):
                    break
        self._free += waiting
        heapify(self._free)

    def _claim(self, agent: int) -> bool:
        """Let an agent ask, as application/work/claims.py does; say whether it got anything."""
        asker = self._askers[agent]
        self._settle()
        events = cycle.choose(self._queue, asker).events
        self._happen(events)
        for event in events:
            if isinstance(event, PreemptionRequested):
                self._end(self._at_work[event.lease_id], "paused")
                self._settle()
        # By the name of its module, so that a run depends on that very function.
        picks = cycle.plan(self._queue, asker, 1).picks
        if picks:
            self._start(agent, asker, picks[0])
        return bool(picks)

    def _settle(self) -> None:
        self._happen(cycle.unsettled(self._queue, self._now()))

    def _start(self, agent: int, asker: Asker, pick: cycle.Pick) -> None:
        graph_id, node, queue = pick.graph_id, pick.node, self._queue
        job = self._jobs[graph_id, node.node_id]
        command = StartWork(
            graph_id=graph_id,
            node_id=node.node_id,
            agent_id=asker.agent_id,
            holding=cycle.holding_of(queue, asker, graph_id, node),
            finish_by=node.deadline,
            runtime_seconds=job.runtime,
            dispatch=cycle.dispatch_of(queue, asker, graph_id, node, pick),
        )
        lease_id, place = str(self._command(command)), len(self._services)
        runtime, tokens = self._left.pop(_key(job), (job.runtime, job.tokens))
        self._at_work[lease_id] = _Work(
            agent=agent,
            lease_id=lease_id,
            job=job,
            place=place,
            begin=self._second,
            runtime=runtime,
            tokens=tokens,
        )
        self._services.append(None)
        self._expect(self._at_work[lease_id])

    def _expect(self, work: _Work) -> None:
        """Note when the agent reports next: at its end, or before that if it may be asked to pause."""
        end = work.begin + work.runtime
        soon = self._second + self._beat
        heappush(self._reports, (min(end, soon) if self._may_pause else end, work.place, work.lease_id))

    # --- reports

    def _hear(self, work: _Work) -> None:
        if work.begin + work.runtime <= self._second:
            self._end(work, "completed")
            return
        self._command(ReportWork(lease_id=work.lease_id, state="running", usage=self._used(work)))
        self._expect(work)

    def _used(self, work: _Work) -> Usage:
        return Usage(tokens=work.tokens_by(self._second), seconds=self._second - work.begin)

    def _end(self, work: _Work, state: ReportState) -> None:
        """Let an agent report that it is done, or that it paused to make room; then it is free."""
        job, tokens = work.job, work.tokens_by(self._second)
        self._command(ReportWork(lease_id=work.lease_id, state=state, note="made room", usage=self._used(work)))
        if state == "completed":
            del self._open[job.graph_id][job.node.node_id]
        else:
            self._left[_key(job)] = (work.begin + work.runtime - self._second, work.tokens - tokens)
        del self._at_work[work.lease_id]
        self._keep(work, tokens, is_last=state == "completed")
        heappush(self._free, work.agent)

    def _keep(self, work: _Work, tokens: int, *, is_last: bool) -> None:
        job = work.job
        self._services[work.place] = Service(
            job=job,
            begin=work.begin,
            end=self._second,
            charge=job.charge,
            # What reports nothing is not corrected.
            cost=units_of(job.slots, tokens) if tokens else job.charge,
            is_last=is_last,
        )

    def course(self, jobs: tuple[Job, ...], limit: int | None) -> Course:
        """Return what happened until the end; work that is under way then is cut off, and counted as if it went on."""
        if limit is not None:
            self._second = limit
        for work in self._at_work.values():
            self._keep(work, work.tokens, is_last=False)
        return Course(
            policy=self._policy,
            agents=len(self._askers),
            jobs=jobs,
            services=tuple(each for each in self._services if each is not None),
            end=self._second,
            limit=limit,
        )


def _key(job: Job) -> NodeKey:
    return job.graph_id, job.node.node_id
