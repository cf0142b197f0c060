"""What programs that we start get of our environment: all of it but secrets.

A user may keep an age key or a token there, for us. Who runs longer than the command, or is not ours, has no use for
it, and any process that may read its environment would find it there.
"""

from __future__ import annotations

import os
import re

_SECRETS = re.compile(r"^SOPS_|TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE|ACCESS_KEY|API_?KEY|_KEY$", re.IGNORECASE)


def for_children() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not _SECRETS.search(name)}
