"""Which texts can be the id of a Group that is fed by Events."""

from __future__ import annotations

import pytest

from metagit_mcp.errors import InvalidInput
from metagit_mcp.wire.group_requests import group_id_from


@pytest.mark.parametrize("text", ["group:auth", "a", "_", "A.b/c@d:e-f", "x" * 256])
def test_what_can_be_the_id_of_a_group_is_returned(text: str) -> None:
    assert group_id_from(text) == text


@pytest.mark.parametrize("text", ["", ":a", "a b", "é", "a\n", "x" * 257])
def test_what_cannot_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="group_id: is no id of a Group") as caught:
        group_id_from(text)
    assert (caught.value.details, caught.value.hint) == (
        {"field": "group_id"},
        "It has at most 256 letters, digits and '_', '.', ':', '/', '@', '-', the first a letter, digit or '_'.",
    )
