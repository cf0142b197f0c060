"""What `disk` means, from the text to the machine config: parsed once, written back, known to editors."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from talosmith.desired.machine.storage import storage_documents, storage_fields
from talosmith.inventory import load
from talosmith.inventory.json_schema import editor_schema
from talosmith.model.disks import DiskDevice, DiskSerial, DiskSize, as_written, parse_disk

INVENTORY = """\
cluster_name: dev
talos_version: v1.13.9
kubernetes_version: v1.36.3
network: {node_cidr: 10.0.0.0/24}
metal:
controlplane:
  - name: cp-1
    interface: eno1
    disk: {serial: 20Gx}
    volumes:
      - {name: a, disk: {serial: 'x "1"'}}
      - {name: b, disk: disk1}
      - {name: c, disk: 'disk.transport == "nvme"'}
"""


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("40G", DiskSize(40960)),
        ("20Gi", DiskSize(20480)),  # as docs/inventory.md has it
        ("20GiB", DiskSize(20480)),
        ("/dev/nvme0n1", DiskDevice("/dev/nvme0n1")),
        ("S4EWNX0R1", DiskSerial("S4EWNX0R1")),
        ("50026B7782A1B2C3", DiskSerial("50026B7782A1B2C3")),
        ("21062B801234", DiskSerial("21062B801234")),
        ("vol0a1b2c3d4e5f60718", DiskSerial("vol0a1b2c3d4e5f60718")),
        *(
            (text, None)
            for text in ("20Gx", "20G4", "400", "sda", "xvda", "nvme0n1", "mmcblk0", "dev/sda", "first", "")
        ),
    ],
)
def test_meaning_of_text(text: str, meaning: object) -> None:
    assert parse_disk(text) == meaning


@pytest.mark.parametrize("serial", ["S4EWNX0R1", "500G", "20Gx", "sda", "a b"])
def test_a_serial_number_is_written_so_that_it_is_read_back(serial: str) -> None:
    written = as_written(serial)
    assert (parse_disk(written) if isinstance(written, str) else DiskSerial(written["serial"])) == DiskSerial(serial)


def test_the_explicit_form_reaches_the_machine_config(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(INVENTORY)
    node = load(tmp_path).nodes[0]
    assert str(node.install_disk) == "serial 20Gx"
    install = storage_fields(node, (1, 13), "installer:v1")["install"]
    assert install == {"diskSelector": {"serial": "20Gx"}, "image": "installer:v1"}
    documents = storage_documents(node, (1, 13), "installer:v1")
    matches = [one["provisioning"]["diskSelector"]["match"] for one in documents]
    assert matches == ['disk.serial == "x \\"1\\""', 'disk.serial == "disk1"', 'disk.transport == "nvme"']


@pytest.mark.parametrize(
    ("disk", "good"), [("40G", True), ({"serial": "sda"}, True), ({"size": "40G"}, False), (40, False)]
)
def test_editors_know_both_forms(disk: object, good: bool) -> None:
    inventory = yaml.safe_load(INVENTORY)
    inventory["controlplane"][0]["disk"] = disk
    found = list(jsonschema.Draft202012Validator(editor_schema()).iter_errors(inventory))
    assert (not found) is good
