"""The plugins for agent hosts are what their source says, and what the hosts' formats take.

Must not know: the hosts. What they do with it is seen in tests/hosts.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import struct
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator, ValidationError

from metagit_mcp import __version__
from metagit_mcp.domain.events import EVENT_KINDS
from metagit_mcp.interfaces.cli.hook import hook
from metagit_mcp.interfaces.cli.serve import serve
from metagit_mcp.interfaces.cli.watch import watch
from metagit_mcp.interfaces.hooks.calls import EVENTS
from metagit_mcp.interfaces.mcp.tools import TOOLS, ToolEntry, entry_input_schema
from metagit_mcp.settings import DEFAULT_TOOLSETS
from metagit_mcp.wire.work_loop import IN_ONE_LINE, PROMPT
from tests import ready
from tests.docs.pages import blocks
from tests.packaging import plugin_formats as formats
from tests.packaging.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GENERATOR = ROOT / "packaging/plugins/generate.py"
PLUGIN = ROOT / "plugins/metagit"
PORTABLE = ROOT / "plugins/metagit-portable"
MARKETPLACES = (ROOT / ".claude-plugin/marketplace.json", ROOT / ".cursor-plugin/marketplace.json")
MANIFESTS = sorted(PLUGIN.glob(".*-plugin/plugin.json"))
HOOK_FILES = ("hooks.json", "hooks-codex.json", "hooks-cursor.json")
PAGE = ROOT / "docs/how-to/use-hooks.md"
# What is in the files of the workspace, beside what is in the ledger.
SEEN_IN_FILES = {"file_status", "graph_added", "graph_removed", "graph_invalid", "graph_mended"}


def document(path: Path) -> Any:  # noqa: ANN401 - any file of a host
    return json.loads(path.read_text(encoding="utf-8"))


def front_matter(path: Path) -> tuple[dict[str, Any], str]:
    """The YAML at the head of a text, and the text after it."""
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def generated(root: Path, *flags: str) -> tuple[int, str]:
    """Exit code and output of the generator for the plugins below `root`."""
    command = [sys.executable, str(GENERATOR), "--root", str(root), *flags]
    done = ready.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


# --- the source ----------------------------------------------------------------------------------


def test_the_plugins_are_what_the_source_says() -> None:
    assert generated(ROOT, "--check") == (0, "the plugins are current\n")


def test_what_differs_is_shown_and_made_anew(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "plugins", tmp_path / "plugins")
    for path in MARKETPLACES:
        shutil.copytree(path.parent, tmp_path / path.parent.name)
    manifest, icon = tmp_path / "plugins/metagit/.mcp.json", tmp_path / "plugins/metagit/assets/icon.png"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("serve", "swerve"), encoding="utf-8")
    icon.unlink()
    (tmp_path / "plugins/metagit-portable/stray.txt").write_text("x", encoding="utf-8")

    code, said = generated(tmp_path, "--check")
    assert (code, [line for line in said.splitlines() if line.startswith(("-  ", "+  ", "plugins"))]) == (
        1,
        [
            '-        "swerve"',
            '+        "serve"',
            "plugins/metagit/assets/icon.png is another picture",
            "plugins/metagit-portable/stray.txt is not of the source",
        ],
    )
    assert generated(tmp_path) == (0, "")
    assert generated(tmp_path, "--check") == (0, "the plugins are current\n")


@pytest.mark.parametrize("path", [*MANIFESTS, PORTABLE / "plugin.json"], ids=lambda path: path.parent.name)
def test_every_manifest_says_who_it_is(path: Path) -> None:
    manifest = document(path)

    assert (manifest["name"], manifest["version"], manifest["license"]) == ("metagit", __version__, "MIT")


@pytest.mark.parametrize("folder", [PLUGIN, PORTABLE], ids=lambda folder: folder.name)
def test_the_skill_is_the_loop_of_the_prompt(folder: Path) -> None:
    head, body = front_matter(folder / "skills/work-loop/SKILL.md")

    assert body.lstrip().startswith(PROMPT.format(named=""))
    assert head["metadata"] == {"version": __version__}


def test_the_rule_is_the_line_of_agents_md() -> None:
    _, body = front_matter(PLUGIN / "rules/metagit.mdc")

    assert body.lstrip().startswith(IN_ONE_LINE)


# --- what it calls -------------------------------------------------------------------------------


def matchers(name: str, event: str) -> list[str]:
    """What limits the hooks of an event; an empty text where nothing does."""
    return [entry.get("matcher", "") for entry in document(PLUGIN / "hooks" / name)["hooks"][event]]


@pytest.mark.parametrize(
    ("file", "event", "prefix"),
    [
        ("hooks.json", "PreToolUse", "mcp__plugin_metagit_sched__"),
        ("hooks-codex.json", "PreToolUse", "mcp__sched__"),
        ("hooks-cursor.json", "preToolUse", "MCP:"),
    ],
)
def test_a_hook_sees_the_calls_whose_agent_id_says_who_asks(file: str, event: str, prefix: str) -> None:
    (matcher,) = matchers(file, event)

    seen = {tool.name for tool in TOOLS if re.fullmatch(matcher, f"{prefix}{tool.name}")}
    assert seen == {tool.name for tool in TOOLS if takes_who_asks(tool)}


def commands(hooks: dict[str, Any]) -> dict[str, tuple[list[str], float]]:
    """What a host starts for each of its events, and how many seconds it waits for it."""
    found = ((event, each) for event, (entry,) in hooks.items() for each in entry.get("hooks", [entry]))
    return {event: ([*shlex.split(each["command"]), *each.get("args", ())], each["timeout"]) for event, each in found}


HOOKS = {name: commands(document(PLUGIN / "hooks" / name)["hooks"]) for name in HOOK_FILES}


def test_every_hook_is_the_program_and_ends_before_its_host_gives_up() -> None:
    started = [each for events in HOOKS.values() for each in events.values()]
    parsed = [(words[:2], hook.make_context("hook", words[2:]).params["event"], limit) for words, limit in started]

    assert {event for _, event, _ in parsed} == set(EVENTS) - {"session-end"}
    assert [words for words, _, _ in parsed if words != ["metagit-mcp", "hook"]] == []
    assert [event for _, event, limit in parsed if limit <= EVENTS[event]] == []


def test_the_page_on_hooks_shows_the_hooks_of_the_plugin() -> None:
    shown = [json.loads(block.text)["hooks"] for block in blocks(PAGE) if block.kind == "json"]

    assert list(map(commands, shown)) == list(HOOKS.values())


def takes_who_asks(tool: ToolEntry) -> bool:
    """Whether a call has an `agent_id` of its own; that of an updated task says who fits it."""
    return "agent_id" in entry_input_schema(tool)["properties"] and tool.toolset in {"schedule", "work"}


def test_the_names_of_the_tools_are_not_too_long() -> None:
    assert [tool.name for tool in TOOLS if len(f"mcp__plugin_metagit_sched__{tool.name}") > 64] == []


def test_the_skill_allows_the_tools_of_the_loop() -> None:
    head, body = front_matter(PLUGIN / "skills/work-loop/SKILL.md")
    allowed = head["allowed-tools"].split()

    offered = {tool.name for tool in TOOLS if tool.toolset in DEFAULT_TOOLSETS}
    assert {name.removeprefix("mcp__plugin_metagit_sched__") for name in allowed} == set(
        re.findall(r"metagit_\w+", body)
    )
    assert {name.removeprefix("mcp__plugin_metagit_sched__") for name in allowed} <= offered


def servers() -> Iterator[dict[str, Any]]:
    for path in (*PLUGIN.glob("*mcp.json"), PLUGIN / ".mcp.json", PORTABLE / "mcp.json"):
        assert list(document(path)["mcpServers"]) == ["sched"]
        yield document(path)["mcpServers"]["sched"]


def test_every_server_is_the_program_with_options_that_it_has() -> None:
    known = {option for parameter in serve.params for option in parameter.opts}

    for server in servers():
        assert (server["command"], server["args"][0]) == ("metagit-mcp", serve.name)
        assert [word for word in server["args"] if word.startswith("--") and word not in known] == []


def test_a_host_waits_longer_than_the_server() -> None:
    server = document(PLUGIN / "codex.mcp.json")["mcpServers"]["sched"]
    longest = int(server["args"][server["args"].index("--max-wait") + 1])

    assert (server["tool_timeout_sec"], longest) == (330, 300)


def test_codex_hands_over_variables_that_the_program_reads() -> None:
    server = document(PLUGIN / "codex.mcp.json")["mcpServers"]["sched"]
    settings = (ROOT / "metagit_mcp/settings.py").read_text(encoding="utf-8")

    assert [name for name in server["env_vars"] if f'"{name}"' not in settings] == []


def test_the_monitor_asks_for_what_happens() -> None:
    (monitor,) = document(PLUGIN / "monitors/monitors.json")
    asked, _, heard = monitor["command"].partition(" | ")
    (_, command, *flags), (*_, kinds) = shlex.split(asked), shlex.split(heard)

    known = {option for parameter in watch.params for option in parameter.opts}
    assert (command, set(flags) - known) == (watch.name, set())
    assert set(kinds.split("|")) - {*EVENT_KINDS, *SEEN_IN_FILES} == set()
    assert monitor["when"] == "on-skill-invoke:metagit:work-loop"


# --- formats -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        (formats.CURSOR_PLUGIN, PLUGIN / ".cursor-plugin/plugin.json"),
        (formats.CURSOR_MARKETPLACE, ROOT / ".cursor-plugin/marketplace.json"),
        (formats.CURSOR_HOOKS, PLUGIN / "hooks/hooks-cursor.json"),
        (formats.CODEX_HOOKS, PLUGIN / "hooks/hooks-codex.json"),
        (formats.AGENT_PLUGIN, PORTABLE / "plugin.json"),
        (formats.AGENT_SERVERS, PORTABLE / "mcp.json"),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else "",
)
def test_the_format_takes_it_and_no_key_more(rules: Draft202012Validator, path: Path) -> None:
    rules.validate(document(path))

    with pytest.raises(ValidationError):
        rules.validate({**document(path), "unheardOf": True})


@pytest.mark.parametrize(
    ("rules", "change"),
    [
        (formats.CURSOR_PLUGIN, {"name": "Metagit"}),
        (formats.CURSOR_PLUGIN, {"author": {"name": "x", "url": "https://example.org"}}),
        (formats.CURSOR_PLUGIN, {"rules": {"x": "y"}}),
        (formats.AGENT_PLUGIN, {"displayName": "x"}),
        (formats.AGENT_PLUGIN, {"$schema": "https://agent-plugins.org/schemas/2.0.0/plugin.schema.json"}),
        (formats.AGENT_PLUGIN, {"name": "two--dashes"}),
        (formats.AGENT_PLUGIN, {"author": "somebody"}),
    ],
)
def test_the_format_refuses_what_the_host_refuses(rules: Draft202012Validator, change: dict[str, Any]) -> None:
    path = PLUGIN / ".cursor-plugin/plugin.json" if rules is formats.CURSOR_PLUGIN else PORTABLE / "plugin.json"
    with pytest.raises(ValidationError):
        rules.validate(document(path) | change)


@pytest.mark.parametrize(
    "change",
    [{"cwd": "/srv"}, {"timeout": 1}, {"type": "sse"}, {"env": {"PLUGIN_ROOT": "x"}}, {"command": "metagit-mcp serve"}],
)
def test_the_portable_server_is_of_a_closed_kind(change: dict[str, Any]) -> None:
    found = document(PORTABLE / "mcp.json")
    found["mcpServers"]["sched"] |= change
    with pytest.raises(ValidationError):
        formats.AGENT_SERVERS.validate(found)


def test_the_portable_package_holds_what_the_format_knows() -> None:
    names = {path.relative_to(PORTABLE).as_posix() for path in PORTABLE.rglob("*") if path.is_file()}

    assert names == {"plugin.json", "mcp.json", "skills/work-loop/SKILL.md", "README.md"}


def test_codex_finds_no_portable_package_in_the_plugin() -> None:
    # With these two it would take them, and start the server in the plugin's folder.
    assert [name for name in ("plugin.json", "mcp.json") if (PLUGIN / name).exists()] == []


@pytest.mark.parametrize("folder", [PLUGIN, PORTABLE], ids=lambda folder: folder.name)
def test_the_skill_is_one_for_every_host(folder: Path) -> None:
    (path,) = (folder / "skills").glob("*/SKILL.md")
    head, _ = front_matter(path)

    formats.AGENT_SKILL.validate(head)
    assert head["name"] == path.parent.name


def test_the_rule_is_one_for_cursor() -> None:
    formats.CURSOR_RULE.validate(front_matter(PLUGIN / "rules/metagit.mdc")[0])


@pytest.mark.parametrize("path", MARKETPLACES, ids=lambda path: path.parent.name)
def test_a_marketplace_leads_to_the_plugin(path: Path) -> None:
    (entry,) = document(path)["plugins"]

    assert (document(path)["name"], entry["name"], (ROOT / entry["source"]).resolve()) == ("metagit", "metagit", PLUGIN)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_every_path_of_a_manifest_is_there(path: Path) -> None:
    assert len(MANIFESTS) == 3
    paths = re.findall(r'"(\.?/?(?:[\w.-]+/)+[\w.-]*)"', path.read_text(encoding="utf-8"))

    assert [name for name in paths if not (PLUGIN / name).exists()] == []


def test_the_icon_is_one_that_directories_take() -> None:
    png = (PLUGIN / "assets/icon.png").read_bytes()

    assert (png[:8], struct.unpack(">II", png[16:24])) == (b"\x89PNG\r\n\x1a\n", (512, 512))
