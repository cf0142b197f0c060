// The clients of the few AWS services that the bench uses, in place of the provider's generated list of them all
// (internal/conns/awsclient_gen.go). The functions are the generated ones, unchanged; the others are left out, and
// with them the SDKs of some 260 services. S3, Account and the tagging API are there because the kept code names them.
package conns

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/account"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/organizations"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/hashicorp/terraform-provider-aws/internal/errs"
	"github.com/hashicorp/terraform-provider-aws/names"
)

func (c *AWSClient) AccountClient(ctx context.Context) *account.Client {
	return errs.Must(client[*account.Client](ctx, c, names.Account, make(map[string]any)))
}

func (c *AWSClient) EC2Client(ctx context.Context) *ec2.Client {
	return errs.Must(client[*ec2.Client](ctx, c, names.EC2, make(map[string]any)))
}

func (c *AWSClient) ELBV2Client(ctx context.Context) *elasticloadbalancingv2.Client {
	return errs.Must(client[*elasticloadbalancingv2.Client](ctx, c, names.ELBV2, make(map[string]any)))
}

func (c *AWSClient) IAMClient(ctx context.Context) *iam.Client {
	return errs.Must(client[*iam.Client](ctx, c, names.IAM, make(map[string]any)))
}

func (c *AWSClient) OrganizationsClient(ctx context.Context) *organizations.Client {
	return errs.Must(client[*organizations.Client](ctx, c, names.Organizations, make(map[string]any)))
}

func (c *AWSClient) ResourceGroupsTaggingAPIClient(ctx context.Context) *resourcegroupstaggingapi.Client {
	return errs.Must(client[*resourcegroupstaggingapi.Client](ctx, c, names.ResourceGroupsTaggingAPI, make(map[string]any)))
}

func (c *AWSClient) Route53Client(ctx context.Context) *route53.Client {
	return errs.Must(client[*route53.Client](ctx, c, names.Route53, make(map[string]any)))
}

func (c *AWSClient) S3Client(ctx context.Context) *s3.Client {
	return errs.Must(client[*s3.Client](ctx, c, names.S3, make(map[string]any)))
}

func (c *AWSClient) STSClient(ctx context.Context) *sts.Client {
	return errs.Must(client[*sts.Client](ctx, c, names.STS, make(map[string]any)))
}
