"""OpenTofu and its providers: a bench compares talosmith with them, and tests run what `render terraform` writes.

OpenTofu stands for Terraform, with which it shares its language and its providers. Terraform's own module lacks ten
parts of its source, which are modules without releases of their own; OpenTofu's is whole.
"""

from __future__ import annotations

from tools.peers.recipe import Recipe

_TOFU = "v1.12.6"

TOFU = Recipe(
    name="opentofu",
    module="github.com/opentofu/opentofu",
    version=_TOFU,
    binaries={"tofu": "./cmd/tofu"},
    check=("version",),
    says=f"OpenTofu {_TOFU}\n",
    ldflags="-X github.com/opentofu/opentofu/version.dev=no",
)

TOFU_LIBVIRT = Recipe(
    name="terraform-provider-libvirt",
    module="github.com/dmacvicar/terraform-provider-libvirt",
    version="v0.8.3",
    binaries={"terraform-provider-libvirt": "."},
    check=(),  # it knows no version of its own; called by a person, it says what it is
    says="This binary is a plugin",
    packages=("genisoimage",),  # it calls mkisofs
)

TOFU_PROXMOX = Recipe(
    name="terraform-provider-proxmox",
    module="github.com/bpg/terraform-provider-proxmox",
    version="v0.112.0",
    binaries={"terraform-provider-proxmox": "."},
    check=(),  # the provider has no option for its version; started without Terraform, it says what it is
    says="This binary is a plugin",
)

# Releases have no module version; the proxy lists one of 2019 and this commit, between 6.47 and 6.48, which calls
# itself 6.47.1. Of its services only the five that the bench uses are compiled, by putting short lists in place of
# two that the provider generates; nothing else is changed. All of it has more schemas to hand to OpenTofu, so this
# one should be no slower.
TOFU_AWS = Recipe(
    name="terraform-provider-aws",
    module="github.com/hashicorp/terraform-provider-aws",
    version="v1.60.1-0.20260602190131-5f2286d6d836",
    binaries={"terraform-provider-aws": "."},
    check=(),  # as above
    says="This binary is a plugin",
    add={
        "internal/conns/awsclient_gen.go": "aws/clients.go",
        "internal/provider/sdkv2/service_packages_gen.go": "aws/services.go",
    },
)
