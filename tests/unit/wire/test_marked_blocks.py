"""A marked block is ours as long as it fits its digest; the text around it is nobody's business but its writer's."""

from __future__ import annotations

import re

import pytest

from metagit_mcp.wire.host_files.marked_blocks import MarkedBlocks
from metagit_mcp.wire.host_files.texts import EntryReading, Misfit

BLOCKS = MarkedBlocks()
TEXT = "Do it.\n\nThen rest.\n"
BEGIN, END = "<!-- BEGIN metagit hash:b8b5f1b1d9a7 -->", "<!-- END metagit -->"


@pytest.fixture
def block() -> str:
    return BLOCKS.fresh(TEXT)


def test_a_block_has_two_marks_and_a_digest(block: str) -> None:
    first, *lines, last = block.splitlines()
    assert re.fullmatch("<!-- BEGIN metagit hash:[0-9a-f]{12} -->", first)
    assert (lines, last) == (TEXT.splitlines(), END)


def test_it_is_put_at_the_end_and_replaced_in_place(block: str) -> None:
    text = BLOCKS.put("# T\n", TEXT)
    assert text == f"# T\n\n{block}"
    assert BLOCKS.put(f"{text}\nmore", "x\n") == f"# T\n\n{BLOCKS.fresh('x' + chr(10))}\nmore"
    assert BLOCKS.put(block.rstrip("\n"), "x\n") == BLOCKS.fresh("x\n").rstrip("\n")
    assert BLOCKS.put("# T\r\n", TEXT) == text.replace("\n", "\r\n")


def test_line_ends_do_not_make_it_another(block: str) -> None:
    assert BLOCKS.read(block.replace("\n", "\r\n")) == EntryReading(TEXT)
    assert BLOCKS.read(f"a\n{block}b") == EntryReading(TEXT)
    assert BLOCKS.read("no block") == EntryReading(None)


def test_what_a_person_changed_is_known(block: str) -> None:
    assert BLOCKS.read(block.replace("rest", "work")) == EntryReading("Do it.\n\nThen work.\n", touched=True)
    assert BLOCKS.read(block.replace(" hash:", " hash:0")) == EntryReading(TEXT, touched=True)
    bare = f"<!-- BEGIN metagit -->\n{TEXT}{END}\n"
    assert BLOCKS.read(bare) == EntryReading(TEXT, touched=True)
    assert BLOCKS.read(block + block) == EntryReading(TEXT, touched=True)


def test_of_several_blocks_one_is_left(block: str) -> None:
    text = f"a\n\n{block}b\n\n{block}c\n\n{block}"
    assert BLOCKS.put(text, "x\n") == f"a\n\n{BLOCKS.fresh('x' + chr(10))}b\nc\n"
    assert BLOCKS.taken_out(text) == "a\nb\nc\n"


def test_a_file_of_nothing_else_goes_away(block: str) -> None:
    assert BLOCKS.taken_out(block) is None
    assert BLOCKS.taken_out(block.replace("rest", "work").replace("\n", "\r\n")) is None
    assert BLOCKS.taken_out(block + block) == ""
    assert BLOCKS.taken_out(f"\n{block}") == ""
    assert BLOCKS.taken_out("a") == "a"


@pytest.mark.parametrize(
    ("text", "line"),
    [(f"a\n{BEGIN}\n", 2), (f"a\n\n{END}\n", 3), (f"{BEGIN}\n{BEGIN}\n{END}\n", 1), (f"{BEGIN}\n{END}\n{END}", 3)],
)
def test_a_mark_without_its_counterpart_is_refused(text: str, line: int) -> None:
    with pytest.raises(Misfit, match="has a mark of a metagit block without its counterpart") as caught:
        BLOCKS.read(text)
    assert (caught.value.line, caught.value.column) == (line, 1)


@pytest.mark.parametrize(
    "text", [f" {BEGIN}\n", f"say `{END}` here\n", "<!-- BEGIN metagitty -->\n", "<!--BEGIN metagit-->\n"]
)
def test_only_a_line_of_its_own_is_a_mark(text: str) -> None:
    assert BLOCKS.read(text) == EntryReading(None)


@pytest.mark.parametrize("fence", ["```", "~~~~", "```markdown", "   ~~~ a`b"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_is_shown_in_a_fence_is_no_block(block: str, fence: str, newline: str) -> None:
    end = re.sub("[^`~]", "", fence.split("a", maxsplit=1)[0]) + "  "
    for shown in (block, f"{BEGIN}\n", f"{END}\n"):
        page = f"# How\n{fence}\n{shown}{end}\n".replace("\n", newline)
        assert BLOCKS.read(page) == EntryReading(None)
        assert BLOCKS.taken_out(page) == page
        written = BLOCKS.put(page, TEXT)
        assert BLOCKS.read(written) == EntryReading(TEXT)
        assert (BLOCKS.put(written, TEXT), BLOCKS.taken_out(written)) == (written, page)
        assert BLOCKS.read(block + written).touched


@pytest.mark.parametrize("text", ["```\ncode\n", "~~~\n```\n~~\n", "````\n```\n", "``` ` ```\n", "```\n``` no end\n"])
def test_a_fence_without_an_end_hides_nothing(text: str) -> None:
    written = BLOCKS.put(text, TEXT)
    assert BLOCKS.read(written) == EntryReading(TEXT)
    assert BLOCKS.taken_out(written) == text


def test_many_fences_take_no_time(block: str) -> None:
    text = "".join(f"{'`' * (3 + number % 50)}a\n" for number in range(20_000)) + block
    assert BLOCKS.read(text) == EntryReading(TEXT)
