"""What the PostgreSQL store does that others need not: cut connections, other hosts, a password that nobody sees."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from metagit_mcp.adapters.postgres import PostgresEventStore, link, making
from metagit_mcp.adapters.postgres.address import public_name
from metagit_mcp.adapters.system import FixedClock
from metagit_mcp.errors import MetagitError, ReadOnlyWorkspace, StoreCorrupt, StoreTooNew, StoreUnavailable
from metagit_mcp.ports.ledger import InboxEntry, LedgerMark
from metagit_mcp.settings import settings_from
from tests.unit.adapters.severing import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.postgres_server import PostgresServer
    from tests.unit.adapters.severing import When

NOTHING = LedgerMark()
SECRET = "s3cret"  # noqa: S105 - nothing asks for it
CUT = "Nothing of this was written. Try again."


@contextmanager
def store_on(root: Path, url: str, named: str | None = "shop", busy_seconds: float = 5) -> Iterator[PostgresEventStore]:
    """Give a store that is closed at the end."""
    root.mkdir(exist_ok=True)
    with closing(PostgresEventStore(str(root), url, named=named, busy_seconds=busy_seconds)) as store:
        yield store


@pytest.fixture
def store(tmp_path: Path, postgres: PostgresServer) -> Iterator[PostgresEventStore]:
    with store_on(tmp_path / "a", postgres.url()) as store:
        yield store


def append(store: PostgresEventStore, *texts: str, then: Callable[[], object] = lambda: None, new: str = "w1") -> None:
    """Append the texts in one block; `then` happens at its end."""
    with store.writing(store.mark(), lambda: new) as writer:
        writer.append([("kind", 1, text.encode()) for text in texts])
        then()


def texts(store: PostgresEventStore) -> list[str]:
    return [each.body.decode() for each in store.read(0)]


def refusal(call: Callable[[], object], kind: type[MetagitError] = StoreUnavailable) -> MetagitError:
    """The error with which a call is refused; the password stands nowhere in it."""
    with pytest.raises(kind) as caught:
        call()
    told: BaseException | None = caught.value
    said = json.dumps(caught.value.as_record())
    while told is not None:
        said += f"{told!r} {told}"
        told = None if told.__suppress_context__ and told.__cause__ is None else told.__cause__ or told.__context__
    assert SECRET not in said
    return caught.value


def away(postgres: PostgresServer, mode: str) -> None:
    """Let the connections end: that alone, or with the server, which comes back."""
    if mode == "cut":
        postgres.cut()
    else:
        postgres.stop(mode)
        postgres.start()


# --- cut connections -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["cut", "fast", "immediate"])
def test_a_connection_that_was_cut_between_two_uses_is_not_noticed(
    store: PostgresEventStore, postgres: PostgresServer, mode: str
) -> None:
    append(store, "a", "b")
    away(postgres, mode)
    assert store.mark() == LedgerMark(workspace_id="w1", position=2)
    append(store, "c")
    away(postgres, mode)
    # The first thing that is asked is to write.
    with store.writing(store.mark(), lambda: "w2") as writer:
        writer.append([("kind", 1, b"d")])
    assert texts(store) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("mode", ["cut", "immediate"])
def test_of_a_block_whose_connection_is_cut_in_it_nothing_is_kept(
    store: PostgresEventStore, postgres: PostgresServer, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    append(store, "a")
    # The driver has words of its own for this, which nobody is to read.
    refused = refusal(lambda: append(store, "b", then=lambda: away(postgres, mode)))
    assert (refused.code, refused.retryable, refused.hint) == ("STORE_UNAVAILABLE", True, CUT)
    entry = InboxEntry(sequence=1, event_key=b"k" * 16, digest=b"d" * 16, body=b"{}")

    def fed() -> None:
        with store.writing(store.mark(), lambda: "w2") as writer:
            writer.inbox("g").put([entry])
            away(postgres, mode)
            writer.inbox("g").applied(1)

    refused = refusal(fed)
    assert refused.hint == CUT
    assert (texts(store), store.inbox_size("g").held) == (["a"], 0)
    append(store, "c")
    assert (texts(store), caplog.records) == (["a", "c"], [])


@pytest.mark.parametrize(
    ("when", "came"), [("before", ["a"]), ("after", ["a", "b"]), ("for good", ["a", "b"])], ids=str
)
def test_what_became_of_a_commit_whose_answer_is_lost_is_looked_up(
    tmp_path: Path, postgres: PostgresServer, when: When, came: list[str]
) -> None:
    with Line(postgres) as line, store_on(tmp_path / "a", line.url, busy_seconds=0.2) as store:
        append(store, "a")
        line.cut = when
        if when == "after":
            append(store, "b")
        else:
            hint = CUT if when == "before" else "Look before you do it again: a claim tells which leases you hold"
            assert refusal(lambda: append(store, "b")).hint.startswith(hint)
        with store_on(tmp_path / "b", postgres.url()) as other:
            assert texts(other) == came


def test_a_server_that_is_not_there_is_unavailable_and_used_again_when_it_is(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    with Line(postgres) as line:
        line.close_door()
        with store_on(tmp_path / "a", line.url) as store:
            uses: list[Callable[[], object]] = [store.mark, store.examine, store.snapshot, lambda: append(store, "a")]
            refused = [refusal(use) for use in uses]
    port = line.url.rpartition(":")[2]
    assert {each.message for each in refused} == {f"The ledger at postgresql://127.0.0.1:{port} cannot be reached."}
    assert all("METAGIT_LEDGER" in each.hint for each in refused)


def test_a_writer_that_stands_still_loses_its_turn(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "_TURN_SECONDS", 0.1)
    with (
        store_on(tmp_path / "a", postgres.url(), busy_seconds=0.1) as slow,
        store_on(tmp_path / "b", postgres.url()) as other,
    ):
        append(slow, "a")
        refused = refusal(lambda: append(slow, "b", then=lambda: append(other, "c")))
        assert (refused.hint, texts(other)) == (CUT, ["a", "c"])


def test_a_block_takes_two_round_trips_and_a_look_one(
    store: PostgresEventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(store, "a")
    asked: list[str] = []
    together, run = link.Link.together, link.Link.run

    def noted_together(self: link.Link, *several: link.Asked) -> list[link.Rows]:
        asked.append(" ".join(name for name, _ in several))
        return together(self, *several)

    def noted_run(self: link.Link, name: str, values: link.Values | None = None, /, **more: Any) -> link.Rows:  # noqa: ANN401 - as it takes them
        asked.append(name)
        return run(self, name, values, **more)

    monkeypatch.setattr(link.Link, "together", noted_together)
    monkeypatch.setattr(link.Link, "run", noted_run)
    with store.writing(LedgerMark(workspace_id="w1", position=1), lambda: "w2") as writer:
        writer.append([("kind", 1, b"b"), ("kind", 1, b"c")])
    assert store.mark().position == 3
    assert asked == ["begin lock mark read_events", "append_events tell commit", "mark"]


# --- which ledger --------------------------------------------------------------------------------------------------


def test_hosts_that_name_one_ledger_share_it_and_others_do_not(tmp_path: Path, postgres: PostgresServer) -> None:
    with ExitStack() as stack:
        names = {"a": "shop", "b": "shop", "c": "w1", "d": "bakery", "e": None, "f": None}
        stores = {
            host: stack.enter_context(store_on(tmp_path / host, postgres.url(), named)) for host, named in names.items()
        }
        told = []
        for number, (host, store) in enumerate(stores.items(), start=1):
            append(store, host, new=f"w{number}")
            told.append((store.mark().workspace_id, texts(store)))
        assert told == [
            ("w1", ["a"]),
            ("w1", ["a", "b"]),
            # An id is as good a name as the one that people chose.
            ("w1", ["a", "b", "c"]),
            ("w4", ["d"]),
            ("w5", ["e"]),
            ("w6", ["f"]),
        ]
        identity = tmp_path / "e" / ".metagit/schedule/workspace.json"
        assert identity.read_bytes() == b'{"workspace_id": "w5"}\n'
        # What comes with a clone of the workspace.
        (tmp_path / "f" / ".metagit/schedule/workspace.json").write_bytes(identity.read_bytes())
        assert (stores["f"].mark().workspace_id, texts(stores["f"])) == ("w5", ["e"])


def test_hosts_find_the_ledger_that_took_the_place_of_a_lost_one(tmp_path: Path, postgres: PostgresServer) -> None:
    with store_on(tmp_path / "a", postgres.url(), None) as one, store_on(tmp_path / "b", postgres.url(), None) as other:
        append(one, "a")
        (tmp_path / "b/.metagit/schedule").mkdir(parents=True)
        identity = ".metagit/schedule/workspace.json"
        (tmp_path / "b" / identity).write_bytes((tmp_path / "a" / identity).read_bytes())
        append(other, "b")
        postgres.asked("DELETE FROM metagit_mcp.ledger")
        append(one, "c", new="w2")
        # Its file still names the lost one.
        append(other, "d", new="w3")
        assert (texts(one), other.mark()) == (["c", "d"], LedgerMark(workspace_id="w2", position=2))
        assert (tmp_path / "b" / identity).read_bytes() == b'{"workspace_id": "w2"}\n'


def test_a_name_that_is_lost_under_a_server_stays_and_one_that_cannot_be_read_is_no_new_ledger(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    identity = tmp_path / "a/.metagit/schedule/workspace.json"
    with store_on(tmp_path / "a", postgres.url(), None) as store:
        append(store, "a")
        identity.unlink()
        append(store, "b")
        assert texts(store) == ["a", "b"]
        for text in ("", "{}", "[1]", '{"workspace_id": 7}', '{"workspace_id": ""}'):
            identity.write_text(text)
            refused = refusal(store.mark, StoreCorrupt)
            assert refused.hint.endswith("or set METAGIT_WORKSPACE_ID.")


def test_a_folder_that_cannot_be_written_needs_a_given_name(tmp_path: Path, postgres: PostgresServer) -> None:
    for host in ("a", "b"):
        (tmp_path / host).mkdir()
        # Where a folder has to be is a file: that stops root too.
        (tmp_path / host / ".metagit").write_text("")
    with store_on(tmp_path / "a", postgres.url(), None) as store:
        refusal(lambda: append(store, "a"))
    with store_on(tmp_path / "b", postgres.url(), "shop") as store:
        append(store, "b")
        assert (store.mark().workspace_id, texts(store)) == ("w1", ["b"])


def test_writers_of_one_host_make_one_ledger(tmp_path: Path, postgres: PostgresServer) -> None:
    def write(number: int) -> None:
        with store_on(tmp_path / "a", postgres.url(), None) as store:
            append(store, str(number), new=f"w{number}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert postgres.asked("SELECT count(*), count(DISTINCT stream) FROM metagit_mcp.event") == [(4, 1)]


def test_hosts_go_by_the_clock_of_the_server(store: PostgresEventStore) -> None:
    """Where the host's own clock is wrong by half a century; the ticks of its boot are its own."""
    clock = store.clock(FixedClock(datetime(1976, 1, 1, tzinfo=UTC)))
    assert (clock.now().year, clock.instant().boot_id) == (1976, "fixed")
    append(store, "a")
    before = datetime.now(UTC)
    told = clock.instant()
    assert abs(told.wall - before) < timedelta(seconds=30)
    assert (told.boot_id, told.ticks_ms) == ("fixed", FixedClock(datetime(1976, 1, 1, tzinfo=UTC)).instant().ticks_ms)


# --- what is refused -----------------------------------------------------------------------------------------------


def test_tables_of_a_newer_program_are_left_alone(store: PostgresEventStore, postgres: PostgresServer) -> None:
    append(store, "a")
    postgres.asked("UPDATE metagit_mcp.schema_version SET version = 9")
    refused = [refusal(use, StoreTooNew) for use in (store.mark, store.examine, lambda: append(store, "b"))]
    assert {each.message.partition(" has ")[2] for each in refused} == {
        "schema version 9; this metagit-mcp knows versions up to 1."
    }


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("DELETE FROM metagit_mcp.event WHERE position = 2", "is damaged: event 2 is missing."),
        ("DELETE FROM metagit_mcp.event WHERE position = 1", "is damaged: event 1 is missing."),
        ("DELETE FROM metagit_mcp.schema_version", "is damaged: nothing tells the version of its tables."),
        ("DROP TABLE metagit_mcp.inbox_entry", "is damaged: PostgreSQL cannot make sense of it."),
    ],
)
def test_damage_is_told(store: PostgresEventStore, postgres: PostgresServer, harm: str, said: str) -> None:
    append(store, "a", "b", "c")
    postgres.asked(harm)

    def examined() -> None:
        for found in store.examine():
            raise StoreCorrupt(found)

    assert refusal(examined, StoreCorrupt).message.endswith(said)


def test_an_event_that_is_missing_is_not_passed_over(store: PostgresEventStore, postgres: PostgresServer) -> None:
    append(store, "a", "b", "c")
    postgres.asked("DELETE FROM metagit_mcp.event WHERE position = 2")
    assert refusal(lambda: store.read(0), StoreCorrupt).message.endswith("an event after position 0 is missing.")
    postgres.asked("DELETE FROM metagit_mcp.event WHERE position = 1")
    assert refusal(store.mark, StoreCorrupt).message.endswith("its beginning is missing.")


def test_a_user_who_may_only_read_reads(tmp_path: Path, store: PostgresEventStore, postgres: PostgresServer) -> None:
    append(store, "a")
    postgres.asked("DROP ROLE IF EXISTS reader")
    postgres.asked("CREATE ROLE reader LOGIN")
    postgres.asked("GRANT USAGE ON SCHEMA metagit_mcp TO reader")
    postgres.asked("GRANT SELECT ON ALL TABLES IN SCHEMA metagit_mcp TO reader")
    with store_on(tmp_path / "b", postgres.url().replace("postgres:s3cret", "reader:s3cret")) as reader:
        assert texts(reader) == ["a"]
        refused = refusal(lambda: append(reader, "b"), ReadOnlyWorkspace)
        assert "the user of METAGIT_LEDGER must be allowed to write" in refused.hint
    postgres.asked("DROP OWNED BY reader")


def test_without_the_driver_it_is_said_what_to_install(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("connected", "link", "making", "inbox"):
        monkeypatch.delitem(sys.modules, f"metagit_mcp.adapters.postgres.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with store_on(tmp_path / "a", postgres.url()) as store:
        assert "pipx install --force '/path/to/clone[postgres]'" in refusal(store.mark).hint


def test_a_workspace_without_a_name_asks_no_server_and_loads_no_driver(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom metagit_mcp.adapters.postgres import PostgresEventStore\n"
        "store = PostgresEventStore(sys.argv[1], 'postgresql://nowhere.invalid/x')\n"
        "print(store.mark().position, tuple(store.read(0)), 'psycopg' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ended.stdout == "0 () False\n"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgresql://u:p[s3cret]w@db.example:5/shop", "postgresql://db.example:5/shop"),
        ("postgres://u:p[@one,[::1]:5433/shop?sslmode=require", "postgresql://one,[::1]:5433/shop"),
        ("postgresql:///shop?host=/run/pg&password=s3cret", "postgresql:///run/pg/shop"),
        ("postgresql://db.example", "postgresql://db.example/"),
    ],
)
def test_an_address_is_shown_as_hosts_and_database_whatever_is_in_the_password(url: str, told: str) -> None:
    assert settings_from({"METAGIT_LEDGER": url}).ledger == url
    assert public_name(url) == told
