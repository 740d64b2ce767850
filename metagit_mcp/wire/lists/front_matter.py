"""Reads the front matter of a Markdown page, and a configuration in YAML, every scalar as the text it was written as.

Knows no field. YAML has its own idea of what `no`, `12:30` or `2026-12-01` mean; nobody who writes a title or a status
means that (ADR 0043).
"""

from collections.abc import Mapping
from typing import Any, Final

from metagit_mcp.domain.value import value
from metagit_mcp.wire.lists.listed import ListFile, Place, unreadable

_BOM: Final = "\ufeff"
_FENCE: Final = "---"
_LONGEST: Final = 256 * 1024
_MERGE: Final = "<<"
_NOTHING: Final = frozenset({"", "~", "null"})


@value
class Field:
    """What one key holds: a text or a list of texts, and its line. Neither: it holds something else."""

    line: int
    text: str | None = None
    items: tuple[str, ...] | None = None

    def listed(self) -> tuple[str, ...] | None:
        """Return what it holds as a list, be it one or a text with commas."""
        parts = self.items if self.text is None else self.text.split(",")
        return None if parts is None else tuple(part for each in parts if (part := each.strip()))


@value
class Page:
    """A page: the fields of its front matter, those that hold something, and the lines of its body."""

    fields: Mapping[str, Field]
    body: tuple[str, ...]


def read_page(file: ListFile) -> Page | None:
    """Return the page in a file; None: it has no front matter.

    Raises:
        InvalidInput: the front matter cannot be read; names the line.
    """
    lines = text_of(file).replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        return None
    end = next((number for number, line in enumerate(lines[1:], start=1) if line.rstrip() == _FENCE), None)
    if end is None:
        raise unreadable(Place(file=file.name, line=1), "its front matter has no end")
    return Page(fields=read_yaml(file, "\n".join(lines[1:end]), first=2), body=tuple(lines[end + 1 :]))


def text_of(file: ListFile) -> str:
    """Return the text of a file.

    Raises:
        InvalidInput: it is not UTF-8.
    """
    try:
        return file.raw.decode().removeprefix(_BOM)
    except UnicodeDecodeError as error:
        raise unreadable(Place(file=file.name), f"not UTF-8 at byte {error.start}") from None


def read_yaml(file: ListFile, text: str, first: int = 1) -> Mapping[str, Field]:
    """Return the fields of a YAML mapping that hold something; `first` is the line at which the text begins.

    Raises:
        InvalidInput: it is no mapping, or has a key twice: which of them counts, nobody can tell.
    """
    import yaml  # noqa: PLC0415 - 20 ms that only an import of such a list pays

    if len(text) > _LONGEST:
        raise unreadable(Place(file=file.name, line=first), f"is longer than {_LONGEST} characters")
    try:
        root = yaml.compose(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = first + (mark.line if mark is not None else 0)
        raise unreadable(Place(file=file.name, line=line), "no YAML that can be read") from None
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise unreadable(Place(file=file.name, line=first), "must be a mapping of fields")
    fields: dict[str, Field] = {}
    for key, held in root.value:
        line = first + key.start_mark.line
        name = key.value if isinstance(key, yaml.ScalarNode) else ""
        if name in fields:
            raise unreadable(Place(file=file.name, line=line), "a field stands twice")
        if name == _MERGE:
            raise unreadable(Place(file=file.name, line=line), f"fields are merged in ({_MERGE}), which is not read")
        fields[name] = _field(held, line)
    return {name: each for name, each in fields.items() if not _is_nothing(each)}


def _field(node: Any, line: int) -> Field:  # noqa: ANN401 - the stub of a node knows neither its kind nor its style
    if node.id == "scalar":
        return Field(line=line, text=_scalar(node))
    if node.id == "sequence" and all(item.id == "scalar" for item in node.value):
        return Field(line=line, items=tuple(text for item in node.value if (text := _scalar(item))))
    return Field(line=line)


def _scalar(node: Any) -> str:  # noqa: ANN401 - as above
    """Return the text of a scalar; one that is not quoted and means nothing is empty."""
    text = str(node.value)
    return "" if not node.style and text in _NOTHING else text


def _is_nothing(field: Field) -> bool:
    return field.text == "" or field.items == ()
