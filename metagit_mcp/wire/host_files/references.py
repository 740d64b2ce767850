"""Says whether a file of instructions leads its readers to another one, so that the same is not said twice.

It must not know what the instructions say.
"""

import re

_CODE = re.compile(r"`[^`\n]*`")


def refers_to(text: str, other: str) -> bool:
    """Say whether a text includes the file `other` of the same folder (`@AGENTS.md`), or says no more than to read it.

    Headings, comments and links around a name are no content of their own.
    """
    name = re.escape(other)
    if re.search(rf"(?:^|\s)@(?:\./)?{name}(?:\s|$)", _CODE.sub("", text)):
        return True
    lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith(("#", "<!--"))]
    return bool(lines) and all(re.search(rf"(?<![\w/.-]){name}(?!\w)|\./{name}(?!\w)", line) for line in lines)
