"""Where each file of a workspace lies, relative to its root (interfaces.md §1). It knows no content."""

from typing import Final

METAGIT: Final = ".metagit"
MANIFEST: Final = ".metagit.yml"
TASKS: Final = f"{METAGIT}/tasks"
GRAPHS: Final = f"{TASKS}/graphs"
INDEX: Final = f"{TASKS}/index.json"
SCHEDULE: Final = f"{METAGIT}/schedule"
EVENTS: Final = f"{METAGIT}/events"
WORKTREES: Final = f"{METAGIT}/worktrees"
MERGES: Final = f"{METAGIT}/merges"

POLICY_NAME: Final = "policy.json"
KEPT_NAME: Final = "kept.json"
APPROVALS_NAME: Final = "approvals.json"
DECISIONS_NAME: Final = "decisions.jsonl"
WORKTREES_NAME: Final = "worktrees.json"
QUEUE_NAME: Final = "queue.json"
LEDGER_NAME: Final = "ledger.db"

POLICY: Final = f"{SCHEDULE}/{POLICY_NAME}"
KEPT: Final = f"{SCHEDULE}/{KEPT_NAME}"
APPROVALS: Final = f"{SCHEDULE}/{APPROVALS_NAME}"
LEDGER: Final = f"{SCHEDULE}/{LEDGER_NAME}"
IMPORTS: Final = f"{SCHEDULE}/imports"
IDENTITY: Final = f"{SCHEDULE}/workspace.json"
IGNORED: Final = f"{SCHEDULE}/.gitignore"
AUDIT: Final = f"{SCHEDULE}/audit.jsonl"
DECISIONS: Final = f"{SCHEDULE}/{DECISIONS_NAME}"
SCHEDULER_EVENTS: Final = f"{EVENTS}/scheduler.jsonl"
TASK_EVENTS: Final = f"{EVENTS}/taskgraph.jsonl"

# A change in one of these may change an answer.
WATCHED: Final = (GRAPHS, SCHEDULE, WORKTREES, MERGES)
