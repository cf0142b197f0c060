# Written by `talosmith render terraform`; the next run overwrites this file. Put additions into files of your own.
#
# Creates the machines of a Talos cluster on a KVM host. Machines boot with their NoCloud seed, which is their machine
# config; Terraform configures nothing inside of them.

provider "libvirt" {
  uri = var.uri
}

locals {
  pool = var.pool.path == null ? var.pool.name : libvirt_pool.pool[0].name
  data_disks = merge([
    for name, machine in var.machines : {
      for number, size in slice(machine.disks_gib, 1, length(machine.disks_gib)) :
      "${name}-disk${number + 1}" => size
    }
  ]...)
}

resource "libvirt_pool" "pool" {
  count = var.pool.path == null ? 0 : 1

  name = var.pool.name
  type = "dir"

  target {
    path = var.pool.path
  }
}

resource "libvirt_network" "network" {
  count = var.network.mode == null ? 0 : 1

  name      = var.network.name
  mode      = var.network.mode
  addresses = [var.network.cidr]
  autostart = true

  dhcp {
    enabled = false
  }
}

# A copy for each machine: its disk stays backed by this volume. Talos upgrades itself, so a new image is for machines
# that are created later. To recreate a machine: tofu apply -replace='libvirt_volume.image["NODE"]'
resource "libvirt_volume" "image" {
  for_each = var.machines

  name   = "${var.cluster}-${each.key}-image"
  pool   = local.pool
  source = var.images[each.value.image].source

  lifecycle {
    ignore_changes = [source]

    precondition {
      condition = var.images[each.value.image].checksum == null || contains([
        try(filesha256(var.images[each.value.image].source), ""),
        try(filesha512(var.images[each.value.image].source), ""),
      ], var.images[each.value.image].checksum)
      error_message = "The checksum of the image differs from image_checksum in the inventory."
    }
  }
}

# The provider cannot grow a volume, it would delete it: a new size is for machines that are created later.
resource "libvirt_volume" "system" {
  for_each = var.machines

  name           = "${var.cluster}-${each.key}-disk0.qcow2"
  pool           = local.pool
  format         = "qcow2"
  size           = each.value.disks_gib[0] * pow(2, 30)
  base_volume_id = libvirt_volume.image[each.key].id

  lifecycle {
    ignore_changes = [size]
  }
}

resource "libvirt_volume" "data" {
  for_each = local.data_disks

  name   = "${var.cluster}-${each.key}.qcow2"
  pool   = local.pool
  format = "qcow2"
  size   = each.value * pow(2, 30)

  lifecycle {
    ignore_changes = [size]
  }
}

resource "terraform_data" "seed" {
  for_each = var.machines

  input = filesha256("${path.module}/${each.value.seed}")
}

# The content of the file is not part of Terraform's state. The file is uploaded again when its content changes.
resource "libvirt_volume" "seed" {
  for_each = var.machines

  name   = "${var.cluster}-${each.key}-seed.iso"
  pool   = local.pool
  format = "raw"
  source = "${path.module}/${each.value.seed}"

  lifecycle {
    ignore_changes       = [format] # created as raw, libvirt reads it back as iso
    replace_triggered_by = [terraform_data.seed[each.key]]
  }
}

resource "libvirt_domain" "machine" {
  for_each = var.machines

  name        = "${var.cluster}-${each.key}"
  description = "Talos node of the cluster ${var.cluster}, created by Terraform."
  type        = var.domain_type
  machine     = "pc" # the CD drive that the provider attaches is an IDE drive, which q35 does not have
  vcpu        = each.value.cpu
  memory      = each.value.ram_mib
  autostart   = each.value.autostart
  firmware    = try(var.uefi.code, null)

  cpu {
    mode = var.domain_type == "kvm" ? "host-passthrough" : "maximum"
  }

  dynamic "nvram" {
    for_each = var.uefi == null ? [] : [var.uefi]

    content {
      file     = "/var/lib/libvirt/qemu/nvram/${var.cluster}-${each.key}_VARS.fd"
      template = nvram.value.vars
    }
  }

  dynamic "tpm" {
    for_each = var.tpm ? [true] : []

    content {
      model           = "tpm-crb"
      backend_type    = "emulator"
      backend_version = "2.0"
    }
  }

  disk {
    volume_id = libvirt_volume.system[each.key].id
  }

  dynamic "disk" {
    for_each = range(1, length(each.value.disks_gib))

    content {
      volume_id = libvirt_volume.data["${each.key}-disk${disk.value}"].id
    }
  }

  disk {
    file = libvirt_volume.seed[each.key].id # the path of the volume: a name that ends in .iso becomes a CD
  }

  network_interface {
    bridge       = var.network.bridge
    network_id   = one(libvirt_network.network[*].id)
    network_name = var.network.mode == null ? var.network.name : null
    mac          = each.value.mac
  }

  console {
    type        = "pty"
    target_port = "0"
  }

  graphics {
    type = "vnc"
  }

  lifecycle {
    # A seed that is uploaded again keeps its path. Without this the provider would replace the machine.
    ignore_changes       = [disk]
    replace_triggered_by = [libvirt_volume.system[each.key].id]
  }
}
