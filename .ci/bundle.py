"""Pack the MCPB bundle, which desktop hosts install with a click: `dist/metagit-mcp-<version>.mcpb`.

It needs Node and the bundler, which `tests.interop.install npm` puts there; of the package it knows only the files.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "packaging/mcpb/manifest.json"
# The host's uv builds the package from these; it brings Python and the dependencies.
FILES = ("pyproject.toml", "README.md", "LICENSE")
PACKAGE = "metagit_mcp"
NODE = ROOT / ".peer/node/node_modules/node/bin/node"
BUNDLER = ROOT / ".peer/node/node_modules/@anthropic-ai/mcpb/dist/cli/cli.js"
INSTALLER = (sys.executable, "-m", "tests.interop.install", "npm")


def stage(folder: Path) -> None:
    """Put what the bundle holds into `folder`, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (MANIFEST, *(ROOT / name for name in FILES)):
        shutil.copy(path, folder)


def main(target: Path) -> int:
    """Pack into the folder `target`; prints what was packed."""
    version = json.loads(MANIFEST.read_text(encoding="utf-8"))["version"]
    staged, bundle = ROOT / "build/mcpb", target / f"metagit-mcp-{version}.mcpb"
    subprocess.run(INSTALLER, cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
    stage(staged)
    target.mkdir(parents=True, exist_ok=True)
    for command in (("validate", staged / "manifest.json"), ("pack", staged, bundle)):
        subprocess.run([NODE, BUNDLER, *command], check=True, stdin=subprocess.DEVNULL)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT / "dist"))
