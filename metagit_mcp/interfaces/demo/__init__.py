"""The demo: example workspaces, agents that work in them over MCP, and the facts that must hold meanwhile.

`example` and `group_log` are what is planned, `tour`, `fleet` and `group` are the chapters, `*_facts` what must be seen
at each step, `*views` how an answer is told, `walk` takes the steps, `programs` plays the agents and the people,
`transcript` is where it is printed. It must not import a use case: everything goes through the programs that
a user starts.
"""

import os
import sys

from metagit_mcp.interfaces.demo.fleet import FLEET
from metagit_mcp.interfaces.demo.group import GROUP_CHAPTER
from metagit_mcp.interfaces.demo.tour import TOUR
from metagit_mcp.interfaces.demo.transcript import Transcript
from metagit_mcp.interfaces.demo.walk import demonstrate

CHAPTERS = (TOUR, FLEET, GROUP_CHAPTER)


def main() -> int:
    """Run the demo on standard output; return 0, or 1 if a fact differs or a step fails."""
    on_terminal = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return demonstrate(Transcript(sys.stdout, coloured=on_terminal), CHAPTERS)
