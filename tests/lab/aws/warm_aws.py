"""The warm parent of talosmith processes for this folder: it has also imported boto3."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial

from tests.lab.up import warm
from tests.simulators.aws_names import resolve

_NEEDED = ("boto3",)


start = partial(warm.start, module="tests.lab.aws.warm_aws")


def _nodes_are_of_the_lab() -> None:
    """What takes AWS minutes takes the simulated one milliseconds, and nobody need wait longer."""
    from talosmith.providers import aws

    plain = aws.settings_of
    aws.AwsProvider.simulated = True
    aws.settings_of = lambda *given: replace(plain(*given), between=0.05, settle=0.2)


if __name__ == "__main__":
    warm._NEEDED = (*warm._NEEDED, *_NEEDED)
    _nodes_are_of_the_lab()
    resolve(zones=True)
    warm.serve(sys.argv[1])
