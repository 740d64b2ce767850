"""What flags and environment mean: a flag wins, and what is empty or an unset `${VAR}` is absent."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.settings import Settings, settings_from

UNSET = ("", "  ", "${CLAUDE_PROJECT_DIR}", "${workspaceFolder}/sub")


def test_without_flags_and_environment_there_are_defaults() -> None:
    settings = settings_from({})
    assert settings == Settings(workspace_from="")
    assert settings.toolsets == {"schedule", "work"}
    assert settings.max_wait_seconds == 50
    assert (settings.workspace, settings.project_dir, settings.watch) == (None, None, "auto")
    assert (settings.clock, settings.ids, settings.fault) == (None, None, None)


def test_the_workspace_is_named_by_the_first_that_says_something() -> None:
    environ = {"METAGIT_WORKSPACE": "/b", "METAGIT_WORKSPACE_ROOT": "/c", "CLAUDE_PROJECT_DIR": "/d"}
    found = [settings_from(environ, workspace="/a")]
    for name in ("METAGIT_WORKSPACE", "METAGIT_WORKSPACE_ROOT"):
        found.append(settings_from(environ))
        del environ[name]
    found.append(settings_from(environ))
    assert [(each.workspace, each.workspace_from) for each in found] == [
        ("/a", "--workspace"),
        ("/b", "METAGIT_WORKSPACE"),
        ("/c", "METAGIT_WORKSPACE_ROOT"),
        (None, ""),
    ]
    assert {each.project_dir for each in found} == {"/d"}


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("/a", "/a"),
        ("/a,/b", "/a"),
        (" /a b , /c", "/a b"),
        ('["/a,b", "/c"]', "/a,b"),
        (' ["/a"]', "/a"),
        ("[]", None),
        ("[7]", None),
        ("[", None),
        ("[" * 100_000, None),
        (",/b", None),
        ("${workspaceFolder}", None),
    ],
)
def test_the_first_of_the_folders_that_cursor_has_open(text: str, first: str | None) -> None:
    settings = settings_from({"WORKSPACE_FOLDER_PATHS": text})
    named = "CLAUDE_PROJECT_DIR" if first is None else "the first of WORKSPACE_FOLDER_PATHS"
    assert (settings.project_dir, settings.project_dir_from) == (first, named)
    both = settings_from({"WORKSPACE_FOLDER_PATHS": text, "CLAUDE_PROJECT_DIR": "/d"})
    assert (both.project_dir, both.project_dir_from) == ("/d", "CLAUDE_PROJECT_DIR")


def test_the_folder_of_a_plugin_is_named_by_its_host() -> None:
    environ = {"CLAUDE_PLUGIN_ROOT": "/a", "PLUGIN_ROOT": "/b", "CURSOR_PLUGIN_ROOT": "/c"}
    found = []
    for name in tuple(environ):
        found.append(settings_from(environ).plugin_root)
        environ[name] = "${CLAUDE_PLUGIN_ROOT}"
    assert [*found, settings_from(environ).plugin_root] == ["/a", "/b", "/c", None]


@pytest.mark.parametrize("unset", UNSET)
def test_what_says_nothing_is_absent(unset: str) -> None:
    variables = ("METAGIT_WORKSPACE", "METAGIT_WORKSPACE_ROOT", "CLAUDE_PROJECT_DIR", "METAGIT_WATCH")
    tests = ("METAGIT_MCP_CLOCK", "METAGIT_MCP_IDS", "METAGIT_MCP_FAULT")
    environ = dict.fromkeys((*variables, *tests), unset)
    assert settings_from(environ, workspace=unset, agent_id=unset, operator=unset) == settings_from({})
    environ["METAGIT_WORKSPACE_ROOT"] = "/c"
    assert settings_from(environ, workspace=unset).workspace == "/c"


def test_the_session_of_a_host_can_be_an_agent() -> None:
    assert settings_from({"CLAUDE_CODE_SESSION_ID": "0f9a-1"}).session_id == "0f9a-1"
    # Another program chose it: what cannot be an agent's id is as if it were absent.
    for unfit in ("", "${CLAUDE_CODE_SESSION_ID}", "-x", "a b", "x" * 257):
        assert settings_from({"CLAUDE_CODE_SESSION_ID": unfit}).session_id == ""
    both = settings_from({"CLAUDE_CODE_SESSION_ID": "0f9a-1", "METAGIT_AGENT_ID": "ada"})
    assert (both.agent_id, both.session_id) == ("ada", "0f9a-1")


@pytest.mark.parametrize(
    ("environ", "session_id"),
    [
        ({"CODEX_SESSION_ID": "s", "CODEX_THREAD_ID": "s"}, "s"),
        ({"CODEX_SESSION_ID": "s", "CODEX_THREAD_ID": "t"}, "s/t"),
        ({"CODEX_SESSION_ID": "s"}, "s"),
        ({"CODEX_THREAD_ID": "t"}, ""),
        ({"CODEX_SESSION_ID": "a b", "CODEX_THREAD_ID": "t"}, ""),
        # As the server and the hook name it: no thread is its session.
        ({"CODEX_SESSION_ID": "s", "CODEX_THREAD_ID": "t 2"}, "s/x-fd555bee8f13792a"),
        # One host in the shell of another: what Claude Code sets is its own.
        ({"CODEX_SESSION_ID": "s", "CODEX_THREAD_ID": "t", "CLAUDE_CODE_SESSION_ID": "c"}, "c"),
    ],
)
def test_the_session_of_codex_names_its_thread(environ: dict[str, str], session_id: str) -> None:
    assert settings_from(environ).session_id == session_id


@pytest.mark.parametrize("seconds", [0, 50, 300])
def test_a_server_says_how_long_calls_may_wait(seconds: int) -> None:
    assert settings_from({}, max_wait=seconds).max_wait_seconds == seconds


def test_the_time_can_come_from_a_file() -> None:
    settings = settings_from({"METAGIT_MCP_CLOCK": "@/tmp/clock"})
    assert (settings.clock_file, settings.clock) == ("/tmp/clock", None)  # noqa: S108 - a name, nothing is written


def test_flags_are_taken_over() -> None:
    settings = settings_from(
        {},
        agent_id="team/agent-1@host",
        capabilities=["gpu", "net", "gpu"],
        operator="Ada Lovelace",
        policy_read_only=True,
        toolsets=["tasks", "schedule"],
    )
    assert settings == Settings(
        workspace_from="",
        agent_id="team/agent-1@host",
        capabilities=frozenset({"gpu", "net"}),
        operator="Ada Lovelace",
        policy_read_only=True,
        toolsets=frozenset({"schedule", "tasks"}),
    )


def test_no_capabilities_are_not_the_same_as_none_said() -> None:
    assert settings_from({}, capabilities=[]).capabilities == frozenset()
    assert settings_from({}).capabilities is None


def test_test_settings_come_from_the_environment() -> None:
    environ = {
        "METAGIT_WATCH": "stat",
        "METAGIT_MCP_CLOCK": "2026-12-01T12:00:00+02:00",
        "METAGIT_MCP_IDS": "seed",
        "METAGIT_MCP_FAULT": "graph.renamed",
    }
    settings = settings_from(environ)
    at = datetime(2026, 12, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert (settings.watch, settings.clock, settings.ids, settings.fault) == ("stat", at, "seed", "graph.renamed")
    assert settings_from({"METAGIT_MCP_CLOCK": "2026-12-01T12:00:00Z"}).clock == datetime(2026, 12, 1, 12, tzinfo=UTC)


ADDRESSES = [
    "postgresql://db.example.org/metagit",
    "postgres://ada:p%40ss%2Fw%3Ard@db.example.org:5433/metagit?sslmode=verify-full",
    "postgresql://ada@one:5432,two:5433/metagit?target_session_attrs=read-write",
    "postgresql://ada:s3cret@[::1]:5432/metagit",
    "postgresql:///metagit?host=/run/postgresql",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_address_of_a_ledger_stands_in_no_text_of_the_settings(address: str) -> None:
    settings = settings_from({"METAGIT_LEDGER": address, "METAGIT_WORKSPACE_ID": "shop"})
    assert (settings.ledger, settings.workspace_id) == (address, "shop")
    assert "postgres" not in repr(settings)


@pytest.mark.parametrize(
    "address",
    [
        "ledger.db",
        "sqlite:///ledger.db",
        "host=db password=s3cret",
        # A part of each password would be read as a host, a database or a port.
        "postgresql://ada:s3@cret@db/metagit",
        "postgresql://ada:s3cret/@db/metagit",
        "postgresql://ada:s3cret?@db/metagit",
        "postgresql://ada:s3cret#@db/metagit",
        "postgresql://db/metagit s3cret",
    ],
)
def test_an_address_that_is_none_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        settings_from({"METAGIT_LEDGER": address})
    assert caught.value.details == {"field": "METAGIT_LEDGER"}
    assert "s3" not in str(caught.value.as_record())


BAD: list[tuple[dict[str, str], dict[str, Any], str, str]] = [
    ({}, {"agent_id": "-x"}, "agent_id", "--agent-id must be letters, digits"),
    ({}, {"agent_id": "a b"}, "agent_id", "--agent-id must be letters, digits"),
    ({}, {"agent_id": "x" * 257}, "agent_id", "--agent-id must be letters, digits"),
    ({}, {"agent_id": "a\n"}, "agent_id", "--agent-id must be letters, digits"),
    ({}, {"toolsets": ["schedle"]}, "toolsets", "--toolsets names an unknown toolset"),
    ({}, {"max_wait": -1}, "max_wait", "--max-wait must be 0 to 300"),
    ({}, {"max_wait": 301}, "max_wait", "--max-wait must be 0 to 300"),
    ({"METAGIT_WATCH": "poll"}, {}, "METAGIT_WATCH", "METAGIT_WATCH must be one of auto, inotify, stat"),
    ({"METAGIT_WORKSPACE_ID": "my shop"}, {}, "METAGIT_WORKSPACE_ID", "METAGIT_WORKSPACE_ID must be letters, digits"),
    ({"METAGIT_MCP_CLOCK": "noon"}, {}, "METAGIT_MCP_CLOCK", "METAGIT_MCP_CLOCK must be an RFC 3339 instant"),
    ({"METAGIT_MCP_CLOCK": "2026-12-01T12:00:00"}, {}, "METAGIT_MCP_CLOCK", "METAGIT_MCP_CLOCK must be an RFC 3339"),
]


@pytest.mark.parametrize(("environ", "flags", "field", "said"), BAD)
def test_a_value_that_cannot_be_is_refused_by_name(
    environ: dict[str, str], flags: dict[str, Any], field: str, said: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        settings_from(environ, **flags)
    assert caught.value.details == {"field": field}
    assert caught.value.message.startswith(said)


def test_the_nearest_toolset_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        settings_from({}, toolsets=["schedle", "tasks"])
    assert caught.value.hint == "Known toolsets: schedule, work, tasks, groups; the nearest is schedule."
