"""`server.json`, the entry of the MCP registry, is what the registry takes and what the package is.

The rules are those of the registry's schema of 2025-12-11, as far as this entry uses it; what it does not use, it must
not have. Must not know: the registry itself, which no test asks.
"""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from jsonschema import Draft7Validator, ValidationError

from metagit_mcp import __version__
from metagit_mcp.interfaces.cli.serve import serve
from tests.packaging.conftest import ROOT

ENTRY: dict[str, Any] = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
TEXT = {"type": "string", "minLength": 1}
EXACT_VERSION = {"type": "string", "maxLength": 255, "pattern": r"^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$"}


def record(**properties: object) -> dict[str, object]:
    """The schema of an object with exactly these properties."""
    required = sorted(properties)
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


VARIABLE = record(name=TEXT, description=TEXT, format={"enum": ["string", "number", "boolean", "filepath"]})
PACKAGE = record(
    registryType={"enum": ["npm", "pypi", "oci", "nuget", "mcpb"]},
    registryBaseUrl={"const": "https://pypi.org"},
    identifier=TEXT,
    version=EXACT_VERSION,
    runtimeHint={"enum": ["npx", "uvx", "docker", "dnx"]},
    transport=record(type={"const": "stdio"}),
    packageArguments={"type": "array", "items": record(type={"const": "positional"}, value=TEXT)},
    environmentVariables={"type": "array", "items": VARIABLE},
)
RULES = Draft7Validator(
    record(
        **{"$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"}},
        name={"type": "string", "minLength": 3, "maxLength": 200, "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$"},
        title={"type": "string", "minLength": 1, "maxLength": 100},
        description={"type": "string", "minLength": 1, "maxLength": 100},
        version=EXACT_VERSION,
        packages={"type": "array", "minItems": 1, "items": PACKAGE},
    )
)


def test_the_registry_takes_it() -> None:
    RULES.validate(ENTRY)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "metagit-mcp"},
        {"description": "x" * 101},
        {"version": "latest"},
        {"status": "active"},
        {"packages": []},
    ],
)
def test_the_rules_refuse_what_the_registry_refuses(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RULES.validate(ENTRY | change)


def test_it_says_what_the_package_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (package,) = ENTRY["packages"]

    assert (package["identifier"], package["version"], ENTRY["version"]) == (project["name"], __version__, __version__)


def test_the_page_of_the_package_names_the_entry() -> None:
    # The registry looks for it there, as the proof that the entry is the package owner's.
    assert f"<!-- mcp-name: {ENTRY['name']} -->" in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()


def test_its_arguments_and_variables_are_those_of_the_program() -> None:
    (package,) = ENTRY["packages"]
    (argument,) = package["packageArguments"]
    variables = {variable["name"] for variable in package["environmentVariables"]}
    settings = (ROOT / "metagit_mcp/settings.py").read_text(encoding="utf-8")

    assert argument["value"] == serve.name
    assert {name for name in variables if f'"{name}"' not in settings} == set()
