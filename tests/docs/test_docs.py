"""Check that the docs name everything a person can type, set or meet."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from pathlib import Path
from typing import cast

import pytest

from ctxheap_collector.cli.exits import Exit
from ctxheap_collector.cli.main import COMMANDS, build_parser
from ctxheap_collector.report.palette import GROUPS, PHASES, Group
from report.schema import check_schema

ROOT = Path(__file__).parents[2]
CLI = (ROOT / "docs" / "cli.md").read_text("utf-8")
REPORT = (ROOT / "docs" / "report.md").read_text("utf-8")
PACKAGES = ("instrumentation", "collector", "dashboard", "sql")
# SPEC 2.
KINDS = """
    system_prompt tool_definition user_turn agent_output agent_reasoning tool_call tool_result retrieval
    memory example harness summary receipt media framing unattributed
"""


def commands() -> dict[str, ArgumentParser]:
    added = ArgumentParser().add_subparsers()
    parsers = [cast("ArgumentParser", module.add_parser(added)) for module in COMMANDS]
    return {parser.prog.split()[-1]: parser for parser in parsers}


def flags() -> list[str]:
    parsers = [build_parser(), *commands().values()]
    return sorted({flag for parser in parsers for flag in re.findall(r"--[a-z-]+", parser.format_help())})


def variables() -> list[str]:
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    found = (re.findall(r"\bCTXHEAP_[A-Z_]+\b", path.read_text("utf-8")) for path in paths)
    return sorted({name for names in found for name in names})


@pytest.mark.parametrize("command", sorted(commands()))
def test_every_command_is_in_the_docs(command: str) -> None:
    assert f"## `ctxheap {command}`" in CLI


@pytest.mark.parametrize("flag", flags())
def test_every_flag_is_in_the_docs(flag: str) -> None:
    assert flag in CLI


@pytest.mark.parametrize("code", Exit)
def test_every_exit_code_is_in_the_docs(code: Exit) -> None:
    assert f"\n| {code.value} | " in CLI


@pytest.mark.parametrize("variable", [*variables(), "NO_COLOR", "COLUMNS"])
def test_every_environment_variable_is_in_the_docs(variable: str) -> None:
    assert f"\n| `{variable}` | " in CLI


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.letter)
def test_every_kind_of_tag_is_in_the_docs_with_its_letter(group: Group) -> None:
    assert [f"\n| {group.letter} | `{kind}` | " in REPORT for kind in group.kinds] == [True] * len(
        group.kinds
    )


def test_every_kind_of_the_spec_has_a_group() -> None:
    assert sorted(kind for group in GROUPS for kind in group.kinds) == sorted(KINDS.split())


@pytest.mark.parametrize(("phase", "mark"), [(phase, mark) for phase, mark, _ in PHASES])
def test_every_phase_is_in_the_docs_with_its_mark(phase: str, mark: str) -> None:
    assert f"\n| {phase} | `{mark}` | " in REPORT


def test_schema_in_the_docs_is_valid() -> None:
    check_schema()


def test_links_between_the_docs_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", CLI + REPORT)

    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
