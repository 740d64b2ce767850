"""Whoever subscribes hears of what it may read, in both eras, and of nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest

from tests.interfaces.http.calling import data_lines, legacy, legacy_session
from tests.interfaces.http.people import OWN, ROLES
from tests.interfaces.http.streams import Stream
from tests.interfaces.http.who_may import RESOURCES, UPDATE
from tests.scenarios.planted import FILED, WORD

if TYPE_CHECKING:
    from tests.interfaces.http.people import People

# In the order of `RESOURCES`.
_URIS: Final = (
    *("metagit://policy", "metagit://status", "metagit://decisions"),
    *(f"metagit://graphs/{OWN}", f"metagit://graphs/{FILED}"),
    *("metagit://groups/group%3Acli", "metagit://groups/group%3Acanary"),
    *("metagit://groups/group%3Acli/outbox", "metagit://groups/group%3Acanary/outbox", "metagit://schemas/policy"),
)


@pytest.mark.parametrize(("role", "place"), [(role, place) for place, role in enumerate(ROLES)])
def test_what_may_be_read_is_subscribed_to_and_nothing_else(people: People, role: str, place: int) -> None:
    with Stream.listening(people[role], *_URIS, "metagit://graphs/nobodys", "metagit://nothing") as stream:
        told = next(data_lines(stream.until("acknowledged")))
    granted = json.loads(told)["params"]["notifications"]["resourceSubscriptions"]
    readable = {uri for uri, (_, _, marks) in zip(_URIS, RESOURCES, strict=True) if marks[place] == "+"}
    # Whoever sees everything may wait for what is not there yet.
    seen = {"metagit://graphs/nobodys"} if role in {"viewer", "agent", "operator"} else set()
    assert set(granted) == readable | seen


def test_a_session_of_the_older_protocol_hears_of_its_own_group_alone(people: People) -> None:
    caller, operator = people["coordinator"], people["operator"]
    session = legacy_session(caller)
    for graph_id in (FILED, OWN, "nobodys"):
        answer = legacy(caller, "resources/subscribe", {"uri": f"metagit://graphs/{graph_id}"}, session=session)
        assert json.loads(next(data_lines(answer.body.decode())))["result"] == {}
    standing = caller.with_headers(Accept="text/event-stream", Mcp_Session_Id=session or "")
    with Stream(standing, "GET /mcp") as stream:
        stream.until("200 OK")
        assert operator.tool(UPDATE, node_id=f"{WORD}-wide", graph_id=FILED, priority=-9).code == "ok"
        assert operator.tool(UPDATE, node_id="free", graph_id=OWN, priority=9).code == "ok"
        told = stream.until(f"metagit://graphs/{OWN}")
    assert FILED not in told
