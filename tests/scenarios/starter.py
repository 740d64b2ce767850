"""One agent that starts nodes by command: `python -m tests.scenarios.starter ROOT AGENT GRAPH/NODE…`.

It says "ready", waits for one line, and then runs one command after the other in this process, which spares their
start-up and makes a race of it. It must not know who else starts nodes.
"""

import sys

from metagit_mcp.interfaces.cli.main import main


def start(root: str, agent_id: str, place: str) -> int:
    """Run the command that starts one node; it prints its one line of JSON."""
    graph_id, _, node_id = place.partition("/")
    words = ["task", "update", node_id, "--graph-id", graph_id, "--status", "running", "--agent-id", agent_id]
    return main([*words, "--workspace", root, "--json"])


if __name__ == "__main__":
    root, agent_id, *places = sys.argv[1:]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for place in places:
        start(root, agent_id, place)
