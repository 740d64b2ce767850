"""The deep search: many long runs, and the tightest ratio to each bound (docs/reference/invariants.md)."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from traceback import format_exc

from tests.fairness.runs import Seen, run


def tried(seed: int, steps: int) -> Seen | str:
    """What a run saw, or the end of the trace with which it failed."""
    try:
        return run(seed, steps)
    except Exception:  # noqa: BLE001 - one run that fails ends no other
        return f"seed {seed}:\n{format_exc(limit=-3)}"


def main() -> int:
    parser = ArgumentParser(prog="python -m tests.fairness", description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--steps", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=20_261_129, help="of the first run; each other has the next one")
    parser.add_argument("--jobs", type=int, default=None)
    options = parser.parse_args()
    seen, done, failed = Seen(), 0, list[str]()
    with ProcessPoolExecutor(options.jobs) as pool:
        for each in pool.map(partial(tried, steps=options.steps), range(options.seed, options.seed + options.runs)):
            done += 1
            if isinstance(each, str):
                failed.append(each)
            else:
                seen.add(each)
            if done % 10 == 0:
                sys.stderr.write("\n".join((f"{done} of {options.runs}", *seen.lines(), "")))
                sys.stderr.flush()
    sys.stdout.write("\n".join((*failed, f"{done - len(failed)} of {done} runs passed", *seen.lines(), "")))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
