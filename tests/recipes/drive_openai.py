"""Runs the program of the page about the OpenAI Agents SDK with a model of its own: `drive_openai.py FILE HOW WAIT_S`.

Started by the Python of `.peer/frameworks/openai-agents-sdk`, which knows no package of ours. HOW is what the model
does with a node: `works`, or `hangs`; `lossy`: it works but forgets to report the last node, and the first answer to
each call is lost on the way.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from loading import loaded  # type: ignore[import-not-found]  # it lies beside this script
from mcp import ClientSession

MOST_CALLS = 20
# Who is quick would do it all: both agents have a node before either reports.
_both = asyncio.Barrier(2)


def given(call: ModelCall) -> dict[str, Any]:
    """What the program asks the model to do."""
    first = call.input if isinstance(call.input, str) else call.input[0]["content"]
    asked: dict[str, Any] = json.loads(first)
    return asked


async def works(call: ModelCall) -> list[Any]:
    """Report the node, then say so; the agent id in the call is wrong, as models are."""
    if not isinstance(call.input, str) and call.input[-1].get("type") == "function_call_output":
        return [assistant_message("reported")]
    [tool] = call.tools
    lease = given(call)["lease"]
    assert given(call)["task"]["graph_id"] == lease["graph_id"]
    if lease["node_id"] != "till":
        await _both.wait()
    result = {"summary": f"{lease['node_id']} stands"}
    arguments = {"lease_id": lease["lease_id"], "state": "completed", "result": result, "agent_id": "somebody"}
    return [function_call(tool.name, arguments, call_id=lease["lease_id"])]


async def forgets(call: ModelCall) -> list[Any]:
    """Say something of the last node, and report nothing."""
    if given(call)["lease"]["node_id"] == "till":
        return [assistant_message("Looks good to me.")]
    return await works(call)


async def hangs(_: ModelCall) -> list[Any]:
    """Never answer."""
    await asyncio.Event().wait()
    return []


def lose_first_answers() -> set[str]:
    """Lose the first answer to each repeatable call: the server has done it, and the client hears of nothing."""
    really = ClientSession.call_tool
    lost: set[str] = set()

    async def call_tool(self: Any, name: str, arguments: dict[str, Any], **more: Any) -> Any:  # noqa: ANN401 - as there
        answer = await really(self, name, arguments, **more)
        action_id = arguments.get("action_id")
        if action_id and action_id not in lost:
            lost.add(action_id)
            raise ConnectionError
        return answer

    ClientSession.call_tool = call_tool  # type: ignore[method-assign,assignment]  # in a process of its own
    return lost


def main(path: str, how: str, wait_s: str) -> None:
    """Run the program."""
    fleet = loaded(path)
    fleet.WAIT_S = int(wait_s)
    lost = lose_first_answers() if how == "lossy" else set()
    step = ModelStep(responder={"lossy": forgets, "hangs": hangs}.get(how, works))
    asyncio.run(fleet.main(ScriptedModel([step] * MOST_CALLS)))
    sys.stdout.write(f"{len(lost)} answers lost\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
