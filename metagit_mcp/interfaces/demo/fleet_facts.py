"""What must be seen at each step of the fleet, as data. Knows neither how an answer is got nor how it is told."""

from typing import Final

from metagit_mcp.interfaces.demo.facts import Rows, facts_of

_ALL: Final = ["help", "launch", "legal", "login", "news", "page", "search", "theme"]
_TABLE: Final[dict[str, Rows]] = {
    "claim": (
        (
            "taken.*.node_id,agent_id,session_epoch",
            [["theme", "worker-1", 1], ["search", "worker-2", 1], ["login", "worker-3", 1]],
            "three agents get three nodes",
        ),
    ),
    "restart": (
        ("refused.code", "AUTH_STALE_SESSION", "a second server of one agent claims nothing while the first counts"),
        (
            "decisions.*.lease.node_id,session_epoch,ownership_epoch",
            [["login", 2, 1]],
            "a new session has its work back at once, as the same ownership",
        ),
        ("decisions.0.dispatch_hints.resume_from.checkpoint_id", "form", "and goes on from its checkpoint"),
        ("late.code", "AUTH_STALE_SESSION", "the former lease is fenced"),
    ),
    "drain": (
        ("done", ["help", "legal", "news", "page", "search", "theme"], "what can be done without login is done"),
        ("given", [[], []], "a dead agent's node is not given away before its lease runs out"),
        (
            "in_the_way",
            [["finished", 6], ["leased", 1], ["not_ready", 1]],
            "who gets nothing is told what is in the way",
        ),
        ("both_are_told", True, "and both hear the same"),
    ),
    "wait": (
        ("early", 0, "who waits is not answered before there is work"),
        (
            "decisions.*.lease.node_id,agent_id,ownership_epoch",
            [["login", "worker-1", 2]],
            "it comes back by itself, as another ownership, to whoever waits",
        ),
        (
            "decisions.0.dispatch_hints.attempts.*.agent_id,outcome",
            [["worker-3", "expired"]],
            "with what became of the attempt before",
        ),
        (
            "decisions.0.dispatch_hints.resume_from.note",
            "the form stands, its tests do not",
            "and the point from which it can go on",
        ),
    ),
    "late": (("code", "WORK_LEASE_EXPIRED", "a late result completes nothing"),),
    "finish": (
        ("decisions", [], "in the end there is nothing left"),
        ("all_finished", True, "because everything is done"),
    ),
    "account": (
        ("done", [[node_id, 1] for node_id in _ALL], "every node was done exactly once, says the ledger"),
        ("told", _ALL, "and so say the events of the task graphs"),
        ("statuses", [[node_id, "completed"] for node_id in _ALL], "and the graph files"),
        ("at_once", 1, "no node was ever with two"),
        (
            "login",
            [["worker-3", 1], ["worker-3", 1], ["worker-1", 2]],
            "the dead one's node was begun three times",
        ),
        ("workers", ["worker-1", "worker-2"], "both who lived did the work"),
    ),
}
FLEET_FACTS: Final = facts_of(_TABLE)
