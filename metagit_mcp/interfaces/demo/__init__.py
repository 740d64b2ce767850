"""The demo: an example workspace, two agents that work in it over MCP, and the facts that must hold meanwhile.

`example` is the workspace, `tour` the steps, `facts` what must be seen at each, `views` how an answer is told,
`programs` who plays the agents and the people, `transcript` where it is printed. It must not import a use case:
everything goes through the programs that a user starts.
"""

import os
import sys

from metagit_mcp.interfaces.demo.tour import demonstrate
from metagit_mcp.interfaces.demo.transcript import Transcript


def main() -> int:
    """Run the demo on standard output; return 0, or 1 if a fact differs or a step fails."""
    on_terminal = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return demonstrate(Transcript(sys.stdout, coloured=on_terminal))
