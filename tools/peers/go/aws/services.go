// The services whose resources the provider offers: those that the bench uses, in place of the generated list of
// them all (internal/provider/sdkv2/service_packages_gen.go), whose 265 packages and SDKs would have to be compiled.
// Nothing else of the provider differs. The whole has more schemas to hand to OpenTofu, so this should be no slower.
package sdkv2

import (
	"context"

	"github.com/hashicorp/terraform-provider-aws/internal/conns"
	"github.com/hashicorp/terraform-provider-aws/internal/service/ec2"
	"github.com/hashicorp/terraform-provider-aws/internal/service/elbv2"
	"github.com/hashicorp/terraform-provider-aws/internal/service/iam"
	"github.com/hashicorp/terraform-provider-aws/internal/service/route53"
	"github.com/hashicorp/terraform-provider-aws/internal/service/sts"
)

func servicePackages(ctx context.Context) []conns.ServicePackage {
	return []conns.ServicePackage{
		ec2.ServicePackage(ctx),
		elbv2.ServicePackage(ctx),
		iam.ServicePackage(ctx),
		route53.ServicePackage(ctx),
		sts.ServicePackage(ctx),
	}
}
