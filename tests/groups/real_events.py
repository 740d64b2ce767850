"""Real Events of Groups, and what reading them gives: a fact or a refusal."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from metagit_mcp.errors import SchemaMismatch
from metagit_mcp.wire.group_events import fact_of, read_group_event

Json = dict[str, Any]
_FOLDER = Path(__file__).parent / "data"
LINES = (_FOLDER / "cli_group.jsonl").read_bytes().splitlines()
SAMPLES: dict[str, Json] = {
    kind: each["event"]
    for kind, each in json.loads((_FOLDER / "samples_by_kind.json").read_text(encoding="utf-8")).items()
}
OF_A_GROUP = {kind: event for kind, event in SAMPLES.items() if event["groupId"] is not None}
REAL: list[Json] = [*map(json.loads, LINES), *OF_A_GROUP.values()]


def sample(kind: str, **payload: object) -> Json:
    """A real Event with some fields of its payload replaced."""
    event = copy.deepcopy(SAMPLES[kind])
    event["payload"].update(payload)
    return event


def told(event: Json) -> Any:  # noqa: ANN401 - whatever fact it is
    return fact_of(read_group_event(event))


def refusal(event: Any) -> tuple[object, object, object]:  # noqa: ANN401 - also what is no Event at all
    """The kind, field and rule of a refusal."""
    with pytest.raises(SchemaMismatch) as refused:
        fact_of(read_group_event(event))
    said = refused.value.details
    assert f"{said['field']}: {said['rule']}." in refused.value.message
    return said["kind"], said["field"], said["rule"]
