"""`talosmith secrets`, `render` and `diff`: what they write, for whom, and what they never show."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from talosmith import sops
from talosmith.cli.app import run
from talosmith.desired.bundle import Bundle
from talosmith.desired.pki import read_certificate
from talosmith.desired.secrets_file import BUNDLE_KEYS, create_secrets, read_secrets
from talosmith.errors import SecretsError
from talosmith.model.values import SecretRef
from tests.output_schemas import assert_output

INVENTORY = """\
cluster_name: dev
talos_version: v1.13.9
kubernetes_version: v1.36.3
network: {node_cidr: 10.0.0.0/24}
libvirt: {}
controlplane: 1
workers: 1
"""
Talosmith = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return Bundle.generate()


@pytest.fixture
def talosmith(capsys: pytest.CaptureFixture[str]) -> Talosmith:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory without secrets, for a user without a key."""
    for name in [name for name in os.environ if name.startswith("SOPS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "inventory"
    folder.mkdir()
    (folder / "cluster.yaml").write_text(INVENTORY)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def folder(empty: Path, bundle: Bundle) -> Path:
    create_secrets(empty, bundle)
    return empty


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_init_makes_key_rules_and_secrets(empty: Path, talosmith: Talosmith) -> None:
    old = os.umask(0)
    try:
        code, out, _ = talosmith("secrets", "init")
    finally:
        os.umask(old)
    key = empty.parent / "config" / "sops" / "age" / "keys.txt"
    assert code == 0 and str(key) in out
    assert mode(key) == 0o600 and mode(key.parent) == 0o700
    assert mode(empty / "secrets.sops.yaml") == 0o600
    assert "age1" in (empty / ".sops.yaml").read_text()
    data = yaml.safe_load((empty / "secrets.sops.yaml").read_text())
    assert list(data) == [*BUNDLE_KEYS, "sops"]
    assert data["cluster"]["secret"].startswith("ENC[AES256_GCM,")
    read_secrets(empty).bundle.validate()


@pytest.mark.slow
def test_init_never_replaces_a_bundle(folder: Path, bundle: Bundle, talosmith: Talosmith) -> None:
    before = (folder / "secrets.sops.yaml").read_bytes()
    code, _, err = talosmith("secrets", "init")
    assert code == 1 and "already has the secrets of a cluster" in err
    assert (folder / "secrets.sops.yaml").read_bytes() == before


def test_init_keeps_secrets_of_the_users_own(empty: Path, bundle: Bundle) -> None:
    create_secrets(empty, bundle)
    path = empty / "secrets.sops.yaml"
    sops.save(path, {"proxmox": {"token": "mine"}})
    create_secrets(empty, bundle)
    secrets = read_secrets(empty)
    assert secrets.value_of(SecretRef("sops", "proxmox.token")).reveal() == "mine"
    assert secrets.bundle == bundle


def test_nothing_is_made_silently(empty: Path, talosmith: Talosmith) -> None:
    for arguments in (
        ["secrets", "show"],
        ["render", "configs"],
        ["talosconfig", "--out", "tc"],
        ["diff", "."],
    ):
        code, _, err = talosmith(*arguments)
        assert code == 1
        assert "secrets.sops.yaml does not exist" in err
        assert "talosmith secrets init" in err and "talosmith secrets import" in err
    assert sorted(path.name for path in empty.iterdir()) == ["cluster.yaml"]


def test_rekey_changes_who_may_read(
    folder: Path, talosmith: Talosmith, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.txt"
    recipient = sops.new_identity(other)
    code, out, _ = talosmith("secrets", "rekey", "--recipient", recipient)
    assert code == 0 and recipient in out
    with pytest.raises(SecretsError, match="no age identity opens"):
        read_secrets(folder)
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(other))
    assert read_secrets(folder).bundle.cluster_id


@pytest.mark.parametrize("form", ["bundle", "sops", "config"])
def test_import_from_what_others_made(
    form: str, empty: Path, bundle: Bundle, talosmith: Talosmith, tmp_path: Path
) -> None:
    from talosmith import load
    from talosmith.desired.machine import MachineConfigs
    from talosmith.yaml import goyaml

    source = tmp_path / ("talsecret.sops.yaml" if form == "sops" else "source.yaml")
    if form == "config":
        cluster = load(empty)
        source.write_text(MachineConfigs(cluster, bundle).render(cluster.nodes[0]).text)
    else:
        source.write_text(goyaml.dump(bundle.to_mapping()))
    if form == "sops":
        own = sops.new_identity()
        sops.encrypt_file(source, sops.Creation((own,)))
    code, _, err = talosmith("secrets", "import", "--from", source)
    assert code == 0, err
    assert read_secrets(empty).bundle == bundle


@pytest.mark.parametrize(
    "content", ["", "a: [", "machine: {type: worker}\n", "cluster: {}\nsecrets: {}\ntrustdinfo: {}\ncerts: {}\n"]
)
def test_import_of_what_is_none(content: str, empty: Path, talosmith: Talosmith, tmp_path: Path) -> None:
    (tmp_path / "source.yaml").write_text(content)
    code, _, err = talosmith("secrets", "import", "--from", tmp_path / "source.yaml")
    assert code == 1 and "error:" in err
    assert not (empty / "secrets.sops.yaml").exists()


def test_export_is_talosctls_file_for_its_owner(folder: Path, bundle: Bundle, talosmith: Talosmith) -> None:
    assert talosmith("secrets", "export", "--out", "plain.yaml")[0] == 0
    assert mode(folder / "plain.yaml") == 0o600
    assert Bundle.from_mapping(yaml.safe_load((folder / "plain.yaml").read_text())) == bundle
    code, _, err = talosmith("secrets", "export", "--out", "plain.yaml")
    assert code == 1 and "plain.yaml" in err


def test_show_reveals_only_when_asked(folder: Path, bundle: Bundle, talosmith: Talosmith) -> None:
    secret = bundle.cluster_secret.reveal()
    assert bundle.fingerprint() in talosmith("secrets", "show")[1]
    assert secret not in "".join(talosmith("secrets", "show", "-o", "json")[1:])
    assert secret in talosmith("secrets", "show", "--reveal")[1]
    assert yaml.safe_load(talosmith("secrets", "show", "--reveal", "-o", "yaml")[1])["secrets"] == bundle.to_mapping()


def test_render_configs_into_files(folder: Path, bundle: Bundle, talosmith: Talosmith) -> None:
    old = os.umask(0)
    try:
        code, out, _ = talosmith("render", "configs", "--out", "made/configs", "-o", "json")
    finally:
        os.umask(old)
    assert code == 0
    assert json.loads(out)["written"] == ["made/configs/cp-1.yaml", "made/configs/w-1.yaml"]
    assert mode(folder / "made/configs") == 0o700
    text = (folder / "made/configs/cp-1.yaml").read_text()
    assert mode(folder / "made/configs/cp-1.yaml") == 0o600 and bundle.trustd_token.reveal() in text
    assert talosmith("diff", "made/configs")[0] == 0


def test_diff_tells_what_differs_and_hides_secrets(folder: Path, talosmith: Talosmith) -> None:
    talosmith("render", "configs", "--out", "made")
    path = folder / "made/cp-1.yaml"
    other = Bundle.generate().trustd_token.reveal()
    text = path.read_text().replace("10.0.0.10/24", "10.0.0.99/24")
    text = text.replace(yaml.safe_load(text.split("---")[0])["machine"]["token"], other)
    path.write_text(text)
    (folder / "made/w-1.yaml").unlink()
    code, out, _ = talosmith("diff", "made")
    assert code == 2
    assert "-    - address: 10.0.0.99/24" in out and "+    - address: 10.0.0.10/24" in out
    assert "-    token: '****** (changed)'" in out and other not in out
    assert "w-1: no file to compare with" in out


def test_render_one_node_only(folder: Path, talosmith: Talosmith) -> None:
    out = talosmith("render", "configs", "--node", "w-1")[1]
    assert "type: worker" in out and "type: controlplane" not in out
    code, _, err = talosmith("render", "configs", "--node", "w-2")
    assert code == 64 and "did you mean `w-1`?" in err


def test_talosconfig_with_role_and_lifetime(folder: Path, bundle: Bundle, talosmith: Talosmith) -> None:
    assert talosmith("talosconfig", "--out", "tc", "--role", "os:reader", "--lifetime", "12h")[0] == 0
    assert mode(folder / "tc") == 0o600
    context = yaml.safe_load((folder / "tc").read_text())["contexts"]["dev"]
    assert context["endpoints"] == ["10.0.0.10"]
    import base64

    certificate = read_certificate(base64.b64decode(context["crt"]).decode())
    assert certificate.subject.rfc4514_string() == "O=os:reader"
    assert abs(certificate.not_valid_after_utc - datetime.now(UTC) - timedelta(hours=12)) < timedelta(minutes=5)
    assert talosmith("talosconfig", "--out", "tc2", "--lifetime", "soon")[0] == 64
    assert talosmith("talosconfig", "--out", "tc2", "--role", "os:king")[0] == 64


def test_nocloud_seed(folder: Path, talosmith: Talosmith) -> None:
    assert talosmith("render", "nocloud", "--out", "seeds")[0] == 0
    made = folder / "seeds" / "cp-1"
    assert sorted(path.name for path in made.iterdir()) == ["meta-data", "network-config", "seed.iso", "user-data"]
    assert all(mode(path) == 0o600 for path in made.iterdir())
    network = yaml.safe_load((made / "network-config").read_text())
    assert network["ethernets"]["eth0"]["addresses"] == ["10.0.0.10/24"]
    assert "hostname: cp-1" in (made / "user-data").read_text()


def test_images_need_no_secrets(empty: Path, talosmith: Talosmith) -> None:
    code, out, _ = talosmith("render", "image", "-o", "json")
    assert code == 0
    (found,) = json.loads(out)["images"]
    assert found["nodes"] == ["cp-1", "w-1"]
    assert found["iso"].endswith("/v1.13.9/nocloud-amd64.iso")


def test_secrets_are_found_where_they_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = read_secrets(folder)
    monkeypatch.setenv("A_TOKEN", "from the environment")
    assert secrets.value_of(SecretRef("env", "A_TOKEN")).reveal() == "from the environment"
    for reference in (SecretRef("env", "NO_SUCH"), SecretRef("sops", "proxmox.token")):
        with pytest.raises(SecretsError, match=str(reference)):
            secrets.value_of(reference)


def test_a_secret_is_set_beside_the_bundle_and_never_shown(
    folder: Path, bundle: Bundle, talosmith: Talosmith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("hidden-token\n"))
    code, out, err = talosmith("secrets", "set", "proxmox.token", "-i", folder)
    assert code == 0 and "hidden-token" not in out + err
    assert "hidden-token" not in (folder / "secrets.sops.yaml").read_text()
    monkeypatch.setattr(sys, "stdin", io.StringIO("another"))
    code, out, _ = talosmith("-o", "json", "secrets", "set", "proxmox.other", "-i", folder)
    assert code == 0 and assert_output("secrets set", out, "json")
    found = read_secrets(folder)
    assert found.value_of(SecretRef("sops", "proxmox.token")).reveal() == "hidden-token"
    assert found.value_of(SecretRef("sops", "proxmox.other")).reveal() == "another"
    assert found.bundle.fingerprint() == bundle.fingerprint()


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("secrets.token", "x", "own secrets"),
        ("a..b", "x", "not the name"),
        ("proxmox.token", "", "empty"),
        ("proxmox.token.more", "x", "not a mapping"),
    ],
)
def test_what_cannot_be_set(
    name: str, typed: str, said: str, folder: Path, talosmith: Talosmith, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("first"))
    talosmith("secrets", "set", "proxmox.token", "-i", folder)
    before = (folder / "secrets.sops.yaml").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    code, _, err = talosmith("secrets", "set", name, "-i", folder)
    assert code != 0 and said in err and (folder / "secrets.sops.yaml").read_bytes() == before


def test_git_is_given_no_secret_in_the_clear(empty: Path, bundle: Bundle, talosmith: Talosmith) -> None:
    """A folder as `init` makes it, and all that is written there by the names that the documentation gives."""
    home = empty.parent / "home"
    assert talosmith("init", home, "--no-input", "--name", "dev", "--provider", "lab")[0] == 0
    create_secrets(home, bundle)
    for command in (
        ["render", "configs", "--out", home / "rendered"],
        ["talosconfig", "--out", home / "talosconfig"],
        ["secrets", "export", "--out", home / "secrets.yaml"],
    ):
        assert talosmith(*command, "-i", home)[0] == 0
    written = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file()).decode("latin-1")
    canaries = _secrets_of(bundle)
    assert all(canary in written for canary in canaries), "they are there, for git to take"
    git = ["git", "-C", str(home)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    names = subprocess.run([*git, "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    assert {"cluster.yaml", "secrets.sops.yaml", ".sops.yaml"} <= set(names)
    staged = "".join((home / name).read_text(encoding="latin-1") for name in names)
    assert [canary for canary in canaries if canary in staged] == []
    assert "PRIVATE KEY" not in staged and "AGE-SECRET-KEY" not in staged


@pytest.mark.slow
def test_no_secret_is_seen_anywhere(folder: Path, bundle: Bundle, tmp_path: Path) -> None:
    """The canary: every secret of the bundle, and the key, searched in all that commands print and leave behind."""
    canaries = _secrets_of(bundle) | {
        line
        for line in (folder.parent / "config/sops/age/keys.txt").read_text().splitlines()
        if line.startswith("AGE-SECRET-KEY")
    }
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "cluster.yaml").write_text(INVENTORY)
    text = (folder / "secrets.sops.yaml").read_text()
    (broken / "secrets.sops.yaml").write_text(text.replace("ENC[AES256_GCM,data:", "ENC[AES256_GCM,data:A", 1))
    patched = tmp_path / "patched"
    patched.mkdir()
    (patched / "cluster.yaml").write_text(INVENTORY + "patches: [{machine: {token: {a: b}}}]\n")
    (patched / "secrets.sops.yaml").write_text(text)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    commands = [
        ["secrets", "show"], ["secrets", "init"], ["secrets", "rekey"], ["render", "configs"], ["diff", str(folder)],
        ["render", "image"], ["validate"], ["show"], ["show", "--origin"], ["secrets", "show", "-i", str(broken)],
        ["render", "configs", "-i", str(broken)], ["render", "configs", "-i", str(patched)],
        ["secrets", "import", "--from", str(folder / "cluster.yaml")], ["render", "configs", "--node", "x"],
    ]  # fmt: skip
    seen = ""
    for command in commands:
        for form in ("text", "json"):
            environment = os.environ | {"TMPDIR": str(scratch), "PYTHONFAULTHANDLER": "1"}
            done = subprocess.run(
                [sys.executable, "-X", "dev", "-m", "talosmith", *command, "-o", form],
                capture_output=True, text=True, check=False, env=environment, cwd=folder,
            )  # fmt: skip
            assert "Traceback" not in done.stderr, (command, done.stderr)
            seen += done.stdout + done.stderr
    left = "".join(path.read_bytes().decode("latin-1") for path in scratch.rglob("*") if path.is_file())
    for canary in canaries:
        assert canary not in seen + left + " ".join(" ".join(command) for command in commands)


def _secrets_of(bundle: Bundle) -> set[str]:
    mapping = bundle.to_mapping()
    found = {mapping["cluster"]["secret"], *mapping["secrets"].values(), mapping["trustdinfo"]["token"]}
    for pair in mapping["certs"].values():
        found.add(pair["key"])
    return found


@pytest.mark.parametrize(
    ("command", "secret"),
    [(["secrets", "export", "--out", "plain.yaml"], "plain.yaml"), (["talosconfig", "--out", "tc"], "tc")],
)
def test_a_secret_file_is_not_written_where_git_takes_it(
    command: list[str], secret: str, folder: Path, talosmith: Talosmith
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    code, _, err = talosmith(*command)
    assert code == 1 and not (folder / secret).exists()
    assert f"{secret} would hold secrets where Git does not ignore it" in err
    assert f"fix: echo /{secret} >> {folder}/.gitignore" in err
    (folder / ".gitignore").write_text(f"/{secret}\n")
    assert talosmith(*command)[0] == 0


@pytest.mark.parametrize("kind", ["configs", "nocloud"])
def test_a_folder_of_secret_files_is_ignored_by_git(kind: str, folder: Path, talosmith: Talosmith) -> None:
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    assert talosmith("render", kind, "--out", "made")[0] == 0
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    staged = subprocess.run(["git", "ls-files"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert staged.split() == [".sops.yaml", "cluster.yaml", "secrets.sops.yaml"]
    code, _, err = talosmith("render", kind, "--out", ".")
    assert code == 1 and "write into a folder of its own" in err
