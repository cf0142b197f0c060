"""Files and folders of manifests: what is read, what is refused, and what the digest covers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from talosmith.errors import Permanent
from talosmith.kustomize import ManifestError, content_digest, read_manifests
from tests.unit.kustomize.conftest import Write, config_map


def names(path: Path, root: Path | None = None) -> list[str]:
    return [one["metadata"]["name"] for one in read_manifests(path, root=root)]


def test_a_file_with_several_documents_and_a_list(write: Write) -> None:
    items = "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: p}}]\n"
    folder = write(all_yaml=f"{config_map('a')}---\n# nothing\n---\n{config_map('b')}---\n{items}")
    assert names(folder / "all.yaml") == ["a", "b", "p"]


def test_a_folder_is_read_in_order_without_hidden_files(write: Write) -> None:
    folder = write(
        z_yml=config_map("z"),
        a_yaml=config_map("a"),
        sub__c_json='{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}',
        README_md="not: [YAML",
        _hidden_yaml="not: [YAML",
        _git__x_yaml="not: [YAML",
    )
    assert names(folder) == ["a", "c", "z"]


def test_words_are_read_as_kubectl_reads_them(write: Write) -> None:
    folder = write(a_yaml="apiVersion: v1\nkind: X\nmetadata: {name: a}\nwords: [yes, off, 0755, 2020-01-01, 1e3]\n")
    assert read_manifests(folder)[0]["words"] == [True, False, 493, "2020-01-01", 1000.0]


def test_aliases_are_copies(write: Write) -> None:
    folder = write(a_yaml="apiVersion: v1\nkind: X\nmetadata: {name: a}\none: &x {z: [1]}\ntwo: *x\n")
    (one,) = read_manifests(folder)
    one["one"]["z"].append(2)
    assert one["two"] == {"z": [1]}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [\n", r"a\.yaml:2: not YAML"),
        ("a: 1\na: 2\n", r"a\.yaml:2: not YAML \(the key 'a' twice\)"),
        ("- 1\n", r"a\.yaml: document 1 is not a Kubernetes object"),
        ("kind: X\nmetadata: {name: a}\n", "apiVersion is missing"),
        ("apiVersion: v1\nkind: X\nmetadata: {generateName: a}\n", "has no metadata.name"),
        (f"{config_map()}---\n{config_map()}", "ConfigMap default/a is there twice"),
        ("x: &a [*a]\n", "stands inside"),
        ("\x00", "not YAML"),
        ("apiVersion: v1\nkind: X\nmetadata: {name: a}\nx: " + "[" * 250 + "]" * 250, "nested deeper than 200"),
    ],
)
def test_what_is_wrong_is_named(text: str, says: str, write: Write) -> None:
    with pytest.raises(ManifestError, match=says) as wrong:
        read_manifests(write(a_yaml=text))
    assert isinstance(wrong.value, Permanent)
    assert wrong.value.file is not None


def test_what_is_not_utf8_has_its_line(write: Write) -> None:
    folder = write(a_yaml="")
    (folder / "a.yaml").write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ManifestError, match=r"a\.yaml:2: not UTF-8"):
        read_manifests(folder)


def test_nothing_to_read(write: Write, tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="no manifests"):
        read_manifests(write(README_md=""))
    with pytest.raises(ManifestError, match="gone: does not exist"):
        read_manifests(tmp_path / "gone")


def test_encrypted_files_are_refused(write: Write) -> None:
    secret = (
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: 'ENC[AES256_GCM,data:x,type:str]'}\nsops: {}\n"
    )
    with pytest.raises(ManifestError, match="encrypted by SOPS") as wrong:
        read_manifests(write(a_yaml=secret))
    assert "`sops:`" in wrong.value.hint
    folder = write("generated", kustomization_yaml="secretGenerator: [{name: a, envs: [a.env]}]\n")
    (folder / "a.env").write_text("A=ENC[AES256_GCM,data:x,type:str]\nsops_mac=x\n")
    with pytest.raises(ManifestError, match=r"a\.env: encrypted by SOPS"):
        read_manifests(folder)


def test_a_kustomization_below_plain_manifests_is_an_error(write: Write) -> None:
    with pytest.raises(ManifestError, match=r"sub/kustomization\.yaml: a kustomization below"):
        read_manifests(write(a_yaml=config_map(), sub__kustomization_yaml="resources: []"))


def test_limits(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("talosmith.kustomize.resources.MAX_OBJECTS", 2)
    many = "---\n".join(config_map(name) for name in "abc")
    with pytest.raises(ManifestError, match="more than 2 objects"):
        read_manifests(write(a_yaml=many))
    with pytest.raises(ManifestError, match="more than 2 objects"):
        read_manifests(write("k", kustomization_yaml="resources: [a.yaml]", a_yaml=many))
    monkeypatch.setattr("talosmith.kustomize.sources.MAX_BYTES", 10)
    with pytest.raises(ManifestError, match="larger than"):
        read_manifests(write("large", a_yaml=config_map()))


def test_links_must_not_lead_out(write: Write, tmp_path: Path) -> None:
    folder = write(a_yaml=config_map())
    secret = write("elsewhere/deep", x_yaml=config_map("x")) / "x.yaml"
    (folder / "link.yaml").symlink_to(secret)
    assert names(folder) == ["a", "x"]  # below the folder above the manifests
    with pytest.raises(ManifestError, match="leads out of"):
        read_manifests(folder, root=folder)
    (folder / ".git").mkdir()
    with pytest.raises(ManifestError, match="leads out of"):
        read_manifests(folder, root=tmp_path)
    (folder / "link.yaml").unlink()
    os.mkfifo(folder / "pipe.yaml")
    with pytest.raises(ManifestError, match="named pipe"):
        read_manifests(folder)


def test_the_digest_is_of_all_files_and_their_names(write: Write, tmp_path: Path) -> None:
    files = {"kustomization_yaml": "resources: [../base]", "unused_yaml": "x"}
    folder = write("app", **files)
    base = write("base", kustomization_yaml="configMapGenerator: [{name: a, files: [x_txt]}]".replace("_", "."))
    (base / "x.txt").write_text("1")
    first = content_digest(folder)
    assert first == content_digest(folder)
    assert len(first) == 64
    (folder / "unused.yaml").write_text("y")
    assert content_digest(folder) == first
    (base / "x.txt").write_text("2")
    second = content_digest(folder)
    (base / "x.txt").rename(base / "y.txt")
    (base / "kustomization.yaml").write_text("configMapGenerator: [{name: a, files: [x.txt=y.txt]}]")
    assert len({first, second, content_digest(folder)}) == 3
