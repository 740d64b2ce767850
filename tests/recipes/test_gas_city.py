"""The commands of docs/how-to/gas-city.md, run as Gas City runs them: `sh -c` in the city's folder, with its variables.

What a city makes of the output is written down here: a number, or JSON of which an empty list is no work; any exit code
but 0 is an error. No city runs.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.recipes.blocks import program, written
from tests.recipes.frameworks import surroundings

if TYPE_CHECKING:
    from tests.recipes.shop import Shop

PAGE: Final = "gas-city"
# What a city allows its two commands.
_WITHIN_S: Final = {"work_query": 60, "scale_check": 30}


@pytest.fixture(autouse=True)
def city(shop: Shop) -> None:
    """The city's folder, which is the workspace."""
    (shop.root / "scripts").mkdir()
    written(PAGE, "metagit-work.sh", shop.root / "scripts")


def _asked(shop: Shop, key: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the agent's configuration."""
    agent: dict[str, Any] = tomllib.loads(program(PAGE, "agents/worker/agent.toml"))
    command = agent[key].replace("{{.CityRoot}}", str(shop.root))
    assert "{{" not in command
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=shop.root.parent,
        env=surroundings(shop.root.parent, GC_AGENT="worker", **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_WITHIN_S[key],
        check=False,
    )


def _wanted(shop: Shop) -> int:
    """How many sessions a city starts."""
    done = _asked(shop, "scale_check")
    assert (done.returncode, done.stderr) == (0, "")
    return int(done.stdout.strip())


def _work(shop: Shop, session: str = "") -> list[dict[str, Any]]:
    """What a session of this name is to do; without one, what the controller sees."""
    own = {"GC_SESSION_ID": f"gc-{session}", "GC_SESSION_NAME": session} if session else {}
    done = _asked(shop, "work_query", **own)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_a_city_starts_as_many_sessions_as_there_are_nodes(shop: Shop) -> None:
    assert _wanted(shop) == 2
    assert [each["id"] for each in _work(shop)] == ["search", "cart"]
    # The controller looked, and nothing is taken or logged.
    assert shop.history() == []
    assert not (shop.root / ".metagit/schedule/decisions.jsonl").exists()


def test_sessions_get_different_nodes_and_keep_them(shop: Shop) -> None:
    (one,), (other,) = _work(shop, "worker-1"), _work(shop, "worker-2")
    assert (one["id"], other["id"], one["graph_id"]) == ("search", "cart", "shop")
    assert (_work(shop, "worker-1"), _work(shop, "worker-2")) == ([one], [other])
    assert (_wanted(shop), _work(shop), _work(shop, "worker-3")) == (0, [], [])
    shop.metagit("work", "report", one["lease_id"], "--state", "completed")
    shop.metagit("work", "report", other["lease_id"], "--state", "completed")
    assert (_wanted(shop), [each["id"] for each in _work(shop, "worker-2")]) == (1, ["till"])


def test_a_paused_node_says_where_to_go_on(shop: Shop) -> None:
    (given,) = _work(shop, "worker-1")
    point = ("--state", "paused", "--checkpoint", '{"checkpoint_id": "half"}')
    shop.metagit("work", "report", given["lease_id"], *point)
    (again,) = _work(shop, "worker-1")
    assert (again["id"], again["resume_from"]) == ("search", "half")


def test_that_only_a_person_can_help_is_no_work_and_no_error(shop: Shop) -> None:
    shop.metagit("pause", "--operator", "eve", "--reason", "freeze")
    assert (_wanted(shop), _work(shop), _work(shop, "worker-1")) == (0, [], [])
    assert "paused" in _asked(shop, "work_query", GC_SESSION_ID="gc-1").stderr


def test_an_error_is_one_for_the_city_too(shop: Shop) -> None:
    (shop.root / ".metagit/schedule").mkdir(exist_ok=True)
    (shop.root / ".metagit/schedule/policy.json").write_text("{")
    done = _asked(shop, "work_query", GC_SESSION_ID="gc-1", GC_SESSION_NAME="worker-1")
    assert (done.returncode, done.stdout, json.loads(done.stderr)["code"]) == (5, "", "POLICY_INVALID")
    assert _asked(shop, "scale_check").returncode == 5
