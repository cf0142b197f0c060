"""The charts of all add-ons at once, in parallel, with every problem: before anything is changed."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from talosmith.charts.content import ChartContent, ChartProblem
from talosmith.charts.fetch import Fetcher, Offline
from talosmith.charts.lock import Lock, Locked
from talosmith.errors import TalosmithError, Temporary
from talosmith.helm.errors import DigestDiffers
from talosmith.helm.store import Store, default_folder
from talosmith.model.cluster import ChartPin

if TYPE_CHECKING:
    from talosmith.helm.download import Client

_AT_ONCE = 8
_UNREACHABLE = "check the network, set `charts.mirrors`, or load a bundle made by `talosmith addons bundle`"


def resolve(
    pins: Mapping[str, ChartPin],
    lock: Lock,
    *,
    mirrors: Mapping[str, str],
    client: Client | None = None,
    store: Store | None = None,
    offline: bool = False,
) -> tuple[dict[str, ChartContent], list[ChartProblem]]:
    """The chart of each add-on, and a problem for each that cannot be had.

    What is locked and in the cache needs no network. A chart is fetched by its mirror if there is one, and never used
    if its digest is not that of the lock or of the inventory.
    """
    fetcher = Fetcher(store or Store(default_folder()), mirrors, client, offline)
    locked = {addon: lock.get(addon, pin) for addon, pin in pins.items()}

    def one(addon: str) -> ChartContent | ChartProblem:
        try:
            return fetcher.fetch(pins[addon], locked[addon])
        except TalosmithError as problem:
            return _problem(addon, pins[addon], locked[addon], problem)
        except OSError as problem:
            where = f"{problem.filename}: " if problem.filename else ""
            return ChartProblem(addon, f"the chart cannot be read: {where}{problem.strerror}", "check this folder")

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="chart") as pool:
        found = dict(zip(pins, pool.map(one, pins), strict=True))
    contents = {addon: each for addon, each in found.items() if isinstance(each, ChartContent)}
    return contents, [each for each in found.values() if isinstance(each, ChartProblem)]


def _problem(addon: str, pin: ChartPin, locked: Locked | None, problem: TalosmithError) -> ChartProblem:
    if isinstance(problem, DigestDiffers):
        return _other_digest(addon, pin, locked, problem)
    if isinstance(problem, Temporary | Offline):
        return ChartProblem(addon, str(problem), _UNREACHABLE)
    return ChartProblem(addon, str(problem), problem.hint or f"correct addons.{addon}, or use another chart")


def _other_digest(addon: str, pin: ChartPin, locked: Locked | None, problem: DigestDiffers) -> ChartProblem:
    if locked is not None and pin.digest and pin.digest != locked.digest:
        return ChartProblem(
            addon,
            f"the inventory pins the digest {pin.digest}, charts.lock has {locked.digest}",
            f"correct addons.{addon}.digest, or remove {addon} from charts.lock",
        )
    who = "charts.lock" if locked is not None else f"addons.{addon}.digest"
    if problem.manifest == problem.expected:
        return ChartProblem(
            addon,
            f"{who} has {problem.expected}, which is the digest of the manifest; its archive has {problem.found}",
            f"set addons.{addon}.digest to the digest of the archive",
        )
    return ChartProblem(
        addon,
        f"{pin.source} {pin.version} has the digest {problem.found}, but {who} has {problem.expected}",
        "the content was changed in the registry or on the way: do not use it before you know why"
        + (f"; if it is right, remove {addon} from charts.lock" if locked else ""),
    )
