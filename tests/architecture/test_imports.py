"""What a fresh interpreter has loaded after an import: the price of a start, and the purity of the core.

The import contracts see every import that is written; only a real start shows what is loaded, and when.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ("errors.py", "domain", "scheduling")

PROBE = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
json.dump(sorted({name.partition(".")[0] for name in sys.modules}), sys.stdout)
"""

ADVICE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from metagit_mcp.interfaces.cli.main import main
assert main(["schedule", "next", "--json", "--workspace", sys.argv[2]]) == 10
json.dump(sorted(sys.modules), sys.stderr)
"""


def loaded_packages(root: Path, *modules: str) -> set[str]:
    """The top-level names in `sys.modules` after a fresh interpreter imported `modules` from `root`."""
    command = [sys.executable, "-I", "-c", PROBE, str(root), *modules]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return set(json.loads(done.stdout))


def core_modules(root: Path) -> list[str]:
    """The full names of all modules of the core under `root`."""
    package = root / "metagit_mcp"
    paths = [path for part in CORE for path in (package / part, *(package / part).rglob("*.py"))]
    names = [".".join(path.relative_to(root).with_suffix("").parts) for path in paths if path.suffix == ".py"]
    return sorted(name.removesuffix(".__init__") for name in names)


def test_the_command_line_starts_without_mcp_and_networkx() -> None:
    loaded = loaded_packages(ROOT, "metagit_mcp.interfaces.cli.main")
    assert loaded & {"mcp", "mcp_types", "networkx"} == set()
    assert "metagit_mcp" in loaded


def test_what_is_done_with_groups_loads_msgspec_with_the_first_event() -> None:
    loaded = loaded_packages(ROOT, "metagit_mcp.application.groups.groups", "metagit_mcp.interfaces.cli.fed_groups")
    assert "msgspec" not in loaded


def test_advice_without_a_ledger_loads_neither_the_decider_nor_a_store(tmp_path: Path) -> None:
    (tmp_path / ".metagit/tasks/graphs").mkdir(parents=True)
    command = [sys.executable, "-I", "-c", ADVICE, str(ROOT), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    # Why there is nothing to start is said first.
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    late = {
        "domain.events",
        "domain.commands",
        "domain.decide",
        "domain.evolve",
        "application.work.work",
        "application.work.claims",
    }
    assert loaded & {"msgspec", "sqlite3", *(f"metagit_mcp.{name}" for name in late)} == set()
    assert {"metagit_mcp.bootstrap", "metagit_mcp.domain.state"} <= loaded


def test_the_core_loads_nothing_that_acts() -> None:
    modules = core_modules(ROOT)
    assert {"metagit_mcp.errors", "metagit_mcp.domain.graph"} <= set(modules)
    heavy = {"pydantic", "pydantic_core", "mcp", "networkx", "anyio", "asyncio", "sqlite3", "logging", "uuid"}
    assert loaded_packages(ROOT, *modules) & heavy == set()


def test_what_a_module_loads_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "metagit_mcp" / "domain").mkdir(parents=True)
    (tmp_path / "metagit_mcp" / "__init__.py").touch()
    (tmp_path / "metagit_mcp" / "errors.py").touch()
    (tmp_path / "metagit_mcp" / "domain" / "impure.py").write_text("import sqlite3, networkx\n")
    modules = core_modules(tmp_path)
    assert modules == ["metagit_mcp.domain.impure", "metagit_mcp.errors"]
    assert {"sqlite3", "networkx"} <= loaded_packages(tmp_path, *modules)
