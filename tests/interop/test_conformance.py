"""The official conformance suite finds nothing against the server, in both revisions of the protocol it speaks.

Each scenario that needs no tool of the suite's own is named here with every check it makes. The others call such
tools; some of them pass a server that has none, since a refusal is all they look for, and so they prove nothing.

Must not know: how the server is built. It is started as an operator starts it.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.interop.http_server import served
from tests.interop.peer import CONFORMANCE_SCRIPT, on_node
from tests.workloads import write_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Checks = list[dict[str, Any]]
    Results = dict[tuple[str, str], Checks]

pytestmark = pytest.mark.conformance

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
VALID = "wire-schema-valid"
META, ALLOWED, HEADER = "sep-2575-request-meta", "sep-2575-http-server-method-not-found-404", "sep-2243-server-reject"
# Each wants a tool that only test servers have, and says so when it is not there.
UNTESTABLE = {
    "sep-2575-server-rejects-undeclared-capability": "test_missing_capability",
    "sep-2575-missing-capability-http-400": "test_missing_capability",
    "sep-2575-http-server-no-independent-requests-on-stream": "test_streaming_elicitation",
    "sep-2575-server-no-log-without-loglevel": "test_logging_tool",
}
# These ask only a server whose lists change while it runs; ours do not.
NOT_APPLICABLE = {
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-tools-list-changed-on-subscription",
}

# By revision and scenario: each check, and how often it is made.
EXPECTED: dict[tuple[str, str], dict[str, int]] = {
    (HANDSHAKE, "server-initialize"): {"server-initialize": 1, "server-session-id-visible-ascii": 1, VALID: 1},
    (HANDSHAKE, "ping"): {"ping": 1, VALID: 1},
    (HANDSHAKE, "completion-complete"): {"completion-complete": 1, VALID: 1},
    (HANDSHAKE, "tools-list"): {"tools-list": 1, "tools-name-format": 1, VALID: 1},
    (HANDSHAKE, "resources-list"): {"resources-list": 1, VALID: 1},
    (HANDSHAKE, "resources-subscribe"): {"resources-subscribe": 1, VALID: 1},
    (HANDSHAKE, "resources-unsubscribe"): {"resources-unsubscribe": 1, VALID: 1},
    (HANDSHAKE, "prompts-list"): {"prompts-list": 1, VALID: 1},
    (HANDSHAKE, "server-sse-multiple-streams"): {
        "server-accepts-multiple-post-streams": 1,
        "server-sse-streams-functional": 1,
    },
    (HANDSHAKE, "dns-rebinding-protection"): {
        "localhost-host-rebinding-rejected": 1,
        "localhost-host-valid-accepted": 1,
    },
    (HANDSHAKE, "server-session-lifecycle"): {
        "server-session-initialized-accepted": 1,
        "server-session-delete-accepted": 1,
        "server-session-terminated-returns-404": 1,
    },
    (STATELESS, "server-stateless"): {
        f"{META}-invalid-missing-meta": 1,
        f"{META}-invalid-missing-protocol-version": 1,
        f"{META}-invalid-missing-client-capabilities": 1,
        f"{META}-client-info-optional": 1,
        "sep-2575-http-server-meta-invalid-400": 3,
        "sep-2575-server-implements-discover": 1,
        "sep-2575-server-identifies-in-result-meta": 1,
        "sep-2575-server-declares-prompts-in-discover": 1,
        "sep-2575-discover-capabilities-match-handlers": 1,
        "sep-2575-server-unsupported-version-error": 1,
        "sep-2575-http-server-unsupported-version-400": 1,
        "sep-2575-http-server-header-mismatch-400": 1,
        ALLOWED: 1,
        f"{ALLOWED}-initialize": 1,
        f"{ALLOWED}-ping": 1,
        f"{ALLOWED}-logging-setlevel": 1,
        f"{ALLOWED}-resources-subscribe": 1,
        f"{ALLOWED}-resources-unsubscribe": 1,
        "sep-2575-server-sends-subscription-ack": 1,
        "sep-2575-server-tags-subscription-id": 1,
        "sep-2575-server-honors-notification-filter": 1,
        "sep-2575-http-server-error-jsonrpc-id": 1,
    },
    (STATELESS, "completion-complete"): {"completion-complete": 1, VALID: 1},
    (STATELESS, "tools-list"): {
        "tools-list": 1,
        "tools-name-format": 1,
        "tools-list-deterministic-order": 1,
        VALID: 1,
    },
    (STATELESS, "resources-list"): {"resources-list": 1, VALID: 1},
    (STATELESS, "prompts-list"): {"prompts-list": 1, VALID: 1},
    (STATELESS, "sep-2164-resource-not-found"): {
        "sep-2164-no-empty-contents": 1,
        "sep-2164-error-code": 1,
        "sep-2164-data-uri": 1,
        VALID: 1,
    },
    (STATELESS, "server-sse-multiple-streams"): {"server-accepts-multiple-post-streams": 1},
    (STATELESS, "dns-rebinding-protection"): {
        "localhost-host-rebinding-rejected": 1,
        "localhost-host-valid-accepted": 1,
    },
    (STATELESS, "caching"): {
        "sep-2549-tools-list-caching-hints": 1,
        "sep-2549-prompts-list-caching-hints": 1,
        "sep-2549-resources-list-caching-hints": 1,
        "sep-2549-resources-templates-list-caching-hints": 1,
        "sep-2549-resources-read-caching-hints": 1,
        "sep-2549-ttl-non-negative": 1,
        "sep-2549-cache-scope-valid": 1,
        VALID: 1,
    },
    (STATELESS, "http-header-validation"): {
        f"{HEADER}-invalid-headers": 5,
        f"{HEADER}-error-code": 5,
        "sep-2243-server-accepts-whitespace-header-value": 1,
        "sep-2243-header-name-case-insensitive": 2,
        VALID: 1,
    },
    (STATELESS, "input-required-result-unsupported-methods"): {"sep-2322-not-on-unsupported-requests": 1, VALID: 1},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """What the suite found, by revision and scenario."""
    folder = tmp_path_factory.mktemp("conformance")
    workspace = write_workspace(folder / "workspace", nodes=12, graphs=2, seed=1, worktrees=2, merges=6).root
    with served(workspace, folder / "said", "--no-token") as address:
        found: Results = {}
        for revision in (HANDSHAKE, STATELESS):
            arguments = ("server", "--url", f"{address}/mcp", "--requirements", revision, "-o", str(folder / revision))
            # Its exit code tells of the scenarios that need tools of its own, too.
            said = on_node(CONFORMANCE_SCRIPT, *arguments, cwd=folder)
            assert "=== SUMMARY ===" in said.stdout, (said.stdout, said.stderr)
            found |= {(revision, name): checks for name, checks in _results(folder / revision)}
        yield found


def _results(folder: Path) -> Iterator[tuple[str, Checks]]:
    """Each scenario's name and checks. Its folder is named `server-<name>-<time>`; the time has 24 characters."""
    for path in sorted(folder.glob("server-*/checks.json")):
        yield path.parent.name.removeprefix("server-")[:-25], json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("revision", "scenario"), EXPECTED)
def test_every_check_of_a_scenario_passes(results: Results, revision: str, scenario: str) -> None:
    told = {(each["id"], each["status"]): each.get("errorMessage") for each in results[revision, scenario]}
    found = Counter(
        (each["id"], each["status"])
        for each in results[revision, scenario]
        if each["status"] != "INFO" and each["id"] not in UNTESTABLE.keys() | NOT_APPLICABLE
    )

    expected = EXPECTED[revision, scenario]
    assert found == {(check, "SUCCESS"): times for check, times in expected.items()}, told


def test_the_rest_of_statelessness_wants_tools_that_only_test_servers_have(results: Results) -> None:
    checks = results[STATELESS, "server-stateless"]
    failed = {each["id"]: each for each in checks if each["status"] == "FAILURE"}

    assert set(failed) == set(UNTESTABLE)
    for check, wanted in UNTESTABLE.items():
        assert failed[check]["details"]["untestable"] is True
        assert f"'{wanted}'" in failed[check]["errorMessage"]


def test_what_does_not_apply_is_told_by_the_capabilities_of_the_server(results: Results) -> None:
    checks = results[STATELESS, "server-stateless"]

    assert {each["id"] for each in checks if each["status"] == "SKIPPED"} == NOT_APPLICABLE
