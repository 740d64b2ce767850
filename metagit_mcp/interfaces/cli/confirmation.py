"""Asks a person at a terminal to type the name of what they answer for. It must not know what that is.

On a machine where everything runs as one user this is a guard rail, not a boundary (interfaces.md §4): it keeps a
script from doing by accident what a person should decide, and it leaves a name in the record.
"""

import os
import sys
from collections.abc import Sequence

from metagit_mcp.domain.text import shown
from metagit_mcp.errors import AuthForbidden, InvalidInput

_NAME_LIMIT = 200


def vouched_by(operator: str | None, names: Sequence[str], act: str, *, typed: bool = True) -> str:
    """Return who vouches: the named operator, or the user of this terminal after typing each name, if `typed`.

    Raises:
        AuthForbidden: there is no terminal and no operator, or something else was typed.
        InvalidInput: the operator's name cannot be shown as it is.
    """
    if operator is not None:
        return _checked(operator)
    if not _at_terminal():
        raise AuthForbidden(
            f"Only a person may {act}: {', '.join(names)}.",
            hint="Do it at a terminal, or say with --operator NAME who vouches for it.",
        )
    for name in names if typed else ():
        _demand(name, act)
    return _user()


def recorded_as(operator: str | None) -> str:
    """Return whose name is recorded of what anybody may do: the named operator's, or `user@host`.

    Raises:
        InvalidInput: the operator's name cannot be shown as it is.
    """
    return f"{_user()}@{os.uname().nodename}" if operator is None else _checked(operator)


def tell(line: str) -> None:
    """Say something to the person at the terminal; standard output stays for the answer."""
    if _at_terminal():
        sys.stderr.write(f"{shown(line, 1_000)}\n")


def _checked(operator: str) -> str:
    if shown(operator, _NAME_LIMIT) != operator:
        raise InvalidInput("operator: must be one line of at most 200 visible characters", field="operator")
    return operator


def _at_terminal() -> bool:
    """Whether a question can be seen and answered."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _demand(name: str, act: str) -> None:
    sys.stderr.write(f"Type {name} to {act}: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip() != name:
        raise AuthForbidden(f"{name} was not typed; nothing is changed.", hint="Try again and type exactly that.")


def _user() -> str:
    """The login name of the user that this process runs as; the environment could name anybody."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid-{os.getuid()}"
