# Written by `talosmith render terraform`; the next run overwrites this file. Put additions into files of your own.

terraform {
  required_version = ">= 1.6"

  required_providers {
    libvirt = {
      source  = "dmacvicar/libvirt"
      version = "~> 0.8.3"
    }
  }
}
