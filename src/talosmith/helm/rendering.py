"""The front door: a chart from anywhere, values and overrides in, objects out; the same question is answered once.

A result that holds a Secret is kept in memory only: what charts make of values may be as secret as the values.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from talosmith.helm import yaml_in
from talosmith.helm.capabilities import HELM_VERSION, Capabilities, capabilities
from talosmith.helm.chart import digest, overlaid
from talosmith.helm.errors import ChartError
from talosmith.helm.manifests import Hook, RenderedObject
from talosmith.helm.overrides import Override, applied
from talosmith.helm.release import Release, Rendered
from talosmith.helm.store import Store, default_folder

if TYPE_CHECKING:
    from talosmith.helm.download import Client
    from talosmith.helm.sources import ChartSource

_FORMAT = 2  # of what is kept; a new one leaves the old behind
_KEPT = 64
_memory: OrderedDict[str, bytes] = OrderedDict()


def render(
    source: ChartSource,
    release: Release,
    values: Mapping[str, Any] | Iterable[Mapping[str, Any]] = (),
    overrides: Iterable[Override] = (),
    *,
    cluster: Capabilities | None = None,
    client: Client | None = None,
    store: Store | None = None,
    check_schema: bool = True,
    fall_back: bool = False,
) -> Rendered:
    """The objects of a release of the chart.

    Several values are laid over each other, later ones win; overrides come last. With `fall_back`, a `helm` on PATH
    renders what our renderer stops at; the result then says so in `renderer` and `note`.
    """
    from talosmith.helm.download import Client
    from talosmith.helm.sources import fetch

    store = store or Store(default_folder())
    files = fetch(source, client or Client(), store)
    return render_known(
        digest(files),
        lambda: files,
        release,
        together(values, overrides),
        cluster=cluster or capabilities(),
        store=store,
        check_schema=check_schema,
        fall_back=fall_back,
    )


def render_known(
    chart: str,
    load: Callable[[], Mapping[str, bytes]],
    release: Release,
    given: dict[str, Any],
    *,
    cluster: Capabilities,
    store: Store,
    check_schema: bool = True,
    fall_back: bool = False,
    private: bool = False,
) -> Rendered:
    """The objects of a release of the chart with this digest; its files are loaded only if they are needed.

    `private`: the values hold secrets, so that the result is kept in memory only, whatever it holds.
    """
    key = _key(chart, release, given, cluster, check_schema)
    kept = _kept(key, store)
    if kept is not None:
        return kept
    # These bring the template functions, which take longer to import than a kept result takes to read.
    from talosmith.helm import binary
    from talosmith.helm.renderer import render_files

    files = load()
    try:
        rendered = render_files(files, release, given, cluster, check_schema=check_schema)
    except ChartError as problem:
        helm = binary.find() if fall_back else None
        if helm is None:
            raise
        try:
            rendered = binary.render(helm, files, release, given, cluster, check_schema=check_schema)
        except ChartError:
            raise problem from None  # helm stops there as well: ours names the template and the line
        rendered = replace(rendered, note=f"rendered by {helm}, for our own renderer stopped: {problem}")
    _keep(key, rendered, store, private=private)
    return rendered


def together(
    values: Mapping[str, Any] | Iterable[Mapping[str, Any]], overrides: Iterable[Override]
) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for layer in (values,) if isinstance(values, Mapping) else values:
        given = overlaid(given, layer)
    # Numbers of values are floating-point numbers to templates, those of overrides whole ones, as with `--set`.
    return applied(yaml_in.as_values(given), overrides)


def _key(chart: str, release: Release, given: dict[str, Any], cluster: Capabilities, check_schema: bool) -> str:
    question = [
        _FORMAT, HELM_VERSION, chart, asdict(release), given, cluster.KubeVersion.Version, list(cluster.APIVersions),
        check_schema,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(question, sort_keys=True, default=str).encode()).hexdigest()


def _kept(key: str, store: Store) -> Rendered | None:
    content = _memory.get(key)
    if content is None:
        try:
            content = store.rendered(key).read_bytes()
        except OSError:
            return None
    try:
        kept = json.loads(content)
        return Rendered(
            objects=tuple(RenderedObject(**one) for one in kept["objects"]),
            hooks=tuple(
                Hook(**{**one, "events": tuple(one["events"]), "delete_policies": tuple(one["delete_policies"])})
                for one in kept["hooks"]
            ),
            crds=tuple(RenderedObject(**one) for one in kept["crds"]),
            renderer=kept["renderer"],
            note=kept["note"],
            volatile={tuple(one): tuple(map(tuple, paths)) for one, paths in kept["volatile"]},
        )
    except (ValueError, TypeError, KeyError):  # damaged: as good as none
        return None


def _keep(key: str, rendered: Rendered, store: Store, *, private: bool) -> None:
    content = json.dumps(
        {
            "objects": [vars(one) for one in rendered.objects],
            "hooks": [vars(one) for one in rendered.hooks],
            "crds": [vars(one) for one in rendered.crds],
            "renderer": rendered.renderer,
            "note": rendered.note,
            "volatile": list(rendered.volatile.items()),
        }
    ).encode()
    _memory[key] = content
    while len(_memory) > _KEPT:
        _memory.popitem(last=False)
    if not private and not any(map(_is_secret, (*rendered.objects, *rendered.hooks))):
        try:
            store.write(store.rendered(key), content)
        except OSError:
            return  # a cache that cannot be written is no reason to fail


def _is_secret(one: RenderedObject) -> bool:
    """A Secret with content; charts create empty ones, too, which their programs fill."""
    return one.kind == "Secret" and bool(one.content.get("data") or one.content.get("stringData"))
