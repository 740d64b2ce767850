"""How the doctor's findings look to people: one line each. It must not print, nor decide what is wrong."""

from collections.abc import Iterator

from metagit_mcp.interfaces.cli.output import Block
from metagit_mcp.interfaces.cli.views.schedule import view_remarks
from metagit_mcp.interfaces.cli.wording import for_people
from metagit_mcp.wire.diagnosis import DoctorAnswer, DoctorFinding

_STATE_WIDTH = len("wrong")
_CHECK_WIDTH = len("workspace")


def view_doctor(answer: DoctorAnswer) -> Iterator[Block]:
    """Yield each finding with what mends it, and how many are wrong."""
    yield from map(_line, answer.checks)
    fixed = f", {answer.fixed} fixed" if answer.fixed else ""
    yield f"{answer.problems or 'nothing'} wrong{fixed}"
    yield from view_remarks(answer.warnings, answer.next_step)


def _line(finding: DoctorFinding) -> str:
    mend = f"; mend it with: {finding.mend}" if finding.mend else ""
    return f"{finding.state:{_STATE_WIDTH}}  {finding.check:{_CHECK_WIDTH}}  {for_people(finding.what)}{mend}"
