"""The scripts of docs/how-to/drive-it-from-a-shell.md, run by a shell against the real program."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from tests.recipes.blocks import written
from tests.recipes.frameworks import surroundings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.recipes.shop import Shop

PAGE: Final = "drive-it-from-a-shell"
_END_S: Final = 100
# Says what it was started with, and fails at the nodes of FAILS.
_AGENT: Final = """#!/bin/sh
printf '%s\\n' "$*" >> "$WORKED"
case " ${FAILS:-} " in *" $2 "*) exit 3 ;; esac
"""


@pytest.fixture(autouse=True)
def your_agent(shop: Shop) -> None:
    """What does the work, first on the path."""
    programs = shop.root.parent / "bin"
    programs.mkdir()
    (programs / "your-agent").write_text(_AGENT, encoding="utf-8")
    (programs / "your-agent").chmod(0o755)
    for name in ("work-loop.sh", "fan-out.sh"):
        written(PAGE, name, shop.root)


def _environment(shop: Shop, **variables: str) -> dict[str, str]:
    known = surroundings(shop.root.parent, WORKED=str(_worked(shop)), **variables)
    return {**known, "PATH": f"{shop.root.parent / 'bin'}:{known['PATH']}"}


def _worked(shop: Shop) -> Path:
    return shop.root.parent / "worked"


def _run(shop: Shop, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", *words],
        cwd=shop.root,
        env=_environment(shop, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_END_S,
        check=False,
    )


def test_a_loop_works_until_everything_is_finished(shop: Shop) -> None:
    done = _run(shop, "work-loop.sh", "ada", "0")
    assert (done.returncode, done.stderr) == (
        0,
        "Everything is finished. Plan more with metagit-mcp task plan, if there is more to do.\n",
    )
    assert _worked(shop).read_text().splitlines() == ["shop search", "shop cart", "shop till"]
    assert shop.statuses() == {"search": "completed", "cart": "completed", "till": "completed"}
    assert shop.history() == [
        (what, name, "ada") for name in ("search", "cart", "till") for what in ("started", "completed")
    ]


def test_what_fails_for_good_is_told_to_a_person(shop: Shop) -> None:
    shop.metagit("schedule", "policy", "set", "--operator", "eve", "--patch", '{"retries": {"max_attempts": 1}}')
    done = _run(shop, "work-loop.sh", "ada", "0", FAILS="search")
    assert (done.returncode, _worked(shop).read_text().splitlines()) == (11, ["shop search", "shop cart"])
    why, answer = done.stderr.splitlines()
    assert why.startswith("Nothing can be started now. 1 blocked: a person must unblock them; 1 not_ready: ")
    assert json.loads(answer)["decisions"] == []
    assert [body["note"] for body in shop.bodies("work_parked")] == ["your-agent ended with 3"]


def test_a_loop_that_starts_again_goes_on_with_what_it_held(shop: Shop) -> None:
    lease = shop.metagit("schedule", "next", "--claim", "--agent-id", "ada")["decisions"][0]["lease"]
    assert lease["node_id"] == "search"
    assert _run(shop, "work-loop.sh", "ada", "0").returncode == 0
    assert shop.history()[:2] == [("started", "search", "ada"), ("completed", "search", "ada")]


def test_an_error_ends_the_loop_with_its_record(shop: Shop) -> None:
    (shop.root / ".metagit/schedule").mkdir(exist_ok=True)
    (shop.root / ".metagit/schedule/policy.json").write_text("{")
    done = _run(shop, "work-loop.sh", "ada", "0")
    assert (done.returncode, json.loads(done.stderr)["code"]) == (5, "POLICY_INVALID")


def test_a_loop_that_may_not_wait_ends_where_another_agent_has_what_is_left(shop: Shop) -> None:
    shop.metagit("schedule", "next", "--claim", "--agent-id", "eve")
    done = _run(shop, "work-loop.sh", "ada", "0")
    assert (done.returncode, done.stderr) == (
        0,
        "Nothing can be started now. 1 leased: agents work on them; 1 not_ready: they wait for other nodes.\n",
    )
    assert _worked(shop).read_text().splitlines() == ["shop cart"]
    assert shop.statuses() == {"search": "running", "cart": "completed", "till": "pending"}


def test_as_many_agents_start_as_there_is_work_for(shop: Shop) -> None:
    done = _run(shop, "fan-out.sh", "5")
    assert done.returncode == 0
    assert sorted(_worked(shop).read_text().splitlines()[:2]) == ["shop cart", "shop search"]
    assert {agent for _, _, agent in shop.history()} <= {"crew-1", "crew-2"}
    started = [name for what, name, _ in shop.history() if what == "started"]
    assert sorted(started) == sorted(set(started))
    assert shop.statuses()["search"] == shop.statuses()["cart"] == "completed"
