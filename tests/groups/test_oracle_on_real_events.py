"""The oracle follows real Events, and two readings of the state table agree: the oracle's and an authority's."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.groups.oracle import OF_A_WORK_ITEM, OF_THE_GROUP, follow, group_after, instant, new_group
from tests.groups.streams import SeededLots, Stream, log_of, streams

Json = dict[str, Any]
DATA = Path(__file__).parent / "data"
REAL = [json.loads(line) for line in (DATA / "cli_group.jsonl").read_text(encoding="utf-8").splitlines()]
SAMPLES = json.loads((DATA / "samples_by_kind.json").read_text(encoding="utf-8"))
SEEDS = range(120)

FREE = ("open", "offered", "queued", "active", "blocked", "failed")
UNFINISHED = ("open", "offered", "queued", "active", "blocked", "submitted")
ROWS = {
    "authorize",
    *(f"add dependency from {state}" for state in ("open", "offered", "queued", "blocked")),
    *(f"offer from {state}" for state in FREE),
    "an offer runs out",
    "accept from offered",
    "provisional becomes active",
    "approve from queued",
    "start from queued",
    *(f"{command} from active" for command in ("renew", "checkpoint", "block", "submit", "record usage")),
    "unblock to queued",
    "unblock to open",
    "accept result from submitted",
    *(f"{command} from {state}" for command in ("fail", "cancel") for state in UNFINISHED),
    *(f"{kind} from {state}" for kind in ("mission.cancelled", "mission.terminated") for state in UNFINISHED),
    "open session",
    *(f"create child from {state}" for state in UNFINISHED[:5]),
    *(f"child {outcome} from blocked" for outcome in ("approved", "blocks", "fails")),
    "a child fails whose parent item has an owner again",
    "a lease runs out",
    *("join", "leave", "replace coordinator", "noise", "archive"),
}
# Counted by what they lead to.
MORE = {"unblock from blocked", "cancel mission", "terminate mission"}


def differences(stream: Stream) -> list[tuple[int, str, Json, Json]]:
    """Each Event after which the oracle and the authority do not say the same."""
    group, found = new_group(), []
    for event, said in zip(stream.events, stream.said, strict=True):
        follow(group, event)
        if group != said:
            found.append((event["sequence"], event["kind"], group, said))
    return found


def test_the_real_log_ends_with_every_work_item_verified() -> None:
    group = group_after(REAL)
    assert {name: (item["state"], item["epoch"]) for name, item in group["items"].items()} == {
        "cli:implementation": ("verified", 3),
        "cli:review": ("verified", 1),
        "cli:urgent-review": ("verified", 1),
    }
    assert (group["cursor"], group["ended"], group["archived"]) == (36, [], True)
    assert {seat["status"] for seat in group["members"].values()} == {"active"}


def test_a_late_offer_fences_the_owner_of_the_real_log() -> None:
    before, after = (group_after(REAL[:count])["items"]["cli:implementation"] for count in (9, 10))
    assert (before["state"], before["epoch"], before["owner"]) == ("active", 1, "agent://acme/coder")
    assert (after["state"], after["epoch"], after["owner"], after["lease_id"]) == ("offered", 2, None, None)
    assert after["offer"] == (["agent://acme/coder"], instant("2026-07-15T08:10:06Z"))


def test_a_replaced_session_of_the_real_log_puts_its_work_back() -> None:
    before, after = (group_after(REAL[:count])["items"]["cli:review"] for count in (22, 23))
    assert (before["state"], after["state"], after["lease_id"]) == ("active", "queued", None)
    assert (before["epoch"], before["owner"], before["until"]) == (after["epoch"], after["owner"], after["until"])


def test_the_oracle_knows_every_sampled_kind_that_concerns_work() -> None:
    known = {*OF_THE_GROUP, *OF_A_WORK_ITEM}
    unknown = {kind for kind in SAMPLES if kind.removeprefix("ext.missionweaveprotocol.core.") not in known}
    assert {kind for kind in unknown if kind.startswith(("work.", "ext.missionweaveprotocol.core."))} <= {
        "work.proposed"
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_the_oracle_says_what_the_authority_says(seed: int) -> None:
    assert differences(log_of(SeededLots(seed), least=60)) == []


@given(streams())
def test_the_oracle_says_what_any_authority_says(stream: Stream) -> None:
    assert differences(stream) == []
    assert [event["sequence"] for event in stream.events] == list(range(1, len(stream.events) + 1))


def test_every_row_of_the_state_table_is_drawn() -> None:
    rows: Counter[str] = Counter()
    for seed in SEEDS:
        rows.update(log_of(SeededLots(seed), least=60).rows)
    assert {row for row, count in rows.items() if count} - MORE == ROWS
