"""What `doctor` answers: what each check found, and what mends it. Knows no check."""

from typing import Literal

from metagit_mcp.domain.value import value

FindingState = Literal["fine", "note", "wrong", "fixed"]


@value
class DoctorFinding:
    """What one check of the doctor found: `note` is worth knowing, `wrong` is to be mended, by `mend` if it can be."""

    check: str
    state: FindingState
    what: str
    mend: str | None = None


@value
class DoctorAnswer:
    """The answer to `doctor`: what each check found; `problems` are the findings that are wrong."""

    checks: tuple[DoctorFinding, ...]
    problems: int
    fixed: int
    warnings: tuple[str, ...]
    next_step: str
