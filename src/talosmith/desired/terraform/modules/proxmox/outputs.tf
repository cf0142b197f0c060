# Written by `talosmith render terraform`; the next run overwrites this file. Put additions into files of your own.

output "machines" {
  description = "Where each node is: host, VMID, MAC address, address."
  value = {
    for name, vm in proxmox_virtual_environment_vm.machine : name => {
      role    = var.machines[name].role
      host    = vm.node_name
      vmid    = vm.vm_id
      mac     = var.machines[name].mac
      address = var.machines[name].address
    }
  }
}

output "controlplane_addresses" {
  description = "Addresses of the control planes, without prefix length."
  value       = [for machine in var.machines : split("/", machine.address)[0] if machine.role == "controlplane"]
}
