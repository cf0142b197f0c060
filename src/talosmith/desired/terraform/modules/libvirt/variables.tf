# Written by `talosmith render terraform`; the next run overwrites this file. Put additions into files of your own.
# Values come from terraform.tfvars.json, which is derived from the inventory and holds no secret.

variable "cluster" {
  description = "Name of the cluster."
  type        = string
}

variable "uri" {
  description = "Address of the KVM host."
  type        = string
}

variable "pool" {
  description = "Storage pool for images, disks and seeds. With a path, the pool is created."
  type = object({
    name = string
    path = optional(string)
  })
}

variable "network" {
  description = "What machines attach to: a bridge of the host, or a libvirt network. With a mode, it is created."
  type = object({
    bridge = optional(string)
    name   = optional(string)
    mode   = optional(string) # nat, or none: isolated
    cidr   = optional(string)
  })
}

variable "domain_type" {
  description = "kvm, or qemu: software emulation."
  type        = string
}

variable "uefi" {
  description = "UEFI firmware instead of BIOS: files of the host, here those of Debian and Ubuntu."
  type = object({
    code = string
    vars = string
  })
  default = null
}

variable "tpm" {
  description = "Whether machines have an emulated TPM 2.0; the host needs swtpm."
  type        = bool
  default     = false
}

variable "images" {
  description = "Disk images that machines start from, by file name: a file here, or a URL."
  type = map(object({
    source   = string
    checksum = optional(string) # SHA-256 or SHA-512 of a file here
  }))
}

variable "machines" {
  description = "The machines, by node name."
  type = map(object({
    role      = string
    cpu       = number
    ram_mib   = number
    disks_gib = list(number)
    mac       = string
    address   = string
    gateway   = optional(string)
    image     = string # a key of images
    seed      = string # file in this folder
    autostart = bool
  }))
}
