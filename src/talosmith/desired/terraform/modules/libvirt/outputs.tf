# Written by `talosmith render terraform`; the next run overwrites this file. Put additions into files of your own.

output "machines" {
  description = "Where each node is: domain, MAC address, address."
  value = {
    for name, domain in libvirt_domain.machine : name => {
      role    = var.machines[name].role
      domain  = domain.name
      mac     = var.machines[name].mac
      address = var.machines[name].address
    }
  }
}

output "controlplane_addresses" {
  description = "Addresses of the control planes, without prefix length."
  value       = [for machine in var.machines : split("/", machine.address)[0] if machine.role == "controlplane"]
}
