# What differs between the environments, as in examples/aws/{sandbox,staging,production}/cluster.yaml. The
# bench writes those without a default to terraform.tfvars.json.

variable "name" {
  description = "Of the cluster"
  type        = string
}

variable "domain" {
  description = "The API is at k8s of it"
  type        = string
}

variable "controlplane" {
  type = object({ count = number, instance_type = string, disk = number })
}

variable "workers" {
  type = object({ count = number, instance_type = string, disk = number })
}

variable "user_data" {
  description = "File with what every machine is started with"
  type        = string
}

variable "talos_version" {
  type    = string
  default = "v1.14.1"
}

variable "region" {
  type    = string
  default = "eu-central-1"
}

variable "azs" {
  type    = list(string)
  default = ["eu-central-1a", "eu-central-1b", "eu-central-1c"]
}

variable "vpc_cidr" {
  description = "Of the VPC; talosmith's has the same"
  type        = string
}

variable "first" {
  description = "Number of a role's first address in each subnet"
  type        = object({ controlplane = number, workers = number })
}

variable "admin_cidr" {
  type    = string
  default = "203.0.113.0/24"
}

variable "hosted_zone" {
  type    = string
  default = "example.org"
}
