"""What the settings ask for where there is a choice: the adapters, and who is calling. Knows no use case."""

from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from metagit_mcp.adapters.changes import Changes
    from metagit_mcp.adapters.postgres import PostgresEventStore
    from metagit_mcp.adapters.sqlite import SqliteEventStore
    from metagit_mcp.application.caller import Caller
    from metagit_mcp.ports.machine import Clock, Ids
    from metagit_mcp.settings import Settings

Surface = Literal["mcp", "cli", "http"]
_LONGEST_WAIT: Final = 300


def changes_of(settings: "Settings", surface: Surface, root: str) -> "Changes":
    """Return what looks for changes: a command looks once, and only a server gains by listening."""
    from metagit_mcp.adapters.changes import open_changes
    from metagit_mcp.adapters.layout import WATCHED

    watch = "stat" if surface == "cli" and settings.watch == "auto" else settings.watch
    return open_changes(root, WATCHED, mode=watch)


def caller_of(settings: "Settings", surface: Surface, ids: "Ids") -> "Caller":
    """Return who calls: only a server that was started for one agent alone holds that agent's session."""
    from metagit_mcp.adapters.system import user_at_host
    from metagit_mcp.application.caller import Caller

    is_server = surface == "mcp"
    claims_as = settings.agent_id or settings.session_id
    if not claims_as:
        claims_as = f"agent-{ids.new()[:8]}" if is_server else user_at_host()
    return Caller(
        agent_id=settings.agent_id,
        claims_as=claims_as,
        holder=ids.new()[:12] if is_server and settings.agent_id else None,
        attended=is_server,
        max_wait_seconds=settings.max_wait_seconds if is_server else _LONGEST_WAIT,
        capabilities=settings.capabilities,
        operator=settings.operator,
        policy_read_only=settings.policy_read_only,
        surface=surface,
    )


def store_of(settings: "Settings", root: str) -> "SqliteEventStore | PostgresEventStore":
    """Return where the ledger is: a file of the workspace, or a database for many hosts (ADR 0034)."""
    from metagit_mcp.adapters.sqlite import SqliteEventStore

    if settings.ledger is None:
        return SqliteEventStore(root)
    from metagit_mcp.adapters.postgres import PostgresEventStore

    return PostgresEventStore(root, settings.ledger, named=settings.workspace_id)


def clock_of(settings: "Settings", store: "SqliteEventStore | PostgresEventStore") -> "Clock":
    """Return what tells the time: that of the database where hosts share one, since their own clocks differ."""
    from metagit_mcp.adapters.sqlite import SqliteEventStore
    from metagit_mcp.adapters.system import ClockFile, FixedClock, SystemClock

    if settings.clock_file is not None:
        return ClockFile(settings.clock_file)
    if settings.clock is not None:
        return FixedClock(settings.clock)
    return SystemClock() if isinstance(store, SqliteEventStore) else store.clock(SystemClock())


def ids_of(settings: "Settings") -> "Ids":
    """Return what draws ids: by lot, or the same ones again after the same seed."""
    from metagit_mcp.adapters.system import RandomIds, SeededIds

    return RandomIds() if settings.ids is None else SeededIds(settings.ids)
