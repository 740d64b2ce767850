"""The published JSON Schemas, generated from the code. Knows no tool and no file.

Each file is the full schema of one type (draft 2020-12); what the tools list is the portable subset of it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from metagit_mcp.domain.decision import ScheduleDecision, SchedulerEvent
from metagit_mcp.domain.policy import SchedulePolicy
from metagit_mcp.domain.tasks import TaskGraph
from metagit_mcp.wire import estimate_answers, group_answers, group_requests, requests, responses, status_answers
from metagit_mcp.wire.codec import Json, adapter
from metagit_mcp.wire.host_files import hosts

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
SUFFIX: Final = ".schema.json"
# What is asked over HTTP, and answered; it holds the schemas of that itself.
OPENAPI: Final = "openapi.json"
# name of the file → (type, whether it describes what is read or what is written)
_TYPES: Final[Mapping[str, tuple[type[Any], str]]] = {
    "policy": (SchedulePolicy, "validation"),
    "task_graph": (TaskGraph, "validation"),
    "decision": (ScheduleDecision, "serialization"),
    "event": (SchedulerEvent, "serialization"),
    "status": (status_answers.StatusAnswer, "serialization"),
    "metagit_schedule_next.input": (requests.NextRequest, "validation"),
    "metagit_schedule_next.output": (responses.NextAnswer, "serialization"),
    "metagit_schedule_status.input": (requests.StatusRequest, "validation"),
    "metagit_schedule_status.output": (status_answers.StatusAnswer, "serialization"),
    "metagit_schedule_policy.input": (requests.PolicyRequest, "validation"),
    "metagit_schedule_policy.output": (responses.PolicyAnswer, "serialization"),
    "metagit_work_start.input": (requests.WorkStartRequest, "validation"),
    "metagit_work_start.output": (responses.WorkStartAnswer, "serialization"),
    "metagit_work_report.input": (requests.WorkReportRequest, "validation"),
    "metagit_work_report.output": (responses.WorkReportAnswer, "serialization"),
    "metagit_task_plan.input": (requests.TaskPlanRequest, "validation"),
    "metagit_task_plan.output": (responses.TaskPlanAnswer, "serialization"),
    "metagit_task_update.input": (requests.TaskUpdateRequest, "validation"),
    "metagit_task_update.output": (responses.TaskUpdateAnswer, "serialization"),
    "metagit_group_deliver.input": (group_requests.DeliverRequest, "validation"),
    "metagit_group_deliver.output": (group_answers.DeliverAnswer, "serialization"),
    "metagit_group_estimate.input": (estimate_answers.EstimateRequest, "validation"),
    "metagit_group_estimate.output": (estimate_answers.EstimateAnswer, "serialization"),
    "group": (group_answers.GroupAnswer, "serialization"),
    "group_outbox": (group_answers.OutboxAnswer, "serialization"),
    "config": (hosts.HostAnswer, "serialization"),
}


LEDGER_EVENT: Final = "ledger_event"
# Theirs is a module that only `simulate` and this need.
SIMULATION: Final = ("workload", "simulation")
# And one that only the board and this need.
BOARD: Final = ("board", "graph_picture")
# And one that only `import` and this need.
IMPORT: Final = "import"


def schema_names() -> tuple[str, ...]:
    """Return the names of all published schemas."""
    return (*_TYPES, LEDGER_EVENT, *SIMULATION, *BOARD, IMPORT)


def schema_of(name: str) -> Json:
    """Return one published schema."""
    if name == LEDGER_EVENT:
        return {"$schema": _DRAFT, "$id": f"metagit://schemas/{name}", **_any_event()}
    shape, mode = _shape(name)
    side: Any = mode
    body = adapter(shape).json_schema(mode=side)
    if name in {"policy", "workload"}:
        body["properties"]["$schema"] = {"type": "string", "description": "Where this schema is published."}
    return {"$schema": _DRAFT, "$id": f"metagit://schemas/{name}", **body}


def _shape(name: str) -> tuple[type[Any], str]:
    """Return the type behind a name; every command loads this module, and hardly one asks for these."""
    if name in SIMULATION:
        from metagit_mcp.wire.simulation import SHAPES  # noqa: PLC0415 - as said

        return SHAPES[name]
    if name in BOARD:
        from metagit_mcp.wire.board_answers import BoardAnswer, GraphPicture  # noqa: PLC0415 - as said

        return (BoardAnswer if name == "board" else GraphPicture), "serialization"
    if name == IMPORT:
        from metagit_mcp.wire.lists.import_answers import ImportAnswer  # noqa: PLC0415 - as said

        return ImportAnswer, "serialization"
    return _TYPES[name]


def _any_event() -> Json:
    """Return the schema of the JSON of any event of the ledger, one arm for each kind."""
    from metagit_mcp.domain.events import EVENT_KINDS  # noqa: PLC0415 - every command loads this module, hardly one asks

    arms: list[Json] = []
    shared: Json = {}
    for kind, event in EVENT_KINDS.items():
        arm = adapter(event).json_schema(mode="serialization")
        shared |= arm.pop("$defs", {})
        arms.append({**arm, "title": kind})
    return {"description": "One event of the ledger; its kind decides which.", "anyOf": arms, "$defs": shared}


def schema_files() -> dict[str, str]:
    """Return every published schema, and the document of the HTTP interface, as the text of its file, by file name."""
    from metagit_mcp.wire.http.openapi import openapi_document  # noqa: PLC0415 - as said

    files = {name + SUFFIX: schema_of(name) for name in schema_names()}
    files[OPENAPI] = openapi_document()
    return {name: json.dumps(each, indent=2, sort_keys=True, ensure_ascii=False) + "\n" for name, each in files.items()}
