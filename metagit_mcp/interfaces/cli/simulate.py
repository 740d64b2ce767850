"""The command `simulate`: a policy tried on a workload in virtual time. Knows neither rule nor measure."""

from typing import Final, Literal

import click

from metagit_mcp.errors import InvalidInput
from metagit_mcp.interfaces.cli.flags import example, json_flag, text_flag, text_from
from metagit_mcp.interfaces.cli.invocation import Invocation

# Named here, so that help needs no workload; a test compares them with those there are.
PRESETS: Final = ("steady", "one-greedy", "deadline-abuse", "wide", "burst", "late-joiner", "thousand-groups")
_MOST_SEED: Final = (1 << 63) - 1


@click.command(
    short_help="Try a policy on a workload.",
    epilog=example(
        "metagit-mcp simulate --preset one-greedy",
        "metagit-mcp simulate --preset one-greedy --ordering score",
        "metagit-mcp simulate --workload workload.json --seed 7 --json",
        "metagit-mcp simulate --preset burst --svg burst.svg",
    ),
)
@click.option(
    "--preset",
    type=click.Choice(PRESETS),
    metavar="NAME",
    help=f"A workload that is there already: {', '.join(PRESETS)}. [default: {PRESETS[0]}]",
)
@text_flag("--workload", "The workload as a JSON file, or - for standard input.", "FILE")
@click.option(
    "--seed",
    type=click.IntRange(0, _MOST_SEED),
    default=0,
    metavar="INTEGER",
    help="Decides what is drawn. [default: 0]",
)
@click.option("--ordering", type=click.Choice(["fair", "score"]), help="In place of what the policy says.")
@text_flag("--svg", "Draw shares and waits over time into a file.", "FILE")
@json_flag
@click.pass_obj
def simulate(
    invocation: Invocation,
    preset: str | None,
    workload: str | None,
    seed: int,
    ordering: Literal["fair", "score"] | None,
    svg: str | None,
) -> None:
    """Run the scheduler over a workload in virtual time, and measure who got what and who waited how long.

    It is the scheduler that hands out real work. Nothing but the picture is written, and no workspace is needed. The
    same workload and seed give the same answer.
    """
    from metagit_mcp.application.simulations import simulation_of
    from metagit_mcp.interfaces.cli.views.simulate import view_simulation
    from metagit_mcp.wire.codec import plain

    text = _text(preset, workload)
    if svg is None:
        made = simulation_of(text, preset or PRESETS[0], seed, ordering)
    else:
        from metagit_mcp.bootstrap import simulation_artist

        # Looked for first: a run of minutes must not end with what is not installed.
        artist = simulation_artist()
        made = simulation_of(text, preset or PRESETS[0], seed, ordering)
        artist.draw(made.outcome, made.answer.title, svg)
    invocation.show_record(plain(made.answer), view_simulation(made.answer))


def _text(preset: str | None, workload: str | None) -> str | None:
    """Return the text of the workload file, if one is named.

    Raises:
        InvalidInput: it cannot be read, or a preset is named too.
    """
    if workload is None:
        return None
    if preset is not None:
        raise InvalidInput("--preset and --workload are two workloads", hint="Leave one of them out.", field="workload")
    return text_from(workload if workload == "-" else f"@{workload}", "workload")
