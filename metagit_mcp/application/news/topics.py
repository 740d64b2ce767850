"""The things that a host can read, and who may know that one changed. Knows no use case and loads no ledger."""

from typing import Literal

from metagit_mcp.application.caller import Caller
from metagit_mcp.domain.value import value

Kind = Literal["policy", "status", "decisions", "graph", "group", "outbox", "schema"]
_OF_ONE_GROUP = frozenset({"graph", "group", "outbox"})


@value
class Topic:
    """One thing that can be read; `name` is that of its graph, Group or schema. Schemas never change."""

    kind: Kind
    name: str = ""


def may_hear(caller: Caller | None, topic: Topic) -> bool:
    """Say whether a caller may know that something changed: whoever may read it. None: the user of the machine."""
    if caller is None or caller.may("look") or topic.kind == "schema":
        return True
    own = topic.kind in _OF_ONE_GROUP and topic.name == caller.group_id
    return own and caller.may("look_at_group")
