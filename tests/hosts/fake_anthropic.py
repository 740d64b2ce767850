"""Anthropic's Messages API as Claude Code and the Claude Agent SDK use it, with replies that a test's script gives.

Must not know: what is asked and answered, nor the package under test. Its clients are told of it by `environment`.
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

MODEL = "claude-opus-4-8"
_USAGE = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


@dataclass(frozen=True)
class Asked:
    """One request for a message."""

    body: dict[str, Any]

    @property
    def system(self) -> str:
        """What the model is told before the conversation."""
        return _text(self.body.get("system", ""))

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation, oldest first."""
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model may use."""
        return [tool["name"] for tool in self.body.get("tools", ())]

    @property
    def said(self) -> str:
        """All text of the conversation, without the results of tools."""
        return "\n".join(_text(message["content"]) for message in self.messages)

    @property
    def last(self) -> str:
        """The text of the last message."""
        return _text(self.messages[-1]["content"])

    @property
    def results(self) -> list[Got]:
        """The results of tools in the whole conversation, oldest first."""
        blocks = [block for message in self.messages for block in _blocks(message["content"])]
        return [
            Got(_text(block.get("content", "")), bool(block.get("is_error")))
            for block in blocks
            if block["type"] == "tool_result"
        ]

    @property
    def used(self) -> list[Use]:
        """The tools that the model has used in this conversation, oldest first."""
        blocks = [block for message in self.messages for block in _blocks(message["content"])]
        return [Use(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]


@dataclass
class FakeAnthropic:
    """What a service was asked, and where it is."""

    address: str = ""
    asked: list[Asked] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """What a client needs to use it and nothing else."""
        return {
            "ANTHROPIC_BASE_URL": self.address,
            "ANTHROPIC_API_KEY": "dummy",
            "ANTHROPIC_MODEL": MODEL,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        }


@contextmanager
def fake_anthropic(script: Callable[[Asked], Reply]) -> Iterator[FakeAnthropic]:
    """Serve until the block ends, which fails with what the script failed with.

    Args:
        script: the reply to a request: a text, a `Use` of a tool, or several of both.
    """
    model = FakeAnthropic()
    ids = itertools.count(1)

    def answer(method: str, path: str, body: dict[str, Any]) -> Sent:
        if path.endswith("/v1/messages/count_tokens"):
            return as_json({"input_tokens": 10})
        if not path.endswith("/v1/messages"):
            model.others.append(f"{method} {path}")
            return as_json({"data": [], "has_more": False})
        assert len(model.asked) < MOST_REQUESTS, "the client does not come to an end"
        asked = Asked(body)
        model.asked.append(asked)
        message = _message(next(ids), parts(script(asked)), body["model"])
        return (
            Sent(event_stream(list(_events(message))), "text/event-stream") if body.get("stream") else as_json(message)
        )

    with serving(answer) as model.address:
        yield model


def _message(number: int, reply: Sequence[Part], model: str) -> dict[str, Any]:
    content = [_block(f"toolu_{number:06}_{place}", part) for place, part in enumerate(reply)]
    reason = "tool_use" if any(isinstance(part, Use) for part in reply) else "end_turn"
    return {
        "id": f"msg_{number:06}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _block(name: str, part: Part) -> dict[str, Any]:
    if isinstance(part, Use):
        return {"type": "tool_use", "id": name, "name": part.name, "input": part.arguments}
    return {"type": "text", "text": part}


def _events(message: dict[str, Any]) -> Iterator[Event]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block)
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": _USAGE}
    yield {"type": "message_stop"}


def _block_events(index: int, block: dict[str, Any]) -> Iterator[Event]:
    if block["type"] == "text":
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(content: str | list[dict[str, Any]]) -> str:
    return "\n".join(block["text"] for block in _blocks(content) if block["type"] == "text")
