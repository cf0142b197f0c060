# As somebody would write it for AWS itself: where the bench's cloud is, and who asks, is in the environment.

terraform {
  required_providers {
    aws = {
      source = "hashicorp/aws"
    }
  }
}

provider "aws" {
  region = var.region

  default_tags {
    tags = { cluster = var.name }
  }
}
