"""The functions that charts may call: Go's own, Sprig's (by gotpl) and Helm's.

Where a function stands here although gotpl has it, gotpl's answer differs from Go's, or is slow in a function that
charts call thousands of times.
"""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from gotpl.funcs.sprig import text_func_map
from gotpl.funcs.sprig.defaults import must_to_json
from gotpl.runtime.results import FunctionResult, unwrap_function_result

from talosmith.helm import volatile
from talosmith.helm.budget import MAX_ITEMS, limited
from talosmith.helm.builtins import BUILTINS
from talosmith.helm.durations import FUNCTIONS as DURATIONS
from talosmith.helm.errors import ChartError
from talosmith.helm.expressions import ChartStop
from talosmith.helm.go_text import formatted
from talosmith.helm.toml_out import to_toml
from talosmith.helm.yaml_in import load
from talosmith.yaml.kubernetes_out import to_yaml, to_yaml_pretty


def to_yaml_or_nothing(value: Any) -> str:
    try:
        return to_yaml(value)
    except (TypeError, ValueError):
        return ""


def to_toml_or_error(value: Any) -> str:
    try:
        return to_toml(value)
    except TypeError as problem:
        return str(problem)


def from_yaml(text: str) -> dict[str, Any]:
    try:
        value = load(text)
    except ChartError as problem:
        return {"Error": f"error converting YAML to JSON: {problem}"}
    if value is None:
        return {}
    if isinstance(value, dict):
        return copy.deepcopy(value)
    return {"Error": "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal into Go value of type map"}


def from_yaml_array(text: str) -> list[Any]:
    try:
        value = load(text)
    except ChartError as problem:
        return [f"error converting YAML to JSON: {problem}"]
    if value is None:
        return []
    if isinstance(value, list):
        return copy.deepcopy(value)
    return [
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal into Go value of type []interface {}"
    ]


def from_json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_int=float)
    except ValueError as problem:
        return {"Error": str(problem)}
    if isinstance(value, dict):
        return value
    return {} if value is None else {"Error": "json: cannot unmarshal into Go value of type map[string]interface {}"}


def from_json_array(text: str) -> list[Any]:
    try:
        value = json.loads(text, parse_int=float)
    except ValueError as problem:
        return [str(problem)]
    if isinstance(value, list):
        return value
    return [] if value is None else ["json: cannot unmarshal into Go value of type []interface {}"]


def from_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        return {"Error": str(problem)}


def to_json(value: Any) -> str:
    try:
        return str(unwrap_function_result(must_to_json(value)))
    except (TypeError, ValueError):
        return ""


def required(message: str, value: Any) -> Any:
    if value is None or value == "":
        raise ChartStop(message)
    return value


def fail(message: str) -> str:
    raise ChartStop(message)


def default(fallback: Any, *given: Any) -> Any:
    return given[0] if given and given[0] else fallback


def empty(value: Any) -> bool:
    return not value


def coalesce(*values: Any) -> Any:
    for value in values:
        if value:
            return value
    return None


def quote(*values: Any) -> str:
    return " ".join(_quoted(_text(value)) for value in values if value is not None)


@lru_cache(maxsize=4096)
def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    short = {"\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v", '"': '"', "\\": "\\"}
    if character in short:
        return "\\" + short[character]
    if character == " " or character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def squote(*values: Any) -> str:
    return " ".join(f"'{formatted(value)}'" for value in values if value is not None)


def _text(value: Any) -> str:
    """Sprig's way to text: bytes are taken for text."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return formatted(value)


def indent(spaces: int, text: str) -> str:
    pad = " " * min(spaces, MAX_ITEMS)
    return pad + text.replace("\n", "\n" + pad)


def nindent(spaces: int, text: str) -> str:
    pad = "\n" + " " * min(spaces, MAX_ITEMS)
    return pad + text.replace("\n", pad)


# A nil stands for an empty map wherever Go's functions take a map.


def has_key(mapping: Mapping[str, Any] | None, key: str) -> bool:
    return key in (mapping or {})


def get(mapping: Mapping[str, Any] | None, key: str) -> Any:
    return (mapping or {}).get(key, "")


def pick(mapping: Mapping[str, Any] | None, *wanted: str) -> dict[str, Any]:
    return {key: mapping[key] for key in wanted if mapping and key in mapping}


def omit(mapping: Mapping[str, Any] | None, *unwanted: str) -> dict[str, Any]:
    return {key: value for key, value in (mapping or {}).items() if key not in unwanted}


def pluck(key: str, *mappings: Mapping[str, Any] | None) -> list[Any]:
    return [mapping[key] for mapping in mappings if mapping and key in mapping]


def dig(*arguments: Any) -> Any:
    *path, fallback, mapping = arguments
    if not isinstance(mapping, Mapping):
        raise TypeError("dig takes a dict last")
    value: Any = mapping
    for place, key in enumerate(path):
        if not isinstance(value, Mapping):
            raise TypeError(f"dig: {path[place - 1]} is no dict")
        if key not in value:
            return fallback
        value = value[key]
    return value


def keys(*mappings: Mapping[str, Any] | None) -> list[str]:
    """Go walks over maps in no order; charts that care sort, and a stable order is the better of all."""
    return [key for mapping in mappings for key in sorted(mapping or {})]


def values(mapping: Mapping[str, Any] | None) -> list[Any]:
    return [mapping[key] for key in sorted(mapping)] if mapping else []


def merge(target: dict[str, Any], *sources: dict[str, Any] | None) -> dict[str, Any]:
    for source in sources:
        _merge(target, source or {}, overwrite=False)
    return target


def merge_overwrite(target: dict[str, Any], *sources: dict[str, Any] | None) -> dict[str, Any]:
    for source in sources:
        _merge(target, source or {}, overwrite=True)
    return target


def _merge(target: dict[str, Any], source: dict[str, Any], *, overwrite: bool) -> None:
    for key, value in source.items():
        present = target.get(key)
        if isinstance(present, dict) and isinstance(value, dict):
            _merge(present, value, overwrite=overwrite)
        elif overwrite or not present:
            target[key] = value


def deep_copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: deep_copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [deep_copy(item) for item in value]
    return value


def lookup(api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
    """Rendering never asks a cluster, so nothing is ever found; `helm template` does the same."""
    return {}


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """gotpl's functions that may fail wrap their result; unwrap it."""
    if "FunctionResult" not in str(getattr(function, "__annotations__", {}).get("return", "")):
        return function

    def unwrapped(*arguments: Any) -> Any:
        result = function(*arguments)
        return unwrap_function_result(result) if isinstance(result, FunctionResult) else result

    return unwrapped


@lru_cache(maxsize=1)
def function_map() -> Mapping[str, Callable[..., Any]]:
    """Every function by its name in templates; `include` and `tpl` are compiled."""
    sprig = text_func_map()
    for name in ("env", "expandenv"):
        del sprig[name]
    own: dict[str, Callable[..., Any]] = {
        "toYaml": to_yaml_or_nothing,
        "mustToYaml": to_yaml,
        "toYamlPretty": to_yaml_pretty,
        "toToml": to_toml_or_error,
        "mustToToml": to_toml,
        "fromYaml": from_yaml,
        "fromYamlArray": from_yaml_array,
        "toJson": to_json,
        "fromJson": from_json,
        "fromJsonArray": from_json_array,
        "fromToml": from_toml,
        "required": required,
        "fail": fail,
        "lookup": lookup,
        "include": lambda name, data: None,
        "tpl": lambda text, data: None,
        "default": default,
        "empty": empty,
        "coalesce": coalesce,
        "quote": quote,
        "squote": squote,
        "toString": _text,
        "indent": indent,
        "nindent": nindent,
        "hasKey": has_key,
        "get": get,
        "pick": pick,
        "omit": omit,
        "pluck": pluck,
        "dig": dig,
        "keys": keys,
        "values": values,
        "merge": merge,
        "mustMerge": merge,
        "mergeOverwrite": merge_overwrite,
        "mustMergeOverwrite": merge_overwrite,
        "deepCopy": deep_copy,
        "mustDeepCopy": deep_copy,
        "getHostByName": lambda name: "",  # rendering asks no name server either
    }
    every = {**BUILTINS, **DURATIONS, **{name: _plain(function) for name, function in sprig.items()}, **own}
    every = limited(every)
    return every | volatile.watched(every)
