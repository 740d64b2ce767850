"""Runs the program of the page about LangGraph with a chat model of its own: `drive_langgraph.py FILE HOW WAIT_S`.

Started by the Python of `.peer/frameworks/langgraph`, which knows no package of ours. HOW: the model `works`, or
`hangs`; `lossy`: it works, and the first answer to each call is lost on the way; `resumes`: a run is broken off while
the model thinks, and goes on from its checkpoint.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from loading import loaded  # type: ignore[import-not-found]  # it lies beside this script


class Chat(GenericFakeChatModel):  # type: ignore[misc]  # its venv is another one
    """Answers with the node that it was asked to work on, or never."""

    how: str
    # Who is quick would do it all: both agents have a node before either reports, where two are there.
    both: Any
    asked: Any

    async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:  # noqa: ANN401 - as there
        self.asked.set()
        if self.how in {"hangs", "resumes"}:
            await asyncio.Event().wait()
        told = json.loads(messages[-1].text)
        node_id = told["node"]
        assert told["title"].endswith(" things")
        if node_id != "till":
            await self.both.wait()
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"{node_id} stands"))])


class Lossy:
    """Loses the first answer to each repeatable call: the server has done it, and the client hears of nothing."""

    def __init__(self) -> None:
        self.lost: set[str] = set()

    async def __call__(self, request: Any, handler: Any) -> Any:  # noqa: ANN401 - as there
        answer = await handler(request)
        action_id = request.args.get("action_id")
        if action_id and action_id not in self.lost:
            self.lost.add(action_id)
            raise ConnectionError
        return answer


async def resumed(crew: Any, model: Chat) -> None:  # noqa: ANN401 - the program
    """Break a run off at work, and let the same thread go on."""
    tools = {tool.name: tool for tool in await crew.connection().get_tools()}
    graph = crew.build(tools, model, InMemorySaver())
    thread = {"configurable": {"thread_id": "crew/ada:1", "agent_id": "crew/ada"}}
    run = asyncio.create_task(graph.ainvoke({"summary": ""}, thread))
    await model.asked.wait()
    run.cancel()
    await asyncio.wait([run])
    model.how = "works"
    await graph.ainvoke(None, thread)


def main(path: str, how: str, wait_s: str) -> None:
    """Run the program."""
    crew = loaded(path)
    crew.WAIT_S = int(wait_s)
    both = asyncio.Barrier(2 if how == "lossy" else 1)
    model = Chat(messages=iter(()), how=how, both=both, asked=asyncio.Event())
    if how == "resumes":
        asyncio.run(resumed(crew, model))
        return
    lossy = Lossy()
    asyncio.run(crew.main(model, *([lossy] if how == "lossy" else [])))
    sys.stdout.write(f"{len(lossy.lost)} answers lost\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
