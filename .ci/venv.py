"""Make `.venv` whole and current, once, whoever asks at the same time.

It runs before anything is installed, so it knows only the standard library, and nothing of the package.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
# Written last: a `.venv` without it was interrupted.
STAMP = VENV / ".whole"
SUPPORTED = ((3, 11), (3, 14))


def fits() -> bool:
    """Whether this Python can build the environment: supported, and able to make one with pip in it."""
    import ensurepip
    import venv

    return bool(ensurepip and venv) and SUPPORTED[0] <= sys.version_info < SUPPORTED[1]


def wanted_key() -> str:
    """What `.venv` must have been made from: the project file, this Python, this place.

    The place counts because an environment keeps absolute paths.
    """
    made_by = f"{sys.version}\0{sys.base_prefix}\0{ROOT}\0"
    return hashlib.sha256(made_by.encode() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()


def is_current() -> bool:
    """Whether `.venv` is whole and made from what is here now."""
    try:
        return STAMP.read_text() == wanted_key()
    except OSError:
        return False


def build(lock: int) -> None:
    """Make `.venv` anew. Raises `CalledProcessError` if a step fails; the stamp is then absent.

    Each step inherits the descriptor `lock`, so a step that outlives a killed build still holds it.
    """
    import shutil

    key = wanted_key()
    print(f"making .venv with Python {sys.version.split()[0]}", flush=True)
    STAMP.unlink(missing_ok=True)
    if VENV.is_symlink():
        VENV.unlink()
    elif VENV.exists():
        shutil.rmtree(VENV)
    python = VENV / "bin" / "python"
    # Compiled here: one import of `mcp` reads some 600 modules, and no start must pay for compiling them.
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "-qq", "--compile"]
    for command in ([sys.executable, "-m", "venv", VENV], [*pip, "--editable", ".[dev]"]):
        subprocess.run(command, cwd=ROOT, check=True, stdin=subprocess.DEVNULL, pass_fds=[lock])
    STAMP.write_text(key)


def main() -> int:
    """`--check`: is it current. `--fit`: can this Python build it. Else build it, if it is not current."""
    if "--check" in sys.argv:
        return 0 if is_current() else 1
    if "--fit" in sys.argv:
        return 0 if fits() else 1
    import fcntl

    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONHOME"):
        os.environ.pop(name, None)
    with (ROOT / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_current():
            try:
                build(lock.fileno())
            except (OSError, subprocess.CalledProcessError) as error:
                print(f"making .venv failed: {error}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
