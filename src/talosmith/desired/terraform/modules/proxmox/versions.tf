# Written by `talosmith render terraform`; the next run overwrites this file. Put additions into files of your own.

terraform {
  required_version = ">= 1.6"

  required_providers {
    proxmox = {
      source  = "bpg/proxmox"
      version = "~> 0.112"
    }
  }
}
