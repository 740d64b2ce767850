"""The key of an operation is the SHA-256 of one canonical text, for every text that there is (RFC 8785)."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metagit_mcp.domain.side_effects import canonical, mission_id, side_effect_key

TEXTS = st.text(st.characters(codec="utf-8"))


def independent(named: dict[str, Any]) -> bytes:
    """The canonical text by way of the standard library, whose escapes are those of RFC 8785 below U+0080."""

    def units(text: str) -> list[int]:
        raw = text.encode("utf-16-le")
        return [raw[at] + 256 * raw[at + 1] for at in range(0, len(raw), 2)]

    ordered = {name: named[name] for name in sorted(named, key=units)}
    return json.dumps(ordered, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def test_the_published_check_value() -> None:
    key = side_effect_key(
        "urn:missionweaveprotocol:mission:one", "urn:missionweaveprotocol:work-item:implementation", 2, "deploy"
    )
    assert key == "sha256:0674f09d5bf4856e62a6306666c39803ccb829a813dfd7e5a674a044d0df25dd"


def test_a_task_graph_as_a_mission() -> None:
    assert mission_id("0a1b", "release.1") == "urn:metagit:0a1b:release.1"


def test_the_canonical_text_itself() -> None:
    # The strings and the order of names of RFC 8785 §3.2.2 and §3.2.3.
    text = '\u20ac$\u000f\nA\'B"\\\\"/\b\t\f\r\u007f\u2028'
    names: dict[str, str | int] = dict.fromkeys(("\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\u00f6"), 1)
    assert canonical({"s": text}) == ('{"s":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/\\b\\t\\f\\r\u007f\u2028"}'.encode())
    assert canonical(names) == '{"\\r":1,"1":1,"\x80":1,"\u00f6":1,"\u20ac":1,"\U0001f600":1,"\ufb33":1}'.encode()


@given(st.dictionaries(TEXTS, st.one_of(TEXTS, st.integers(-(2**53) + 1, 2**53 - 1))))
def test_any_object_is_what_an_independent_writer_says(named: dict[str, str | int]) -> None:
    assert canonical(named) == independent(named)
    assert json.loads(canonical(named)) == named


@given(TEXTS, TEXTS, st.integers(0, 10**9), TEXTS)
def test_any_key_is_the_digest_of_its_object(mission: str, work_item: str, epoch: int, operation: str) -> None:
    text = independent(
        {"logicalOperationId": operation, "missionId": mission, "ownershipEpoch": epoch, "workItemId": work_item}
    )
    assert side_effect_key(mission, work_item, epoch, operation) == "sha256:" + hashlib.sha256(text).hexdigest()


def test_half_a_character_has_no_key() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        side_effect_key("m", "w", 1, "\ud800")
