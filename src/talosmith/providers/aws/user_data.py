"""The machine config as user data of an instance: AWS takes 16 KiB; Talos unpacks what is compressed."""

from __future__ import annotations

import gzip

from talosmith.errors import Permanent
from talosmith.model.secret import Secret

LIMIT = 16 * 1024
_COMPRESSED_ABOVE = 12 * 1024


def user_data(name: str, config: Secret) -> bytes:
    text = config.reveal().encode()
    data = gzip.compress(text, mtime=0) if len(text) > _COMPRESSED_ABOVE else text
    if len(data) > LIMIT:
        raise Permanent(
            f"{name}: the machine config has {len(text)} bytes, compressed {len(data)}; AWS takes {LIMIT}",
            hint="set `aws.seed: false`: nodes then wait in maintenance mode, and get their config by the Talos API; "
            "or move inline manifests out of the patches",
        )
    return data
