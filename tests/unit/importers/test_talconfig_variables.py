"""`${NAME}`: filled as talhelper fills it, told if it has no value, and never out of hiding without being asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from talconfigs import do_import, entry, left_out, notes, patch, talconfig

from talosmith import sops
from talosmith.inventory.importers.talconfig.variables import Filled, Variable, Variables, find_variables
from talosmith.sops.age import new_key

KNOWN = Variables({"A": Variable("one"), "EMPTY": Variable(""), "HIDDEN": Variable("shh", "a safe")})


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("$A/${A}/$$A/$${A}", Filled("one/one/$A/${A}")),
        ("${A:-x} ${B:-x} ${B-x} ${B:=x} ${B=x} ${EMPTY:-x}", Filled("one x x x x x")),
        ("${A:+x}|${B:+x}|${A+$A}", Filled("x||one")),
        ("${B:-$A}", Filled("one")),
        ("cost: 5$, $ A, $_ and $", Filled("cost: 5$, $ A, $_ and $")),
        ("$B ${C} ${B:-$D}", Filled("$B ${C} ${B:-$D}", ("B", "C"))),
        ("$EMPTY ${EMPTY-x}", Filled("$EMPTY ${EMPTY-x}", ("EMPTY",))),
        ("${}", Filled("${}", ("${}",))),
        ("$HIDDEN-$A", Filled("shh-one", (), ("a safe",))),
        ("${B:-$HIDDEN}", Filled("shh", (), ("a safe",))),
    ],
)
def test_a_text_is_filled(text: str, filled: Filled) -> None:
    assert KNOWN.fill(text) == filled


def test_comments_of_yaml_are_no_place_for_variables() -> None:
    text = "# $B\na: $A # ${B}\nb: |\n  # $A in text\n# $B\nc: 'x $A' # $B\n"
    assert KNOWN.fill_yaml(text) == Filled("# $B\na: one # ${B}\nb: |\n  # one in text\n# $B\nc: 'x one' # $B\n")


def test_talenv_is_read_as_talhelper_reads_it(tmp_path: Path) -> None:
    (tmp_path / "talenv.yaml").write_text(
        "---\n# a comment\nPLAIN: some text # and why\nexport SHELL=x y\nURL: http://a#b\n"
        'DOUBLE: "a\\nb $PLAIN \\"q\\" \\$PLAIN"\nSINGLE: \'$PLAIN # stays\'\nNESTED: ${PLAIN}/${lower}\n'
        "LAST: first\n"
    )
    (tmp_path / "talenv.yml").write_text("LAST: second\r\n")
    variables, wrong = find_variables(tmp_path, {"LAST": "environment", "ONLY": "here"})
    assert wrong == []

    def value(name: str) -> str:
        return variables.fill(f"${{{name}}}").text

    assert value("PLAIN") == "some text"
    assert value("SHELL") == "x y"
    assert value("URL") == "http://a#b"
    assert value("DOUBLE") == 'a\nb some text "q" $PLAIN'
    assert value("SINGLE") == "$PLAIN # stays"
    assert value("NESTED") == "some text/${lower}"
    assert value("LAST") == "second"
    assert variables.fill("$LAST").hidden_in == ()
    assert variables.fill("$ONLY") == Filled("here", (), ("the environment",))


def test_variables_stand_in_every_part_of_a_talconfig(tmp_path: Path) -> None:
    (tmp_path / "talenv.yaml").write_text("NAME: cp-1\nVIP: 10.0.0.5\nMTU: 1400\nKEY: example.org/rack\nMODE: 0640\n")
    (tmp_path / "p.yaml").write_text("machine:\n  env:\n    NO_PROXY: $VIP # $COMMENT\n")
    data = talconfig(
        endpoint="https://${VIP}:6443",
        patches=["@p.yaml", "machine:\n  sysctls:\n    a: '$VIP'\n    b: $${kept}\n"],
        nodes={
            0: {
                "hostname": "$NAME",
                "nodeLabels": {"${KEY}": "r1"},
                "networkInterfaces": [{"interface": "eth0", "dhcp": True, "mtu": "${MTU}"}],
                "machineFiles": [{"content": "a", "permissions": "$MODE", "path": "/var/a", "op": "create"}],
            }
        },
    )
    imported = do_import(tmp_path, data)
    assert imported.complete, imported.remarks
    assert yaml.safe_load(imported.files["cluster.yaml"])["network"]["endpoint"] == "https://10.0.0.5:6443"
    assert entry(imported, "cp-1")["labels"] == {"example.org/rack": "r1"}
    assert {"apiVersion": "v1alpha1", "kind": "LinkConfig", "name": "eth0", "mtu": 1400} in patch(
        imported, "nodes/cp-1"
    )
    assert "permissions: 0o640\n" in imported.files["patches/nodes/cp-1.yaml"]
    assert "NO_PROXY: 10.0.0.5 # $COMMENT\n" in imported.files["patches/global/01-p.yaml"]
    # What is no variable to talhelper must not become one to the inventory.
    assert "b: $${kept}\n" in imported.files["patches/global/02-machine-sysctls.yaml"]


@pytest.mark.parametrize(
    ("node", "path"),
    [
        ({"nodeLabels": {"a": "$NOBODY"}}, "nodes[0].nodeLabels.a"),
        ({"patches": ["machine:\n  env:\n    A: ${NOBODY}\n"]}, "nodes[0].patches[0]"),
        ({"patches": ["@p.yaml"]}, "nodes[0].patches[0]"),
        ({"machineFiles": [{"content": "@f", "permissions": 0, "path": "/a", "op": "create"}]},
         "nodes[0].machineFiles[0]"),
    ],
)  # fmt: skip
def test_a_variable_without_a_value_is_told(node: dict[str, Any], path: str, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("machine:\n  env:\n    A: $NOBODY\n")
    (tmp_path / "f").write_text("$NOBODY")
    (remark,) = left_out(do_import(tmp_path, talconfig(nodes={0: node})))
    assert (remark.path, remark.what) == (path, "the value of $NOBODY is not known")


def test_a_talenv_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "talenv.yaml").write_text("good: 1\n- not an assignment\n")
    (remark,) = left_out(do_import(tmp_path, talconfig()))
    assert "talenv.yaml cannot be used: line 2 is not `NAME: value`" in remark.what


CANARY = "canary-7f3a9c"


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A talconfig with values from an encrypted talenv, an encrypted patch and the environment."""
    key = new_key()
    monkeypatch.setenv("SOPS_AGE_KEY", key)
    creation = sops.Creation((sops.parse_identity(key, "a test").recipient,))
    sops.save(tmp_path / "talenv.sops.yaml", {"TOKEN": CANARY, "DOMAIN": "example.org"}, creation)
    sops.save(tmp_path / "p.yaml", {"machine": {"env": {"B": f"{CANARY}-b"}}}, creation)
    (tmp_path / "auth.env").write_text("KEY=$TOKEN\n")
    return talconfig(
        domain="k8s.${DOMAIN}",
        patches=["@p.yaml", "machine:\n  env:\n    A: $TOKEN\n    C: $ENVIRONMENT\n"],
        nodes={0: {"machineFiles": [{"content": "@auth.env", "permissions": 384, "path": "/var/a", "op": "create"}]}},
    )


def test_hidden_values_stay_hidden(hidden: dict[str, Any], tmp_path: Path) -> None:
    imported = do_import(tmp_path, hidden, ENVIRONMENT=f"{CANARY}-c")
    assert {one.path for one in left_out(imported)} == {
        "domain", "patches[0]", "patches[1]", "nodes[0].machineFiles[0]",
    }  # fmt: skip
    assert all("--reveal" in one.fix for one in left_out(imported))
    assert "talenv.sops.yaml" in left_out(imported)[0].what
    assert CANARY not in repr(imported) + "".join(imported.files.values())
    assert not imported.private


def test_hidden_values_are_written_if_that_is_asked_for(hidden: dict[str, Any], tmp_path: Path) -> None:
    imported = do_import(tmp_path, hidden, reveal=True, ENVIRONMENT=f"{CANARY}-c")
    assert imported.complete
    assert imported.private
    assert {one.path for one in notes(imported)} == {
        "domain", "patches[0]", "patches[1]", "nodes[0].machineFiles[0]",
    }  # fmt: skip
    texts = "".join(imported.files.values())
    assert all(
        f"{name}: {value}\n" in texts
        for name, value in zip("ABC", (CANARY, f"{CANARY}-b", f"{CANARY}-c"), strict=True)
    )
    assert f"KEY={CANARY}" in texts
    assert "dns_domain: k8s.example.org" in texts
    assert CANARY not in repr(imported)


def test_without_the_key_an_encrypted_talenv_is_told(
    hidden: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOPS_AGE_KEY")
    found = left_out(do_import(tmp_path, hidden, reveal=True, ENVIRONMENT="c"))
    assert "talenv.sops.yaml cannot be decrypted" in found[0].what
    assert any(one.what == "the value of $TOKEN is not known" for one in found)
    assert any("the file p.yaml cannot be decrypted" in one.what for one in found)
