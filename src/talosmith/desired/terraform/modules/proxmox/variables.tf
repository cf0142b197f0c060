# Written by `talosmith render terraform`; the next run overwrites this file. Put additions into files of your own.
# Values come from terraform.tfvars.json, which is derived from the inventory and holds no secret.

variable "cluster" {
  description = "Name of the cluster."
  type        = string
}

variable "endpoint" {
  description = "Address of the Proxmox VE API. Null: PROXMOX_VE_ENDPOINT in the environment."
  type        = string
  default     = null
}

variable "iso_storage" {
  description = "Storage for ISO files and NoCloud seeds; needs the content type iso."
  type        = string
}

variable "image_storage" {
  description = "Storage for disk images; needs the content type import (Proxmox VE 8.4 or later)."
  type        = string
}

variable "shared_storage" {
  description = "Whether iso_storage and image_storage are shared by all hosts: each image is then stored once."
  type        = bool
  default     = false
}

variable "attach_seeds" {
  description = "Whether machines have their NoCloud seed. False, once nodes are installed: the seeds are deleted."
  type        = bool
  default     = true
}

variable "images" {
  description = "What machines start from, by file name: a volume of Proxmox, a file here, or a URL."
  type = map(object({
    content   = string # import: a disk image; iso: an ISO that installs Talos
    volume    = optional(string)
    file      = optional(string)
    url       = optional(string)
    algorithm = optional(string) # sha256 or sha512
    checksum  = optional(string)
  }))
  default = {}
}

variable "template" {
  description = "Template that machines are cloned from, by VMID or by name."
  type = object({
    vmid = optional(number)
    name = optional(string)
    full = bool # false: a linked clone
  })
  default = null
}

variable "machines" {
  description = "The machines, by node name."
  type = map(object({
    role            = string
    vmid            = number
    host            = string
    cpu             = number
    cpu_type        = string
    cpu_flags       = list(string)
    ram_mib         = number
    datastore       = string
    disks_gib       = list(number)
    scsi_controller = string
    uefi            = bool
    tpm             = bool
    bridge          = string
    vlan            = optional(number)
    mac             = string
    address         = string
    gateway         = optional(string)
    image           = optional(string) # a key of images; null: a clone of the template
    seed            = optional(string) # file in this folder
    guest_agent     = bool
    autostart       = bool
    start_order     = optional(number)
    pool            = optional(string)
    tags            = list(string)
  }))
}
