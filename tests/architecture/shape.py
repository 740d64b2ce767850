"""The writing rules as functions from a folder to the lines that break them.

It reads source text only: it must not import what it judges.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import median, quantiles

FILE_LINES = 400
FUNCTION_LINES = 40
MEDIAN_LINES = 8
P90_LINES = 25

# Each of these says that something is there, not what it is.
EMPTY_NAMES = frozenset({"manager", "helper", "util", "common", "base", "data", "info", "process"})

# In brackets, so that this file keeps its own rule.
UNFINISHED_WORDS = re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X)\b")
UNFINISHED_NAME = "NotImplementedError"
UNFINISHED = re.compile(f"{UNFINISHED_WORDS.pattern}|{UNFINISHED_NAME}")
# The middle of an f-string is a token of its own since Python 3.12.
SPOKEN_TOKENS = frozenset({"COMMENT", "STRING", "FSTRING_MIDDLE"})

# A comment that switches a tool off, with the codes it names.
EXCEPTION = re.compile(
    r"#\s*(?:noqa|type:\s*ignore|pragma:\s*no\s+(?:cover|branch)|fmt:\s*(?:off|skip))\b"
    r"(?::\s*[A-Z]+\d+(?:\s*,\s*[A-Z]+\d+)*|\[[\w\s,-]+\])?"
)
REASON = re.compile(r"\w+\W+\w+")

Rule = Callable[[Path], Iterator[str]]


def python_files(root: Path) -> list[Path]:
    """Every Python file under `root`, in a fixed order."""
    return sorted(path for path in root.rglob("*.py") if "__pycache__" not in path.parts)


def files_too_long(root: Path) -> Iterator[str]:
    """Files of more than `FILE_LINES` lines."""
    for path in python_files(root):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > FILE_LINES:
            yield f"{path}: {lines} lines, the limit is {FILE_LINES}"


def files_without_docstring(root: Path) -> Iterator[str]:
    """Files that have code and do not open with a docstring."""
    for path in python_files(root):
        if not outline(path.read_text(encoding="utf-8"))[0]:
            yield f"{path}: opens without a docstring"


def files_with_empty_names(root: Path) -> Iterator[str]:
    """Files and folders whose name says nothing."""
    for path in sorted({*python_files(root), *(file.parent for file in python_files(root))}):
        words = path.relative_to(root).stem.lower().split("_")
        for word in words:
            if word in EMPTY_NAMES or word.removesuffix("s") in EMPTY_NAMES:
                yield f"{path}: the name says {word!r}, which is nothing"


@cache
def outline(text: str) -> tuple[bool, tuple[tuple[int, str, int], ...]]:
    """Whether a file opens as it should, and its functions with their length in lines from `def` to the end.

    Read once for all rules that ask, and no tree is kept: a thousand of them slow the collector down.
    """
    module = ast.parse(text)
    functions = tuple(
        (node.lineno, node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return not module.body or bool(ast.get_docstring(module)), functions


def functions(root: Path) -> Iterator[tuple[str, int]]:
    """Each function under `root`: where it is, and its length."""
    for path in python_files(root):
        for line, name, lines in outline(path.read_text(encoding="utf-8"))[1]:
            yield f"{path}:{line} {name}", lines


def functions_too_long(root: Path) -> Iterator[str]:
    """Functions of more than `FUNCTION_LINES` lines."""
    for where, lines in functions(root):
        if lines > FUNCTION_LINES:
            yield f"{where}: {lines} lines, the limit is {FUNCTION_LINES}"


def functions_long_on_the_whole(root: Path) -> Iterator[str]:
    """The median and the 90th percentile of function lengths, where they are over their targets."""
    lengths = [lines for _, lines in functions(root)]
    if len(lengths) < 2:
        return
    middle, p90 = median(lengths), quantiles(lengths, n=10, method="inclusive")[-1]
    if middle > MEDIAN_LINES:
        yield f"{root}: the median function has {middle} lines, the target is {MEDIAN_LINES}"
    if p90 > P90_LINES:
        yield f"{root}: the 90th percentile of functions is {p90} lines, the target is {P90_LINES}"


def tokens(root: Path, wanted: Callable[[str], object]) -> Iterator[tuple[str, tokenize.TokenInfo]]:
    """Each token of the files under `root` whose text may break a rule, and where it is."""
    for path in python_files(root):
        text = path.read_text(encoding="utf-8")
        if wanted(text):
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                yield f"{path}:{token.start[0]}", token


def unfinished_work(root: Path) -> Iterator[str]:
    """Comments and strings that put work off, and code that stands for code."""
    for where, token in tokens(root, UNFINISHED.search):
        name = tokenize.tok_name[token.type]
        spoken = name in SPOKEN_TOKENS and UNFINISHED_WORDS.search(token.string)
        if spoken or (name == "NAME" and token.string == UNFINISHED_NAME):
            yield f"{where}: {token.string.strip()[:80]!r} is unfinished work"


def _may_lack_a_reason(text: str) -> bool:
    """Whether the rest of a line does not say why: then it matters what is a comment, and where it begins."""
    rests = (line[found.start() :] for line in text.split("\n") if (found := EXCEPTION.search(line)))
    return any(not REASON.search(EXCEPTION.sub("", rest)) for rest in rests)


def exceptions_without_reason(root: Path) -> Iterator[str]:
    """Comments that switch a tool off and do not say why, in at least two words after the codes."""
    for where, token in tokens(root, _may_lack_a_reason):
        if token.type != tokenize.COMMENT:
            continue
        said, exceptions = EXCEPTION.subn("", token.string)
        if exceptions and not REASON.search(said):
            yield f"{where}: {token.string!r} gives no reason"


# Hold in every Python file of the project.
RULES_OF_A_FILE: tuple[Rule, ...] = (
    files_too_long,
    files_without_docstring,
    files_with_empty_names,
    functions_too_long,
    unfinished_work,
    exceptions_without_reason,
)
# Hold over the package as a whole.
RULES_OF_THE_PACKAGE: tuple[Rule, ...] = (functions_long_on_the_whole,)
