"""Runs the real Helm on a chart, and compares what it and talosmith make of it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talosmith.helm import ChartError, Release, capabilities, yaml_in
from talosmith.helm.folder import read
from talosmith.helm.manifests import split
from talosmith.helm.overrides import Override, applied
from talosmith.helm.renderer import render_files

KUBE_VERSION = "v1.36.3"
_SOURCE = re.compile(r"# Source: (\S+)\n")


@dataclass(frozen=True)
class Case:
    """One question that both are asked."""

    values: Mapping[str, Any] = field(default_factory=dict)
    overrides: Sequence[Override] = ()
    api_versions: tuple[str, ...] = ()
    kube_version: str = KUBE_VERSION
    is_upgrade: bool = False


def by_helm(helm: Path, chart: Path, case: Case) -> tuple[list[tuple[str, str]], str]:
    """Sources and documents of `helm template`, in its order, or its error."""
    command = [str(helm), "template", "rel", str(chart), "--namespace", "ns", "--include-crds", "--values", "-"]
    command += ["--kube-version", case.kube_version]
    command += [part for one in case.api_versions for part in ("--api-versions", one)]
    command += [part for one in case.overrides for part in ("--set-json", f"{one.path}={json.dumps(one.value)}")]
    command += ["--is-upgrade"] if case.is_upgrade else []
    result = subprocess.run(
        command, input=json.dumps(case.values, ensure_ascii=False).encode(), capture_output=True, check=False
    )
    if result.returncode:
        return [], result.stderr.decode()
    documents = []
    source = ""
    for text in split(result.stdout.decode()):
        told = _SOURCE.match(text)
        if told:
            source = told[1]
        documents.append((source, text[told.end() :] if told else text))
    return documents, ""


def by_talosmith(chart: Path, case: Case) -> tuple[list[tuple[str, str]], str]:
    given = applied(yaml_in.as_values(dict(case.values)), case.overrides)
    cluster = capabilities(case.kube_version, case.api_versions)
    try:
        rendered = render_files(read(chart), Release("rel", "ns", is_upgrade=case.is_upgrade), given, cluster)
    except ChartError as problem:
        return [], str(problem)
    return [(one.source, one.text + "\n") for one in (*rendered.crds, *rendered.objects, *rendered.hooks)], ""


def differences(helm: Path, chart: Path, case: Case) -> tuple[int, list[str]]:
    """How many objects there are, and every one that is not the same in both, by content and by place."""
    theirs, their_error = by_helm(helm, chart, case)
    ours, our_error = by_talosmith(chart, case)
    if their_error or our_error:
        return 0, [f"helm: {their_error or 'no error'}\ntalosmith: {our_error or 'no error'}"]
    expected, got = _in_order(theirs), _in_order(ours)
    if [name for name, _, _ in expected] != [name for name, _, _ in got]:
        return 0, [f"helm renders {[name for name, _, _ in expected]}\ntalosmith {[name for name, _, _ in got]}"]
    found = []
    for (name, their_object, their_text), (_, our_object, our_text) in zip(expected, got, strict=True):
        if their_object != our_object:
            found.append(f"{name}:\n--- helm\n{their_text}\n--- talosmith\n{our_text}")
        elif their_text.strip() != our_text.strip():
            found.append(f"{name}: same object, other text:\n--- helm\n{their_text}\n--- talosmith\n{our_text}")
    return len(got), found


def _in_order(documents: Iterable[tuple[str, str]]) -> list[tuple[str, Any, str]]:
    """Objects as they came, hooks by their names behind them: `helm template` prints hooks in no order of running."""
    objects = list(_objects(documents))
    hooks = [one for one in objects if _is_hook(one[1])]
    return [one for one in objects if not _is_hook(one[1])] + sorted(hooks, key=lambda one: one[0])


def _is_hook(content: Mapping[str, Any]) -> bool:
    return "helm.sh/hook" in ((content.get("metadata") or {}).get("annotations") or {})


def _objects(documents: Iterable[tuple[str, str]]) -> Iterable[tuple[str, Any, str]]:
    for source, text in documents:
        content = yaml_in.load(text, whole_numbers=True)
        if content:
            name = f"{source} {content.get('kind')} {(content.get('metadata') or {}).get('name')}"
            yield name, content, text
