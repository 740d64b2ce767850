"""The key under which one logical operation of one ownership acts on the outside world (work.md §4).

It knows no operation. The key is no secret: whoever repeats an operation under the same ownership gets the same one,
so that a service that was asked before can tell.
"""

import hashlib
from collections.abc import Mapping
from typing import Final

_SHORT: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_FIRST_PLAIN: Final = 0x20


def mission_id(workspace_id: str, graph_id: str) -> str:
    """Return the name of a task graph as a mission."""
    return f"urn:metagit:{workspace_id}:{graph_id}"


def side_effect_key(mission_id: str, work_item_id: str, ownership_epoch: int, operation_id: str) -> str:
    """Return the key of one logical operation.

    Raises:
        ValueError: a name has half of a surrogate pair, which is no Unicode text.
    """
    named: dict[str, str | int] = {
        "missionId": mission_id,
        "workItemId": work_item_id,
        "ownershipEpoch": ownership_epoch,
        "logicalOperationId": operation_id,
    }
    return f"sha256:{hashlib.sha256(canonical(named)).hexdigest()}"


def canonical(named: Mapping[str, str | int]) -> bytes:
    """Return an object of texts and whole numbers as its one JSON text (RFC 8785).

    Names are in the order of their UTF-16 code units. Whole numbers must be below 2^53, where they are exact.

    Raises:
        ValueError: a text has half of a surrogate pair.
    """
    ordered = sorted(named.items(), key=lambda pair: pair[0].encode("utf-16-be"))
    return ("{" + ",".join(f"{_text(name)}:{_literal(each)}" for name, each in ordered) + "}").encode()


def _literal(each: str | int) -> str:
    return _text(each) if isinstance(each, str) else str(each)


def _text(text: str) -> str:
    return '"' + "".join(_SHORT.get(mark) or _plain(mark) for mark in text) + '"'


def _plain(mark: str) -> str:
    return f"\\u{ord(mark):04x}" if ord(mark) < _FIRST_PLAIN else mark
