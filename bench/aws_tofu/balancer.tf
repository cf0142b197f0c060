# The Kubernetes API: a network load balancer before the control planes, and its name in DNS.

resource "aws_lb" "api" {
  name                             = var.name
  load_balancer_type               = "network"
  internal                         = false
  subnets                          = [for az in var.azs : aws_subnet.public[az].id]
  security_groups                  = [aws_security_group.balancer.id]
  enable_cross_zone_load_balancing = true
}

resource "aws_lb_target_group" "api" {
  name               = var.name
  port               = 6443
  protocol           = "TCP"
  vpc_id             = aws_vpc.cluster.id
  preserve_client_ip = "false" # a control plane must reach itself through the load balancer

  health_check {
    protocol = "TCP"
  }
}

resource "aws_lb_listener" "api" {
  load_balancer_arn = aws_lb.api.arn
  port              = 6443
  protocol          = "TCP"

  default_action {
    type             = "forward"
    target_group_arn = aws_lb_target_group.api.arn
  }
}

resource "aws_lb_target_group_attachment" "api" {
  for_each         = { for name, machine in local.machines : name => machine if machine.role == "controlplane" }
  target_group_arn = aws_lb_target_group.api.arn
  target_id        = aws_instance.node[each.key].id
  port             = 6443
}

data "aws_route53_zone" "cluster" {
  name = var.hosted_zone
}

resource "aws_route53_record" "api" {
  zone_id = data.aws_route53_zone.cluster.zone_id
  name    = "k8s.${var.domain}"
  type    = "A"

  alias {
    name                   = aws_lb.api.dns_name
    zone_id                = aws_lb.api.zone_id
    evaluate_target_health = false
  }
}
