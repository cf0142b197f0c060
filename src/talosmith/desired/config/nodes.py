"""YAML text as nodes that still know their place and whether they were quoted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml
from yaml.nodes import MappingNode as MappingNode
from yaml.nodes import Node as Node
from yaml.nodes import ScalarNode as ScalarNode
from yaml.nodes import SequenceNode as SequenceNode

from talosmith.desired.config.problems import fail
from talosmith.yaml.go_words import NULLS, resolve
from talosmith.yaml.limits import LimitExceeded, check_limits

_TEXT = "tag:yaml.org,2002:str"
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def compose(text: str, source: str) -> list[Node]:
    """The documents in a text."""
    try:
        check_limits(text)
        return [node for node in yaml.compose_all(text, Loader=_LOADER) if node is not None]
    except LimitExceeded as error:
        raise fail(error.what, source, error.line) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise fail(f"not YAML: {error.problem or error.context}", source, mark.line + 1 if mark else 0) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise fail(f"not YAML: {type(error).__name__}", source) from None


def line_of(node: Node) -> int:
    return int(node.start_mark.line) + 1 if node.start_mark is not None else 0


def is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value in NULLS and not node.style


def is_tagged(node: Node) -> bool:
    return node.tag != _TEXT


def plain(node: Node) -> Any:
    """The value of a node that no schema describes; raises `ValueError` for what cannot be one."""
    if isinstance(node, ScalarNode):
        return node.value if node.style else resolve(node.value)
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node.value]
    made: dict[Any, Any] = {}
    merged: dict[Any, Any] = {}
    for key, value in node.value:
        if key.value == "<<" and not key.style:
            for part in value.value if isinstance(value, SequenceNode) else [value]:
                merged = {**plain(part), **merged}
            continue
        name = plain(key)
        if isinstance(name, list | dict):
            raise ValueError("has a key that is not text")
        made[name] = plain(value)
    return {**merged, **made} if merged else made


def substitute(node: Node, fill: Callable[[str], str]) -> Node:
    """The node with every scalar's text passed through `fill`. What does not change is shared."""
    if isinstance(node, ScalarNode):
        text = fill(node.value) if "${" in node.value else node.value
        if text is node.value:
            return node
        return ScalarNode(node.tag, text, node.start_mark, node.end_mark, node.style)
    if isinstance(node, SequenceNode):
        items = [substitute(item, fill) for item in node.value]
        return _like(node, items) if any(new is not old for new, old in zip(items, node.value, strict=True)) else node
    both = [(substitute(key, fill), substitute(value, fill)) for key, value in node.value]
    changed = any(new[0] is not old[0] or new[1] is not old[1] for new, old in zip(both, node.value, strict=True))
    return _like(node, both) if changed else node


def _like(node: Node, value: list[Any]) -> Node:
    return type(node)(node.tag, value, node.start_mark, node.end_mark)


def from_value(value: Any) -> Node:
    """The node that a plain value would be read from."""
    if isinstance(value, dict):
        return MappingNode("", [(from_value(key), from_value(inner)) for key, inner in value.items()])
    if isinstance(value, list | tuple):
        return SequenceNode("", [from_value(item) for item in value])
    if isinstance(value, str):
        return ScalarNode(_TEXT, value, style='"')
    if value is None or isinstance(value, bool):
        return ScalarNode(_TEXT, {None: "null", True: "true", False: "false"}[value])
    if isinstance(value, int | float):
        return ScalarNode(_TEXT, str(value))
    raise TypeError(f"a machine config has no place for a {type(value).__name__}")
