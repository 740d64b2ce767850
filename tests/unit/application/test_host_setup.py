"""What show, write, check and remove mean, for each host and each way in which its file may stand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast, get_args

import pytest

from metagit_mcp.application.hosts.setup import HostSetup
from metagit_mcp.errors import HostFileInvalid, InvalidInput
from metagit_mcp.wire.host_files.host_entries import FORMATS
from metagit_mcp.wire.host_files.hosts import Host, HostAction, HostFile, HostState, HostWish
from metagit_mcp.wire.work_loop import in_instructions
from tests.unit.application.test_host_places import FACTS

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTS: tuple[Host, ...] = get_args(Host)
# Which file is looked at, so that agents-md has one as well.
ONE: dict[Host, str | None] = {host: "AGENTS.md" if host == "agents-md" else None for host in HOSTS}


class Files:
    """Files in memory: `ports.hosts.HostFiles`."""

    def __init__(self, **links: str) -> None:
        self.raw: dict[str, bytes] = {}
        self.modes: dict[str, int] = {}
        self._links = links

    def real(self, path: str) -> str:
        return self._links.get(path.rpartition("/")[2].replace(".", "_"), path)

    def read(self, path: str) -> bytes | None:
        return self.raw.get(path)

    def revise(self, path: str, change: Callable[[bytes | None], bytes | None], *, mode: int) -> bool:
        former = self.raw.get(path)
        wanted = change(former)
        if wanted == former:
            return False
        self.modes[path] = mode
        if wanted is None:
            del self.raw[path]
        else:
            self.raw[path] = wanted
        return True


def wished(host: Host, action: HostAction = "show", **more: Any) -> HostWish:  # noqa: ANN401 - any field
    return replace(HostWish(host=host, action=action, file=ONE[host]), **more)


def path_of(host: Host) -> str:
    return HostSetup(FACTS, Files()).answer(wished(host)).files[0].path


def fresh(host: Host) -> bytes:
    text = HostSetup(FACTS, Files()).answer(wished(host)).files[0].text
    assert text is not None
    return text.encode()


# --- the table -----------------------------------------------------------------------------------------------------

# What stands around our part in the file of each host.
AROUND: dict[Host, bytes] = {
    **dict.fromkeys(HOSTS, b'{\r\n\t"a": 1,\r\n\t"b": [ ]\r\n}'),
    "codex": b'model = "o" # mine\r\n[t]\r\nx = 1',
    "agents-md": b"# Rules\r\n\r\nBe kind.",
}


def outdated(host: Host) -> bytes:
    if host == "agents-md":
        return FORMATS[host].fresh("Do as you were told by a former version.\n").encode()
    wish = wished(host, toolsets=("work",))
    text = HostSetup(FACTS, Files()).answer(wish).files[0].text
    assert text is not None
    return text.encode()


def altered(host: Host) -> bytes:
    if host == "agents-md":
        return fresh(host).replace(b"metagit_schedule_next", b"something_else")
    return fresh(host).replace(b"metagit-mcp", b"my-metagit")


def standing(host: Host, state: str) -> bytes | None:
    if state == "no file":
        return None
    if state == "others":
        return AROUND[host]
    return {"current": fresh, "outdated": outdated, "altered": altered}[state](host)


# By state and action: the state after it, whether something is changed, and what is there then.
TABLE: dict[tuple[str, str], tuple[HostState, bool, str]] = {
    ("no file", "show"): ("missing", False, "same"),
    ("no file", "check"): ("missing", False, "same"),
    ("no file", "write"): ("current", True, "fresh"),
    ("no file", "remove"): ("missing", False, "same"),
    ("others", "show"): ("missing", False, "same"),
    ("others", "check"): ("missing", False, "same"),
    ("others", "write"): ("current", True, "added"),
    ("others", "remove"): ("missing", False, "same"),
    ("current", "show"): ("current", False, "same"),
    ("current", "check"): ("current", False, "same"),
    ("current", "write"): ("current", False, "same"),
    ("current", "remove"): ("missing", True, "gone"),
    ("outdated", "show"): ("outdated", False, "same"),
    ("outdated", "check"): ("outdated", False, "same"),
    ("outdated", "write"): ("current", True, "fresh"),
    ("outdated", "remove"): ("missing", True, "gone"),
    ("altered", "show"): ("altered", False, "same"),
    ("altered", "check"): ("altered", False, "same"),
    ("altered", "write"): ("altered", False, "same"),
    ("altered", "remove"): ("altered", False, "same"),
    ("altered", "write --force"): ("current", True, "fresh"),
    ("altered", "remove --force"): ("missing", True, "gone"),
    ("current", "write --force"): ("current", False, "same"),
    ("others", "remove --force"): ("missing", False, "same"),
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("row", TABLE, ids="-".join)
def test_every_host_state_and_action(host: Host, row: tuple[str, str]) -> None:
    before, action = row
    state, changed, what = TABLE[row]
    files, path = Files(), path_of(host)
    raw = standing(host, before)
    if raw is not None:
        files.raw[path] = raw
    word, _, force = action.partition(" ")
    setup = HostSetup(FACTS, files)
    answer = setup.answer(wished(host, cast("HostAction", word), force=bool(force)))
    text = fresh(host).decode() if word == "show" else None
    assert answer.files == (HostFile(path=path, state=state, changed=changed, text=text),)
    after = files.raw.get(path)
    if what == "added":
        assert after is not None
        assert setup.answer(wished(host, "check")).files[0].state == "current"
        assert setup.answer(wished(host, "remove")).files[0] == HostFile(path=path, state="missing", changed=True)
        assert files.raw[path] == raw
    else:
        assert after == {"same": raw, "fresh": fresh(host), "gone": None}[what]


@pytest.mark.parametrize("host", HOSTS)
def test_a_mark_at_the_beginning_stays(host: Host) -> None:
    files, path = Files(), path_of(host)
    files.raw[path] = b"\xef\xbb\xbf" + AROUND[host]
    setup = HostSetup(FACTS, files)
    setup.answer(wished(host, "write"))
    assert files.raw[path].startswith(b"\xef\xbb\xbf")
    setup.answer(wished(host, "remove"))
    assert files.raw[path] == b"\xef\xbb\xbf" + AROUND[host]
    # One that stands alone was there before us.
    files.raw[path] = b"\xef\xbb\xbf" + fresh(host)
    setup.answer(wished(host, "remove"))
    assert files.raw[path] == b"\xef\xbb\xbf"


BROKEN: dict[Host, tuple[bytes, str, int, int]] = {
    "claude-code": (b'{\n  "a": 1,\n}', "has a comma before the end of a list or object", 3, 1),
    "claude-desktop": (b"{ // no\n}", "lacks a key in quotes", 1, 3),
    "cursor": (b"{", "lacks a key in quotes", 1, 2),
    "vscode": (b'{"servers": []}', "has a servers that is no object", 1, 13),
    "codex": (b"a = \n", "is not TOML", 1, 5),
    "agents-md": (b"x\n<!-- END metagit -->", "has a mark of a metagit block without its counterpart", 2, 1),
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("action", get_args(HostAction))
@pytest.mark.parametrize("raw", ["broken", "no text"])
def test_a_file_that_cannot_be_read_is_refused_with_its_place(host: Host, action: HostAction, raw: str) -> None:
    broken, what, line, column = BROKEN[host] if raw == "broken" else (b"a\n\xff", "is not UTF-8", 2, 1)
    files, path = Files(), path_of(host)
    files.raw[path] = broken
    with pytest.raises(HostFileInvalid) as caught:
        HostSetup(FACTS, files).answer(wished(host, action, force=True))
    error = caught.value
    assert error.message == f"{path} {what} at line {line} column {column}."
    assert (error.hint, error.details) == (
        "Mend it there; nothing was changed.",
        {"file": path, "line": line, "column": column},
    )
    assert files.raw == {path: broken}


def test_a_place_that_nobody_knows_is_not_told() -> None:
    files, path = Files(), path_of("codex")
    files.raw[path] = b"a = " + b"[" * 5000
    with pytest.raises(HostFileInvalid) as caught:
        HostSetup(FACTS, files).answer(wished("codex", "check"))
    assert (caught.value.message, caught.value.details) == (f"{path} is nested too deeply.", {"file": path})


def test_an_inline_table_in_the_way_stops_a_write() -> None:
    files, path = Files(), path_of("codex")
    files.raw[path] = b"mcp_servers = { b = {} }"
    setup = HostSetup(FACTS, files)
    assert setup.answer(wished("codex", "check")).files[0].state == "missing"
    with pytest.raises(HostFileInvalid, match=r"in an inline table; write it as \[mcp_servers.NAME\] first"):
        setup.answer(wished("codex", "write"))
    assert files.raw == {path: b"mcp_servers = { b = {} }"}


def test_a_new_file_of_the_project_is_for_all_and_one_at_home_is_not() -> None:
    files = Files()
    setup = HostSetup(FACTS, files)
    for host in ("claude-code", "codex", "claude-desktop"):
        setup.answer(HostWish(host=host, action="write"))
    assert list(files.modes.values()) == [0o644, 0o600, 0o600]


# --- instructions --------------------------------------------------------------------------------------------------

AGENTS, CLAUDE = "/home/ada/shop/AGENTS.md", "/home/ada/shop/CLAUDE.md"


def written(files: Files) -> tuple[tuple[HostFile, ...], tuple[str, ...]]:
    answer = HostSetup(FACTS, files).answer(HostWish(host="agents-md", action="write"))
    return answer.files, answer.warnings


def test_both_files_of_instructions_are_written() -> None:
    files = Files()
    files.raw[CLAUDE] = b"Be kind.\n"
    now = tuple(HostFile(path=path, state="current", changed=True) for path in (AGENTS, CLAUDE))
    assert written(files) == (now, ())
    assert files.raw[CLAUDE] == b"Be kind.\n\n" + files.raw[AGENTS]
    assert in_instructions().encode() in files.raw[AGENTS]


@pytest.mark.parametrize(
    ("agents", "claude", "kept", "said"),
    [
        (b"Be kind.\n", b"@AGENTS.md\n", AGENTS, "CLAUDE.md leads to AGENTS.md, so AGENTS.md alone is looked at."),
        (None, b"See AGENTS.md.\n", AGENTS, "CLAUDE.md leads to AGENTS.md, so AGENTS.md alone is looked at."),
        (b"@CLAUDE.md\n", b"Be kind.\n", CLAUDE, "AGENTS.md leads to CLAUDE.md, so CLAUDE.md alone is looked at."),
        (b"@CLAUDE.md\n", b"@AGENTS.md\n", AGENTS, "CLAUDE.md leads to AGENTS.md, so AGENTS.md alone is looked at."),
    ],
)
def test_a_file_that_leads_to_the_other_is_not_written(
    agents: bytes | None, claude: bytes, kept: str, said: str
) -> None:
    files = Files()
    files.raw.update({path: raw for path, raw in ((AGENTS, agents), (CLAUDE, claude)) if raw is not None})
    before = dict(files.raw)
    assert written(files) == ((HostFile(path=kept, state="current", changed=True),), (said,))
    assert {path: raw for path, raw in files.raw.items() if path != kept} == {
        path: raw for path, raw in before.items() if path != kept
    }


def test_a_block_that_is_there_already_is_looked_after_all_the_same() -> None:
    files = Files()
    files.raw[CLAUDE] = b"@AGENTS.md\n\n" + fresh("agents-md")
    assert [each.path for each in written(files)[0]] == [AGENTS, CLAUDE]


def test_a_link_to_the_other_is_the_other() -> None:
    files = Files(CLAUDE_md=AGENTS)
    assert written(files) == ((HostFile(path=AGENTS, state="current", changed=True),), ("CLAUDE.md is AGENTS.md.",))


def test_one_file_can_be_chosen() -> None:
    files = Files()
    files.raw[CLAUDE] = b"@AGENTS.md\n"
    HostSetup(FACTS, files).answer(HostWish(host="agents-md", action="write", file="CLAUDE.md"))
    assert list(files.raw) == [CLAUDE]
    assert files.raw[CLAUDE].startswith(b"@AGENTS.md\n\n<!-- BEGIN metagit hash:")


def test_nothing_is_written_if_one_of_both_cannot_be_read() -> None:
    files = Files()
    files.raw[CLAUDE] = b"<!-- END metagit -->"
    with pytest.raises(HostFileInvalid):
        written(files)
    assert list(files.raw) == [CLAUDE]


# --- what is said --------------------------------------------------------------------------------------------------

BY_HAND = (
    "The entry metagit was changed by hand and stays as it is: metagit-mcp config codex --write --force replaces it, "
    "metagit-mcp config codex --remove --force takes it out."
)


@pytest.mark.parametrize(
    ("wish", "before", "expected"),
    [
        (
            wished("codex"),
            "no file",
            "metagit-mcp config codex --write puts it there, and leaves all else in the file as it is.",
        ),
        (wished("codex", "write"), "no file", "Start Codex anew."),
        (wished("codex", "check"), "no file", "Write it with the same options: metagit-mcp config codex --write"),
        (wished("codex", "check"), "outdated", "Write it with the same options: metagit-mcp config codex --write"),
        (wished("codex", "check"), "current", ""),
        (wished("codex", "check"), "altered", BY_HAND),
        (wished("codex", "write"), "altered", BY_HAND),
        (wished("codex", "remove"), "altered", BY_HAND),
        (wished("codex", "remove"), "current", "Start Codex anew."),
        (wished("agents-md", "remove"), "current", ""),
        (wished("agents-md", "write"), "no file", ""),
        (
            wished("agents-md", "check"),
            "altered",
            BY_HAND.replace("codex", "agents-md").replace("entry metagit", "block"),
        ),
    ],
)
def test_what_to_do_next_is_said(wish: HostWish, before: str, expected: str) -> None:
    files = Files()
    raw = standing(wish.host, before)
    if raw is not None:
        files.raw[path_of(wish.host)] = raw
    assert HostSetup(FACTS, files).answer(wish).next_step == expected


def test_what_has_to_be_known_is_said() -> None:
    setup = HostSetup(replace(FACTS, workspace=None), Files())
    said = [
        setup.answer(wish).warnings
        for wish in (
            HostWish(host="cursor"),
            HostWish(host="claude-code"),
            HostWish(host="codex", everywhere=False),
            HostWish(host="vscode", url="https://m.example.org"),
            HostWish(host="codex", url="https://m.example.org", action="write"),
            HostWish(host="codex", action="check"),
        )
    ]
    first_turn = (
        "Codex waits a second for its servers and then begins without their tools; with "
        "mcp_optional_startup_grace_ms = 0 at the top of its file it waits until they are there."
    )
    assert said == [
        ("There is no workspace here yet; make one with: metagit-mcp init",),
        (),
        ("Codex reads this file in projects that are trusted.", first_turn),
        ("The host needs METAGIT_TOKEN in its environment.",),
        ("The host needs METAGIT_TOKEN in its environment.",),
        (),
    ]


def test_a_program_that_no_shell_finds_is_told() -> None:
    setup = HostSetup(replace(FACTS, program=("/opt/bin/metagit-mcp",)), Files())
    said = "A shell does not find metagit-mcp, so the file names /opt/bin/metagit-mcp of this machine."
    wishes = (
        HostWish(host="claude-code"),
        HostWish(host="claude-code", action="check"),
        HostWish(host="agents-md"),
        HostWish(host="cursor", url="https://m.example.org"),
    )
    assert [said in setup.answer(wish).warnings for wish in wishes] == [True, False, False, False]


def test_what_is_there_is_taken_out_without_a_workspace() -> None:
    files, path = Files(), path_of("claude-desktop")
    files.raw[path] = fresh("claude-desktop")
    answer = HostSetup(replace(FACTS, workspace=None), files).answer(HostWish(host="claude-desktop", action="remove"))
    assert (answer.files, files.raw) == ((HostFile(path=path, state="missing", changed=True),), {})


def test_a_file_that_leads_to_the_other_is_read_all_the_same() -> None:
    files = Files()
    files.raw[CLAUDE] = b"@AGENTS.md\n<!-- END metagit -->"
    with pytest.raises(HostFileInvalid, match=f"{CLAUDE} has a mark of a metagit block without its counterpart"):
        written(files)


def test_only_who_asks_what_to_paste_is_told_the_command() -> None:
    setup = HostSetup(FACTS, Files())
    said = [setup.answer(HostWish(host=host, action=action)).paste for host in HOSTS for action in ("show", "check")]
    assert [each for each in said if each] == [
        "claude mcp add metagit -- metagit-mcp serve",
        "codex mcp add metagit -- metagit-mcp serve",
    ]
    assert said[1::2] == [None] * len(HOSTS)


def test_a_wish_that_does_not_fit_reads_nothing() -> None:
    with pytest.raises(InvalidInput):
        HostSetup(FACTS, Files()).answer(HostWish(host="claude-desktop", url="https://m.example.org"))
