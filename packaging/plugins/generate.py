"""Writes the plugins for agent hosts from one source, or with --check says where they differ (`make plugins`).

What the plugin is stands in `facts.py`, what each host wants of it in `hosts.py`, the words in `texts/`. It must not
know the hosts themselves.
"""

import argparse
import difflib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from hosts import PLUGIN, PORTABLE, files
from icon import pixels

ROOT = Path(__file__).resolve().parents[2]
# Nothing else may lie there: a host finds what it knows by its place.
FOLDERS = (PLUGIN, PORTABLE)


def differences(made: Mapping[str, bytes], root: Path) -> Iterator[str]:
    """Yield where the files differ from the source, as a diff."""
    for name, content in made.items():
        path = root / name
        found = path.read_bytes() if path.is_file() else b""
        if name.endswith(".png"):
            if not found or pixels(found) != pixels(content):
                yield f"{name} is another picture"
        elif found != content:
            lines, made_lines = found.decode().splitlines(), content.decode().splitlines()
            yield from difflib.unified_diff(lines, made_lines, name, "the source", lineterm="", n=1)
    yield from (f"{name} is not of the source" for name in _others(made, root))


def _others(made: Mapping[str, bytes], root: Path) -> list[str]:
    found = (path for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file())
    return sorted({path.relative_to(root).as_posix() for path in found} - set(made))


def write(made: Mapping[str, bytes], root: Path) -> None:
    """Write the files, and remove what lies between them."""
    for name, content in made.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for name in _others(made, root):
        (root / name).unlink()


def main() -> int:
    """Write the plugins, or check them; return the exit code."""
    parser = argparse.ArgumentParser(description="Writes the plugins for agent hosts.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file differs from the source")
    parser.add_argument("--root", type=Path, default=ROOT, help="where the plugins lie")
    chosen = parser.parse_args()
    made = dict(files())
    if chosen.check:
        different = list(differences(made, chosen.root))
        print("\n".join([*different, "Run: make plugins"]) if different else "the plugins are current")
        return 1 if different else 0
    write(made, chosen.root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
