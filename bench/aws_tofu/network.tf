# A VPC with a public subnet in each zone, each a sixteenth of it, and who may reach what.

resource "aws_vpc" "cluster" {
  cidr_block           = var.vpc_cidr
  enable_dns_hostnames = true
  enable_dns_support   = true
  tags                 = { Name = var.name }
}

resource "aws_subnet" "public" {
  for_each                = { for index, az in var.azs : az => index }
  vpc_id                  = aws_vpc.cluster.id
  availability_zone       = each.key
  cidr_block              = cidrsubnet(var.vpc_cidr, 4, each.value)
  map_public_ip_on_launch = true
  tags                    = { Name = "${var.name}-${each.key}" }
}

resource "aws_internet_gateway" "cluster" {
  vpc_id = aws_vpc.cluster.id
  tags   = { Name = var.name }
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.cluster.id
  tags   = { Name = var.name }

  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.cluster.id
  }
}

resource "aws_route_table_association" "public" {
  for_each       = aws_subnet.public
  subnet_id      = each.value.id
  route_table_id = aws_route_table.public.id
}

resource "aws_security_group" "nodes" {
  name        = "${var.name}-nodes"
  description = "Nodes"
  vpc_id      = aws_vpc.cluster.id
  tags        = { Name = "${var.name}-nodes" }
}

resource "aws_security_group" "balancer" {
  name        = "${var.name}-balancer"
  description = "Load balancer"
  vpc_id      = aws_vpc.cluster.id
  tags        = { Name = "${var.name}-balancer" }
}

# A resource for each rule, as the provider's documentation advises.

resource "aws_vpc_security_group_ingress_rule" "nodes_from_admins" {
  for_each          = { kubernetes = 6443, talos = 50000 }
  security_group_id = aws_security_group.nodes.id
  cidr_ipv4         = var.admin_cidr
  ip_protocol       = "tcp"
  from_port         = each.value
  to_port           = each.value
}

resource "aws_vpc_security_group_ingress_rule" "nodes_from_nodes" {
  security_group_id            = aws_security_group.nodes.id
  referenced_security_group_id = aws_security_group.nodes.id
  ip_protocol                  = "-1"
}

resource "aws_vpc_security_group_ingress_rule" "nodes_from_balancer" {
  security_group_id            = aws_security_group.nodes.id
  referenced_security_group_id = aws_security_group.balancer.id
  ip_protocol                  = "tcp"
  from_port                    = 6443
  to_port                      = 6443
}

resource "aws_vpc_security_group_ingress_rule" "balancer_from_admins" {
  security_group_id = aws_security_group.balancer.id
  cidr_ipv4         = var.admin_cidr
  ip_protocol       = "tcp"
  from_port         = 6443
  to_port           = 6443
}

resource "aws_vpc_security_group_egress_rule" "all" {
  for_each          = { nodes = aws_security_group.nodes.id, balancer = aws_security_group.balancer.id }
  security_group_id = each.value
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "-1"
}
