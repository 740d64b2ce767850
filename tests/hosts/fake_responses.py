"""OpenAI's Responses API as `codex exec` uses it, with replies that a test's script gives.

Must not know: what is asked and answered, nor the package under test. Its client is told of it by `words`.
"""

from __future__ import annotations

import itertools
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.hosts.fake_model import MOST_REQUESTS, Got, Sent, Use, as_json, event_stream, parts, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.hosts.fake_model import Event, Part, Reply

MODEL = "gpt-5-codex"
_USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 15,
}


@dataclass(frozen=True)
class Asked:
    """One request for a response."""

    body: dict[str, Any]

    @property
    def items(self) -> list[dict[str, Any]]:
        """The conversation, oldest first."""
        items: list[dict[str, Any]] = self.body["input"]
        return items

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model may use; those of a namespace after its name and a dot."""
        return [name for tool in self.body.get("tools", ()) for name in _names(tool)]

    @property
    def said(self) -> str:
        """All text that the model is told, without the results of tools."""
        return "\n".join(_text(item["content"]) for item in self.items if item["type"] == "message")

    @property
    def results(self) -> list[Got]:
        """The results of tools in the whole conversation, oldest first."""
        return [Got(_output(item["output"])) for item in self.items if item["type"] == "function_call_output"]

    @property
    def used(self) -> list[Use]:
        """The tools that the model has used in this conversation, oldest first."""
        calls = [item for item in self.items if item["type"] == "function_call"]
        names = [".".join(filter(None, (call.get("namespace"), call["name"]))) for call in calls]
        return [Use(name, json.loads(call["arguments"])) for name, call in zip(names, calls, strict=True)]


@dataclass
class FakeResponses:
    """What a service was asked, and where it is."""

    address: str = ""
    asked: list[Asked] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def words(self) -> list[str]:
        """The arguments with which a client uses it and nothing else."""
        provider = {"name": "fake", "base_url": f"{self.address}/v1", "wire_api": "responses"}
        settings = {"model": MODEL, "model_provider": "fake"}
        settings |= {f"model_providers.fake.{name}": value for name, value in provider.items()}
        tries = {f"model_providers.fake.{name}": 0 for name in ("request_max_retries", "stream_max_retries")}
        return [word for name, value in {**settings, **tries}.items() for word in ("-c", f"{name}={json.dumps(value)}")]


@contextmanager
def fake_responses(script: Callable[[Asked], Reply]) -> Iterator[FakeResponses]:
    """Serve until the block ends, which fails with what the script failed with.

    Args:
        script: the reply to a request: a text, a `Use` of a tool, or several of both. A tool of a namespace is named
            as `Asked.tools` shows it.
    """
    model = FakeResponses()
    ids = itertools.count(1)

    def answer(method: str, path: str, body: dict[str, Any]) -> Sent:
        if path != "/v1/responses":
            model.others.append(f"{method} {path}")
            return as_json({"data": [], "models": [], "object": "list"})
        assert len(model.asked) < MOST_REQUESTS, "the client does not come to an end"
        asked = Asked(body)
        model.asked.append(asked)
        return Sent(event_stream(list(_events(next(ids), parts(script(asked))))), "text/event-stream")

    with serving(answer) as model.address:
        yield model


def _events(number: int, reply: Sequence[Part]) -> Iterator[Event]:
    response = {"id": f"resp_{number:06}", "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    items = [_item(f"{number:06}_{place}", part) for place, part in enumerate(reply)]
    for index, item in enumerate(items):
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress"}}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    ended = {**response, "status": "completed", "output": items, "usage": _USAGE}
    yield {"type": "response.completed", "response": ended}


def _item(name: str, part: Part) -> dict[str, Any]:
    if isinstance(part, Use):
        space, _, tool = part.name.rpartition(".")
        call = {"type": "function_call", "id": f"fc_{name}", "call_id": f"call_{name}", "status": "completed"}
        named = {"name": tool, "namespace": space} if space else {"name": tool}
        return {**call, **named, "arguments": json.dumps(part.arguments)}
    content = [{"type": "output_text", "text": part, "annotations": []}]
    return {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": "completed", "content": content}


def _names(tool: dict[str, Any]) -> list[str]:
    if tool["type"] == "namespace":
        return [f"{tool['name']}.{name}" for each in tool["tools"] for name in _names(each)]
    return [tool.get("name", tool["type"])]


def _output(output: str | list[dict[str, Any]]) -> str:
    return output if isinstance(output, str) else _text(output)


def _text(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if "text" in block)
