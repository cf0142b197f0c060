"""What every test may ask for, and the rule that nothing is skipped quietly."""

from __future__ import annotations

import os
import runpy
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import rsa_keys
from tools.peers import PeerUnavailable, find

pytest.register_assert_rewrite("tests.provider_contract", "tests.resource_contract")  # assertions tell what they saw

REAL = tuple(Path(__file__).parent / folder for folder in ("real", "contract"))
GUARD = Path(__file__).parent / "network_guard"
REAL_FIXTURES = {"peer", "libvirt_library"}
LONGEST = {
    "test_answers_get_lost",
    "test_random_worlds_converge_and_nothing_is_done_that_was_not_shown",
    "test_a_thousand_nodes_are_seen",
    "test_every_command_prints_what_its_schema_says",
    "test_three_real_machines",
    "test_three_environments_at_once",
    "test_sandbox_from_policy_to_destroy",
    "test_killed_at_some_events_and_calls",
    "test_one_call_in_ten_fails",
}
PYTHON_ALONE = os.environ.get("TALOSMITH_PYTHON_ALONE") == "1"  # as `make test` sets it
NO_SKIPS = os.environ.get("TALOSMITH_NO_SKIPS") == "1"

# How long an example takes says how busy the machine is, not whether the example holds.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("new examples", UNHURRIED)
# In CI the same examples every time, so that a change is blamed only for what it broke; elsewhere new ones each time.
settings.register_profile("ci", UNHURRIED, derandomize=True)
settings.load_profile("ci" if NO_SKIPS else "new examples")


def pytest_configure(config: pytest.Config) -> None:
    if (cache := getattr(config, "cache", None)) is not None:  # not with `-p no:cacheprovider`
        rsa_keys.reuse(cache.mkdir("rsa-keys"))


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """A background job is started with Ctrl-C ignored, and hands that on to all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def dialed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What tests and the Python programs that they start dialed outside loopback; the guard refuses it."""
    file = tmp_path_factory.mktemp("guard") / "dialed"
    file.touch()
    path = os.pathsep.join(filter(None, (str(GUARD), os.environ.get("PYTHONPATH"))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        runpy.run_path(str(GUARD / "sitecustomize.py"))  # in this process
        yield file


@pytest.fixture(autouse=True)
def nothing_outside_loopback_is_dialed(request: pytest.FixtureRequest, dialed: Path) -> Iterator[None]:
    """Tests of the real tier dial the addresses of namespaces that they made; all others stay on this machine."""
    if request.node.get_closest_marker("real"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TALOSMITH_DIALED", str(dialed))
        yield
    addresses = dialed.read_text(encoding="utf-8").split()
    dialed.write_text("", encoding="utf-8")
    assert not addresses, f"dialed outside loopback: {sorted(set(addresses))}"


@pytest.fixture(scope="session")
def peer() -> Callable[[str], Path]:
    """`peer("talosctl")` is the path of the real tool; who asks for it is in the real tier (`make test-real`)."""

    def path_of(binary: str) -> Path:
        if PYTHON_ALONE:  # whether it is built or not: on a fresh machine it is not
            pytest.fail(f"a test of the first tier asks for {binary}; mark it as real")
        try:
            return find(binary)
        except PeerUnavailable as problem:
            pytest.skip(str(problem))

    return path_of


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The real tier: these folders, and whatever asks for a real tool. Other tests may say `real` themselves.

    The longest tests begin first: what waits for a minute at the end, all others wait for.
    """
    items.sort(key=lambda item: getattr(item, "originalname", "") not in LONGEST)
    for item in items:
        if any(map(item.path.is_relative_to, REAL)) or REAL_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.real)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped and NO_SKIPS:
        terminalreporter.write_line(f"{len(skipped)} tests were skipped, and here none may be", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if NO_SKIPS and exitstatus == 0 and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
