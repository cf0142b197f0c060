"""`talosmith addons`"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.errors import ExitCode, Permanent, no_such
from talosmith.observed.world import AddonsSeen, ObjectChange, Observed, Unknown
from talosmith.session import Session

T = TypeVar("T")

app = application("What is installed in the cluster: list, show, compare, and pull or bundle the charts.")

NameArgument = Annotated[str, typer.Argument(metavar="ADDON", help="Name of the add-on.")]


@app.command("list")
def list_(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="The add-ons that talosmith knows, with their versions; needs no inventory.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """List the add-ons of the inventory: version, namespace, state, and what enables them."""
    from talosmith.report import addons as report

    if every:
        emit(report.catalogue_data(), output, report.catalogue_text, kind="AddonCatalogue")
        return 0

    async def work(session: Session) -> Any:
        from talosmith.observed.addon_status import addon_statuses

        return addon_statuses(session.desired, await _observed(session))

    found = _run(inventory, environment, work)
    emit(report.list_data(found), output, lambda style: report.list_text(found, style), kind="Addons")
    return ExitCode.DONE if all(one.in_sync for one in found) else ExitCode.CHANGES_PENDING


@app.command()
def show(
    name: NameArgument,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    values: Annotated[bool, typer.Option("--values", help="The Helm values instead of the objects.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Print the objects of an add-on as they are applied, as YAML; values of Secrets are masked."""
    from talosmith.desired.addon_secrets import hide_all
    from talosmith.kube.diff import masked
    from talosmith.report import addons as report
    from talosmith.yaml import goyaml

    async def work(session: Session) -> tuple[Any, dict[str, Any]]:
        from talosmith.desired.addons import values_of

        await session.read_addons()
        _must_exist(name, session)
        found = _rendered(session, name)
        return found, values_of(session.cluster, session.cluster.addons[name])

    found, given = _run(inventory, environment, work)
    every = [*found.crds, *found.objects, *(hook.content for hook in (*found.before, *found.later)), *found.config]
    objects = [masked(hide_all(one, found.hidden)) for one in every]
    data = {
        "name": found.name,
        "version": found.version,
        "namespace": found.namespace,
        "values": given,
        "objects": objects,
    }
    text = goyaml.dump(given).rstrip("\n") if values else report.objects_text(objects)
    emit(data, output, lambda _: text, kind="Addon", document=True)
    return 0


@app.command()
def diff(
    name: Annotated[str | None, typer.Argument(metavar="[ADDON]", help="Only this add-on.")] = None,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Compare the add-ons with the cluster, object by object, by a server-side dry run. Exit code 2: they differ."""
    from talosmith.report import addons as report

    async def work(session: Session) -> Mapping[str, tuple[ObjectChange, ...]]:
        seen = (await _observed(session)).addons
        if name is not None:
            _must_exist(name, session)
            _rendered(session, name)
        for problem in session.desired.addon_problems:
            say(f"add-on {problem.addon}: {problem.what}")
        if not isinstance(seen, AddonsSeen):
            why = seen.why if isinstance(seen, Unknown) else "the cluster does not exist yet"
            raise Permanent(f"the cluster cannot be compared: {why}", hint="see `talosmith status`")
        every = {**seen.each, **({} if name else seen.not_in_inventory)}
        return {one: found.changes for one, found in every.items() if name in (None, one)}

    changes = _run(inventory, environment, work)
    emit(report.diff_data(changes), output, lambda style: report.diff_text(changes, style), kind="AddonDiff")
    differing = any(one.outcome != "kept" for each in changes.values() for one in each)
    return ExitCode.CHANGES_PENDING if differing else ExitCode.DONE


@app.command()
def pull(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="BUNDLE", help="Load the charts from a bundle: no network.")
    ] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Pull the charts into the cache, verify them, and write charts.lock."""
    from talosmith.addon_sources import load_bundle, write_lock

    async def work(session: Session) -> tuple[Any, Path]:
        if source is not None:
            load_bundle(source, session.folder)
        sources = await session.read_addons(offline=source is not None)
        _all_there(sources.problems)
        write_lock(sources, session.folder)
        return sources, session.folder / "charts.lock"

    sources, lock = _run(inventory, environment, work)
    charts = [
        {"addon": name, "source": one.pin.source, "version": one.version, "digest": one.digest}
        for name, one in sources.charts.items()
    ]
    lines = [f"{one['addon']} {one['version']} {one['digest']}" for one in charts]
    emit(
        {"charts": charts, "written": [lock]},
        output,
        lambda style: "\n".join([*(f"{style.green('✓')} {line}" for line in lines), f"{lock}: commit it"]),
        kind="Charts",
    )
    return 0


@app.command()
def bundle(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write: .tar, or .tar.gz.")],
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write the charts, charts.lock and a list of images into one file, for a site without internet access."""
    from talosmith.addon_sources import write_bundle_of

    async def work(session: Session) -> list[str]:
        sources = await session.read_addons()
        _all_there(session.desired.addon_problems)
        return write_bundle_of(out, sources, session.desired.addons)

    images = _run(inventory, environment, work)
    text = f"{out}: charts, charts.lock and images.txt with {len(images)} images"
    emit({"written": [out], "images": images}, output, lambda style: f"{style.green('✓')} {text}", kind="Bundle")
    return 0


def _all_there(problems: tuple[Any, ...]) -> None:
    if problems:
        lines = "; ".join(f"add-on {one.addon}: {one.what}" for one in problems)
        raise Permanent(lines, hint=next((one.fix for one in problems if one.fix), ""))


def _must_exist(name: str, session: Session) -> None:
    if name not in session.cluster.addons:
        raise no_such("add-on", name, session.cluster.addons, otherwise="see `talosmith addons list`")


def _rendered(session: Session, name: str) -> Any:
    for problem in session.desired.addon_problems:
        if problem.addon == name:
            raise Permanent(f"add-on {name}: {problem.what}", hint=problem.fix)
    if name not in session.desired.addons:
        raise Permanent(f"add-on {name} has no objects: Talos installs it", hint="see `talosmith addons list`")
    return session.desired.addons[name]


async def _observed(session: Session) -> Observed:
    return await session.with_addons(await session.observe())


def _run(inventory: Path | None, environment: str | None, work: Callable[[Session], Awaitable[T]]) -> T:
    async def run() -> T:
        async with Session.open(inventory, environment) as session:
            session.tell = say
            return await work(session)

    return asyncio.run(run())
