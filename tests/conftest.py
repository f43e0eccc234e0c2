"""Fail a CI run in which a whole group of tests was skipped, so that a green run means something."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


class SkippedGroups:
    """Watch the outcome of each group: a folder of tests/, and the tests that read the shared corpus."""

    def __init__(self) -> None:
        self.ran: dict[str, bool] = defaultdict(bool)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        parts = Path(report.nodeid.split("::")[0]).parts
        groups = {parts[1] if len(parts) > 2 else "tests"}
        if "shared" in report.keywords and SHARED.is_dir():
            groups.add("shared")
        for group in groups:
            self.ran[group] |= report.when == "call" and not report.skipped

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if os.environ.get("CI") and self.idle() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.idle():
            terminalreporter.write_line(f"every test was skipped in: {', '.join(self.idle())}", red=True)

    def idle(self) -> list[str]:
        """Return the groups of which no test ran."""
        return sorted(group for group, ran in self.ran.items() if not ran)


# Agents of eleven SDKs, with and without the hook, with a fault at every line: `CTXHEAP_WIRE=1` runs them.
collect_ignore = [] if os.environ.get("CTXHEAP_WIRE") else ["wire"]

# A machine that does other things as well is slow, which says nothing about the code.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SkippedGroups(), "skipped-groups")
    os.environ["CTXHEAP_CACHE"] = "off"  # tests neither read nor write the user's cache


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the shared corpus, or skip: it is not part of the repository."""
    if not SHARED.is_dir():
        pytest.skip("the shared corpus is not beside the repository")
    return SHARED
