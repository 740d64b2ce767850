"""Draws shares and waits of a simulated run over time into an SVG file, with matplotlib if it is there. Knows no rule.

The same outcome gives the same bytes: no date, fixed ids, and nothing of the user's own settings.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from metagit_mcp.adapters.refusals import storage_error
from metagit_mcp.domain.policy import CLASSES
from metagit_mcp.domain.text import shown
from metagit_mcp.errors import InvalidInput
from metagit_mcp.scheduling.simulation.outcome import Outcome, Step

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More lines than this cannot be told apart: then each class is one.
_MOST_LINES: Final = 8
# Shares are those of so many steps before an instant: a single step may hold one dear node.
_TRAIL: Final = 6
# What is no number leaves a gap in a line.
_GAP: Final = float("nan")
# Colours of M. Okabe and K. Ito, which people with any kind of colour vision tell apart.
_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
_SETTINGS: Final[Mapping[str, Any]] = {
    "svg.hashsalt": "metagit-mcp",
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}
_UNITS: Final = ((172_800, 86_400, "days"), (7_200, 3_600, "hours"), (120, 60, "minutes"), (0, 1, "seconds"))


class SimulationArtist:
    """Draws runs; one can be had only where matplotlib is installed."""

    def __init__(self) -> None:
        """Load matplotlib.

        Raises:
            InvalidInput: it is not installed.
        """
        try:
            import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to load
            from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415 - as above
            from matplotlib.figure import Figure  # noqa: PLC0415 - as above
        except ImportError:
            hint = "pipx install --force '/path/to/clone[plot]', or leave --svg out."
            raise InvalidInput("--svg needs matplotlib, which is not installed", hint=hint, field="svg") from None
        self._mpl, self._figure, self._canvas = mpl, Figure, FigureCanvasSVG

    def draw(self, outcome: Outcome, title: str, path: str) -> None:
        """Draw a run into the file `path`.

        Raises:
            ReadOnlyWorkspace, StoreUnavailable: it cannot be written.
        """
        raw = self._drawn(outcome, title)
        try:
            Path(path).write_bytes(raw)
        except OSError as cause:
            raise storage_error(cause, shown(path)) from cause

    def _drawn(self, outcome: Outcome, title: str) -> bytes:
        with self._mpl.rc_context():
            self._mpl.rcdefaults()
            # Their types say a word for each setting there is.
            settings: Any = self._mpl.rcParams
            settings.update(_SETTINGS)
            figure = self._figure(figsize=(9, 6.5), layout="constrained")
            canvas: Any = self._canvas(figure)
            shares, waits = figure.subplots(2, 1, sharex=True)
            figure.suptitle(shown(title, 120).replace("$", r"\$"), fontsize="medium")
            _draw(shares, waits, outcome)
            image = BytesIO()
            canvas.print_svg(image, metadata={"Date": None, "Creator": None})
        return image.getvalue()


def _draw(shares: "Axes", waits: "Axes", outcome: Outcome) -> None:
    lines = _lines(outcome)
    unit, name = _unit(outcome.course.end)
    wait_unit, wait_name = _unit(
        max((each for step in outcome.steps for each in step.longest_wait.values()), default=0)
    )
    times = [step.until / unit for step in outcome.steps]
    for colour, (label, members) in zip(_COLOURS, lines.items(), strict=False):
        received, by_weight = _shares(outcome.steps, members)
        shares.plot(times, _numbers(received), color=colour, label=label)
        shares.plot(times, _numbers(by_weight), color=colour, linestyle=":", linewidth=1)
        found = [_longest(step, members) for step in outcome.steps]
        waits.plot(times, [_GAP if each is None else each / wait_unit for each in found], ".-", color=colour)
    shares.set_ylabel("share of cost\n(dotted: by weight)")
    shares.set_ylim(0, 1)
    shares.legend(loc="upper right", fontsize="small", ncols=2)
    waits.set_ylabel(f"longest wait of a Group\nfor its next start ({wait_name})")
    waits.set_ylim(bottom=0)
    waits.set_xlabel(name)


def _unit(seconds: int) -> tuple[int, str]:
    return next((unit, name) for least, unit, name in _UNITS if seconds >= least)


def _lines(outcome: Outcome) -> dict[str, frozenset[str]]:
    """Return which Groups are one line, by its label."""
    groups = outcome.groups
    if len(groups) <= _MOST_LINES:
        return {each.graph_id.replace("$", r"\$"): frozenset({each.graph_id}) for each in groups}
    by_class = {name: frozenset(each.graph_id for each in groups if each.priority_class == name) for name in CLASSES}
    return {f"class {name}, {len(members)} Groups": members for name, members in by_class.items() if members}


def _shares(steps: Sequence[Step], members: frozenset[str]) -> tuple[list[Fraction | None], list[Fraction | None]]:
    """Return what the Groups received and what their weights give, of all that started lately; None of nothing."""
    totals = [sum(step.received.values()) for step in steps]
    received = [_sum_of(step.received, members) for step in steps]
    by_weight = [_sum_of(step.expected, members) for step in steps]
    return list(_trailing(received, totals)), list(_trailing(by_weight, totals))


def _sum_of(amounts: Mapping[str, int | Fraction], members: frozenset[str]) -> Fraction:
    return sum((Fraction(amounts[name]) for name in sorted(members & amounts.keys())), Fraction(0))


def _trailing(parts: Sequence[Fraction], totals: Sequence[int]) -> Iterator[Fraction | None]:
    for place in range(1, len(parts) + 1):
        begin = max(0, place - _TRAIL)
        total = sum(totals[begin:place])
        yield sum(parts[begin:place], Fraction(0)) / total if total else None


def _longest(step: Step, members: frozenset[str]) -> int | None:
    return max((step.longest_wait[name] for name in members & step.longest_wait.keys()), default=None)


def _numbers(fractions: Sequence[Fraction | None]) -> list[float]:
    return [_GAP if each is None else float(each) for each in fractions]
