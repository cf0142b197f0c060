"""The background process of a lab: started, found again and stopped, one for each name.

Each lab has a folder of its own in the user's state folder. Who holds its lock is the lab; a number in a file may be
another process's by now, a lock is not.
"""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from talosmith.environment import for_children
from talosmith.errors import Permanent, TalosmithError, Temporary, UsageError
from talosmith.files.secret import make_private_folder, write_secret
from talosmith.providers.lab.binaries import find_binaries
from talosmith.providers.lab.client import LabClient

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,40}\Z")
_START = 60.0  # seconds until a lab that was started must answer
_STOP = 20.0
_DIE = 60.0  # … until one that was killed is gone
_LOOKING = 2.0
_POLL = 0.02
FIRST_NETWORK, LAST_NETWORK = 77, 250  # 127.N.0.0/16; one for each lab

PaceName = Literal["instant", "fast", "realistic"]
PACES: tuple[PaceName, ...] = get_args(PaceName)  # how long things take
KubernetesName = Literal["simulated", "real"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a lab was made with; it stays so."""

    clock: PaceName = "fast"
    seed: int = 0
    network: str = ""
    ports: bool = False
    kubernetes: KubernetesName = "simulated"
    binaries: str = ""  # folders of the real Kubernetes' programs, as in PATH


class Place:
    """Where a lab keeps what it needs."""

    def __init__(self, name: str) -> None:
        if not _NAME.match(name):
            raise UsageError(
                f"{name!r} is not a valid name of a lab", hint="use lower-case letters, digits and dashes"
            )
        self.name = name
        self.folder = labs_folder() / name
        self.running_file = self.folder / "lab.json"
        self.made_file = self.folder / "made.json"
        self.log_file = self.folder / "serve.log"

    def exists(self) -> bool:
        return self.made_file.exists()

    def made(self) -> Made:
        return Made(**json.loads(self.made_file.read_text(encoding="utf-8")))

    def runs(self) -> bool:
        """Whether a process holds the lock; several may check at once and are not mistaken for the lab."""
        try:
            with self._lock_file(make=0) as file:
                return not _lock(file, fcntl.LOCK_SH)
        except FileNotFoundError:  # it has never run, or is just being deleted
            return False

    def client(self) -> LabClient:
        if not self.runs():
            state = "is stopped" if self.exists() else "does not exist"
            raise UsageError(f"lab {self.name!r} {state}", hint=f"talosmith lab start {self.name}")
        return LabClient.from_file(self.name, self.running_file)

    def status(self) -> dict[str, Any]:
        """One that ends while it is asked is a lab that does not run."""
        if self.runs():
            try:
                return {"running": True, **self.client().status()}
            except TalosmithError:
                if self.runs():
                    raise
        return {"running": False}

    def forget_dead(self) -> None:
        """What a lab has written about itself that is gone; of one that runs it stays."""
        with self._lock_file() as file:
            if _lock(file, fcntl.LOCK_SH):
                self.running_file.unlink(missing_ok=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """To be the lab, for as long as this lasts."""
        with self._lock_file() as file:
            # A check whether the lab runs holds the lock for a moment, too.
            if not _wait(lambda: _lock(file), _LOOKING):
                raise UsageError(f"lab {self.name!r} is already running", hint=f"talosmith lab stop {self.name}")
            yield

    @contextmanager
    def starting(self) -> Iterator[None]:
        """One at a time: two that start the same lab at once must not trip over each other."""
        with self._lock_file("starting") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def announce(self, host: str, port: int, token: str) -> None:
        data = {"pid": os.getpid(), "host": host, "port": port, "token": token}
        write_secret(self.running_file, json.dumps(data).encode())

    @contextmanager
    def _lock_file(self, name: str = "lock", make: int = os.O_CREAT) -> Iterator[int]:
        descriptor = os.open(self.folder / name, os.O_RDWR | make | os.O_CLOEXEC, 0o600)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


@contextmanager
def _choosing() -> Iterator[None]:
    """One at a time: two labs that are made at once must not take the same network."""
    descriptor = os.open(labs_folder(), os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def labs_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "talosmith" / "labs"


def labs() -> list[Place]:
    folder = labs_folder()
    names = sorted(one.name for one in folder.iterdir() if _NAME.match(one.name)) if folder.is_dir() else []
    return [place for place in map(Place, names) if place.exists()]


def start(name: str, wanted: Made | None = None) -> LabClient:
    """Start a lab in the background, a new one or one that was stopped; one that runs is left alone."""
    place = Place(name)
    make_private_folder(place.folder)
    with place.starting():
        if not place.exists():
            made = wanted or Made()
            look_for_programs(made)
            with _choosing():
                made = replace(made, network=_network(made.network))
                write_secret(place.made_file, json.dumps(asdict(made)).encode())
        elif wanted is not None and not _fits(place.made(), wanted):
            kept = place.made()
            raise UsageError(
                f"lab {name!r} was created with clock {kept.clock}, seed {kept.seed}, network {kept.network}, "
                f"kubernetes {kept.kubernetes}",
                hint=f"start it without these options, or recreate it: talosmith lab stop {name} --delete",
            )
        _run(place)
    return place.client()


def start_again(name: str) -> LabClient | None:
    """The same, but a lab that does not exist is not created."""
    place = Place(name)
    try:
        with place.starting():
            if not place.exists():
                return None
            _run(place)
            return place.client()
    except FileNotFoundError:
        if place.exists():
            raise
        return None  # it is just being deleted


def _run(place: Place) -> None:
    # Without the file in which it says where it is, a lab that runs is about to end, or has only just begun.
    _wait(lambda: place.running_file.exists() or not place.runs(), _START)
    if not place.runs():
        look_for_programs(place.made())
        _spawn(place)


def look_for_programs(made: Made) -> None:
    """Before the lab is started, so that its caller sees what is missing. Raises `UsageError`."""
    if made.kubernetes == "real":
        find_binaries(made.binaries)


def stop(name: str, *, delete: bool = False) -> bool:
    """Whether there was something to stop or to delete."""
    place = Place(name)
    found = place.exists()
    if place.runs():
        with suppress(Permanent, Temporary, UsageError):  # it has ended meanwhile, or does not listen
            place.client().stop()
        if not _wait(lambda: not place.runs(), _STOP):
            _kill(place)
    if delete and found:
        _forget(place)
    return found


def _forget(place: Place) -> None:
    """In one move: a lab is there with its whole world or not at all, wherever this is interrupted."""
    gone = place.folder.with_name(f".{place.name}")
    shutil.rmtree(gone, ignore_errors=True)
    with suppress(FileNotFoundError):  # another process was faster
        place.folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _spawn(place: Place) -> None:
    """Who started it before may have been killed in the middle of that: then that lab may be the first to be it."""
    place.forget_dead()
    command = [sys.executable, "-m", "talosmith_lab", place.name]
    with place.log_file.open("ab") as log:
        place.log_file.chmod(0o600)
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
            env=for_children(),
        )

    def is_settled() -> bool:
        return place.running_file.exists() or (process.poll() is not None and not place.runs())

    if not _wait(is_settled, _START) or not place.running_file.exists():
        lines = place.log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise Permanent(
            f"lab {place.name!r} did not start: {lines[-1] if lines else 'no output'}",
            hint=f"see the log {place.log_file}",
        )


def _kill(place: Place) -> None:
    """It holds its lock and does not listen; the number it wrote down is its own."""
    with suppress(OSError, ValueError, KeyError):
        os.kill(json.loads(place.running_file.read_text(encoding="utf-8"))["pid"], signal.SIGKILL)
    if not _wait(lambda: not place.runs(), _DIE):
        raise Permanent(f"lab {place.name!r} does not stop", hint=f"see the log {place.log_file}")


def _fits(made: Made, wanted: Made) -> bool:
    return replace(wanted, network=wanted.network or made.network, binaries=made.binaries) == made


def holder_of(network: str, *, but: str = "") -> Place | None:
    """The lab whose network has addresses of this one."""
    asked = ipaddress.ip_network(network)
    for lab in labs():
        with suppress(FileNotFoundError):  # it is just being deleted
            if lab.name != but and ipaddress.ip_network(lab.made().network).overlaps(asked):
                return lab
    return None


def _network(wanted: str) -> str:
    """The one that was asked for if it is on loopback, else the first that no other lab has."""
    if wanted:
        try:
            network = ipaddress.ip_network(wanted)
        except ValueError as error:
            raise UsageError(
                f"{wanted!r} is not a network: {error}", hint="write a CIDR such as 127.80.0.0/16"
            ) from None
        if not network.is_loopback or network.num_addresses < 32:
            raise UsageError(
                f"{wanted} is not a part of 127.0.0.0/8 with 32 addresses or more", hint="such as 127.80.0.0/16"
            )
        holder = holder_of(wanted)
        if holder is not None:
            raise UsageError(
                f"{wanted} is in use by lab {holder.name!r} ({holder.made().network})",
                hint=f"choose another network, or delete that lab: talosmith lab stop {holder.name} --delete",
            )
        return wanted
    for number in range(FIRST_NETWORK, LAST_NETWORK):
        network = ipaddress.ip_network(f"127.{number}.0.0/16")
        if holder_of(str(network)) is None:
            return str(network)
    raise UsageError(
        "all networks of labs are in use",
        hint="delete a lab: talosmith lab stop LAB --delete; `talosmith lab status` lists labs",
    )


def _lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait(until: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            return False
        time.sleep(_POLL)
    return True
