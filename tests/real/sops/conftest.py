"""One key and one folder for all tests against the real sops."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from sops_tool import Tool


@pytest.fixture(scope="session")
def tool(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Tool:
    folder = tmp_path_factory.mktemp("sops")
    key_file = folder / "keys.txt"
    subprocess.run([peer("age-keygen"), "-o", key_file], check=True, capture_output=True)
    tool = Tool(peer("sops"), peer("age"), peer("age-keygen"), folder, key_file)
    tool.recipient = tool.identities.found[0].recipient
    tool.environment = {"HOME": str(folder), "SOPS_AGE_KEY_FILE": str(key_file), "PATH": "/usr/bin:/bin"}
    return tool
