# Written by `talosmith render terraform`; the next run overwrites this file. Put additions into files of your own.
#
# Creates the machines of a Talos cluster on Proxmox VE. Machines boot with their NoCloud seed, which is their machine
# config; Terraform configures nothing inside of them. The API token comes from PROXMOX_VE_API_TOKEN.

provider "proxmox" {
  endpoint = var.endpoint
}

locals {
  # Hosts that do not share a storage need a copy of the image each.
  image_hosts = {
    for name, machine in var.machines :
    name => var.shared_storage ? values(var.machines)[0].host : machine.host
  }
  image_copies = {
    for name, machine in var.machines :
    "${local.image_hosts[name]}/${machine.image}" => {
      host  = local.image_hosts[name]
      name  = machine.image
      image = var.images[machine.image]
    }... if machine.image != null
  }
  copies    = { for key, same in local.image_copies : key => same[0] }
  downloads = { for key, copy in local.copies : key => copy if copy.image.url != null }
  uploads   = { for key, copy in local.copies : key => copy if copy.image.file != null }
  volumes = {
    for key, copy in local.copies : key => coalesce(
      copy.image.volume,
      try(proxmox_download_file.image[key].id, null),
      try(proxmox_virtual_environment_file.image[key].id, null),
    )
  }

  # Per machine: the disk image its first disk is imported from, and the ISO in its CD drive.
  disk_images = {
    for name, machine in var.machines : name => machine.image == null ? null : (
      var.images[machine.image].content == "import" ? local.volumes["${local.image_hosts[name]}/${machine.image}"] : null
    )
  }
  isos = {
    for name, machine in var.machines : name => machine.image == null ? null : (
      var.images[machine.image].content == "iso" ? local.volumes["${local.image_hosts[name]}/${machine.image}"] : null
    )
  }
  seeds = { for name, machine in var.machines : name => machine if machine.seed != null && var.attach_seeds }

  template_name = try(var.template.vmid, null) == null ? try(var.template.name, null) : null
}

resource "proxmox_download_file" "image" {
  for_each = local.downloads

  node_name          = each.value.host
  datastore_id       = each.value.image.content == "import" ? var.image_storage : var.iso_storage
  content_type       = each.value.image.content
  file_name          = each.value.name
  url                = each.value.image.url
  checksum           = each.value.image.checksum
  checksum_algorithm = each.value.image.algorithm
  overwrite          = false # the file name says which image it is; the server is not asked again at every plan
}

resource "proxmox_virtual_environment_file" "image" {
  for_each = local.uploads

  node_name    = each.value.host
  datastore_id = each.value.image.content == "import" ? var.image_storage : var.iso_storage
  content_type = each.value.image.content

  source_file {
    path      = each.value.image.file
    file_name = each.value.name
  }

  lifecycle {
    precondition {
      condition = each.value.image.checksum == null || each.value.image.checksum == (
        each.value.image.algorithm == "sha512" ? filesha512(each.value.image.file) : filesha256(each.value.image.file)
      )
      error_message = "The checksum of the image differs from image_checksum in the inventory."
    }
  }
}

# The file name changes with the content: a recreated machine boots with the current machine config.
resource "proxmox_virtual_environment_file" "seed" {
  for_each = local.seeds

  node_name    = each.value.host
  datastore_id = var.iso_storage
  content_type = "iso"

  source_file {
    path      = "${path.module}/${each.value.seed}"
    file_name = "${var.cluster}-${each.key}-seed-${substr(filesha256("${path.module}/${each.value.seed}"), 0, 12)}.iso"
  }

  lifecycle {
    create_before_destroy = true
  }
}

data "proxmox_virtual_environment_vms" "template" {
  count = local.template_name == null ? 0 : 1

  filter {
    name   = "name"
    values = [local.template_name]
  }

  filter {
    name   = "template"
    values = [true]
  }

  lifecycle {
    postcondition {
      condition     = length(self.vms) == 1
      error_message = "There must be exactly one template of this name."
    }
  }
}

resource "proxmox_virtual_environment_vm" "machine" {
  for_each = var.machines

  name        = each.key
  description = "Talos node of the cluster ${var.cluster}, created by Terraform."
  tags        = each.value.tags
  node_name   = each.value.host
  vm_id       = each.value.vmid
  pool_id     = each.value.pool

  bios          = each.value.uefi ? "ovmf" : "seabios"
  machine       = "q35"
  scsi_hardware = each.value.scsi_controller
  boot_order    = ["scsi0", "ide2"] # Proxmox appends a CD drive whose medium changes, so it is listed from the start
  on_boot       = each.value.autostart

  stop_on_destroy     = true  # a node that is deleted need not shut down, and without an agent it may not
  reboot_after_update = false # Terraform must not reboot control planes, several at a time

  agent {
    enabled = each.value.guest_agent

    wait_for_ip {
      disabled = true # the address is known
    }
  }

  cpu {
    cores = each.value.cpu
    type  = each.value.cpu_type
    flags = each.value.cpu_flags
  }

  memory {
    dedicated = each.value.ram_mib
    floating  = 0 # no ballooning
  }

  operating_system {
    type = "l26"
  }

  serial_device {}

  dynamic "efi_disk" {
    for_each = each.value.uefi ? [true] : []

    content {
      datastore_id      = each.value.datastore
      type              = "4m"
      pre_enrolled_keys = false # Talos enrolls its own keys for secure boot, which needs the setup mode
    }
  }

  dynamic "tpm_state" {
    for_each = each.value.tpm ? [true] : []

    content {
      datastore_id = each.value.datastore
      version      = "v2.0"
    }
  }

  dynamic "clone" {
    for_each = each.value.image == null ? [var.template] : []

    content {
      vm_id        = coalesce(clone.value.vmid, try(data.proxmox_virtual_environment_vms.template[0].vms[0].vm_id, null))
      node_name    = try(data.proxmox_virtual_environment_vms.template[0].vms[0].node_name, null)
      full         = clone.value.full
      datastore_id = clone.value.full ? each.value.datastore : null
    }
  }

  dynamic "disk" {
    for_each = each.value.disks_gib

    content {
      interface    = "scsi${disk.key}"
      datastore_id = each.value.datastore
      import_from  = disk.key == 0 ? local.disk_images[each.key] : null
      size         = disk.value
      discard      = "on"
      ssd          = true
    }
  }

  network_device {
    bridge      = each.value.bridge
    vlan_id     = each.value.vlan
    mac_address = upper(each.value.mac)
  }

  # One drive is what the provider supports: a machine that installs Talos from an ISO has no seed.
  cdrom {
    interface = "ide2"
    file_id = coalesce(
      local.isos[each.key],
      try(proxmox_virtual_environment_file.seed[each.key].id, null),
      "none",
    )
  }

  dynamic "startup" {
    for_each = each.value.start_order == null ? [] : [each.value.start_order]

    content {
      order = startup.value
    }
  }

  lifecycle {
    # Talos upgrades itself: a new image or template is for machines that are created later.
    ignore_changes = [clone, disk[0].import_from]
  }
}
