# Machines in turn over the zones, at fixed addresses, with what their role may do in AWS.

locals {
  roles = { controlplane = var.controlplane, workers = var.workers }
  machines = merge([
    for role, group in local.roles : {
      for index in range(group.count) : "${role}-${index + 1}" => {
        role          = role
        instance_type = group.instance_type
        disk          = group.disk
        az            = var.azs[index % length(var.azs)]
        number        = var.first[role] + floor(index / length(var.azs))
      }
    }
  ]...)
}

data "aws_ami" "talos" {
  owners = ["540036508848"]

  filter {
    name   = "name"
    values = ["talos-${var.talos_version}-${var.region}-amd64"]
  }
}

resource "aws_iam_role" "node" {
  for_each = local.roles
  name     = "${var.name}-${each.key}"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      { Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }
    ]
  })
}

resource "aws_iam_role_policy_attachment" "ecr_read_only" {
  for_each   = local.roles
  role       = aws_iam_role.node[each.key].name
  policy_arn = "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly"
}

resource "aws_iam_instance_profile" "node" {
  for_each = local.roles
  name     = "${var.name}-${each.key}"
  role     = aws_iam_role.node[each.key].name
}

resource "aws_instance" "node" {
  for_each               = local.machines
  ami                    = data.aws_ami.talos.id
  instance_type          = each.value.instance_type
  subnet_id              = aws_subnet.public[each.value.az].id
  private_ip             = cidrhost(aws_subnet.public[each.value.az].cidr_block, each.value.number)
  vpc_security_group_ids = [aws_security_group.nodes.id]
  iam_instance_profile   = aws_iam_instance_profile.node[each.value.role].name
  user_data_base64       = filebase64(var.user_data)
  tags                   = { Name = "${var.name}-${each.key}" }

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_type = "gp3"
    volume_size = each.value.disk
    encrypted   = true
  }
}
