"""A simulated AWS behind its HTTP API: moto in this process, and before it a proxy that corrects and breaks it.

    cloud = Cloud()
    with serving(cloud) as server:
        env = server.env()  # of a process that uses AWS; `server.env("222222222222")` is another account
        boto3.client("ec2", endpoint_url=server.url, region_name="eu-central-1", …)
        cloud.calls  # each with .service, .action, .params, .mutating, .error
        before = cloud.kept()  # everything that exists, to be compared

Images: `images.image_id("v1.13.9", "eu-central-1")`. Time: `cloud.clock` runs like the computer's and is ahead of it
by `pass_time(seconds)`; `cloud.clock.freeze()`. What tests can set: `deny("ec2:RunInstances")`, `allow_only(policy)`,
`expire_credentials()`, `refused_keys`, `throttle(n)`, `refuse("ec2:RunInstances", "InsufficientInstanceCapacity")`,
`fail_some(percent, seed)`, `lose_answers(n)`, `hide_new(seconds)`, `skew(seconds)`, `kill_instance(id)`, `linger`,
`balancer_takes`, `launch_takes`, `stop_takes`, `terminate_takes`, `quotas`, `public_is_private`, `target_listens`,
`watchers`.

`lab_guests` puts nodes of the lab behind the instances, `balancer` lets load balancers forward to them, and
`aws_names` beside this folder resolves the names of the simulated Route 53 in a process. One `Cloud` at a time;
`reset()` empties it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import images
    from .calls import Call
    from .server import Server, serving
    from .world import Cloud

__all__ = ["Call", "Cloud", "Server", "images", "serving"]
_HOMES = {"Call": "calls", "Cloud": "world", "Server": "server", "serving": "server"}


def __getattr__(name: str) -> Any:
    """Imported when it is needed: a process that only resolves names does without moto."""
    if name not in __all__:
        raise AttributeError(name)
    home = import_module(f".{_HOMES.get(name, name)}", __name__)
    return getattr(home, name) if name in _HOMES else home
