"""JSON patches (RFC 6902), as lenient as the API server, which uses the library that Talos uses for its configs.

Whatever is wrong with an operation, the API server has one answer for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talosmith.desired.config.patch.jsonpatch import JsonPatchError, apply_operations
from talosmith_lab.kube.errors import ApiError, bad_request
from talosmith_lab.kube.kinds import Obj


def apply_json_patch(obj: Obj, operations: Sequence[Obj]) -> Any:
    if not isinstance(operations, list):
        what = "object" if isinstance(operations, dict) else "value"
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {what} into Go value of type []handlers.jsonPatchOp"
        )
    try:
        return apply_operations(obj, operations)
    except JsonPatchError:
        raise ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {}) from None
