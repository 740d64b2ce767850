"""How the set-up of a host looks to people. It must not print, nor decide anything."""

from collections.abc import Iterator
from typing import Final

from metagit_mcp.interfaces.cli.output import Block
from metagit_mcp.interfaces.cli.views.schedule import view_remarks
from metagit_mcp.wire.host_files.hosts import HostAnswer, HostFile

_STATES: Final = {
    "missing": "not there",
    "current": "as it should be",
    "outdated": "there, with other options or of another version",
    "altered": "changed by hand",
}


def view_config(answer: HostAnswer) -> Iterator[Block]:
    """Yield what to paste, or how each file stands."""
    shown_text = None
    for each in answer.files:
        if each.text is None:
            yield f"{each.path}: {_told(each)}"
        elif each.text != shown_text:
            yield f"Into {', '.join(file.path for file in answer.files)}:"
            yield from ("", *each.text.splitlines(), "")
            shown_text = each.text
    if answer.paste is not None:
        yield f"Or, for you alone: {answer.paste}"
    yield from view_remarks(answer.warnings, answer.next_step)


def _told(each: HostFile) -> str:
    if not each.changed:
        return _STATES[each.state]
    return "written" if each.state == "current" else "taken out"
