// Command cert-manager is cert-manager's controllers and webhook in one process. It has only the issuers CA and
// self-signed, which need no other server, and no leader election, as only one of it runs.
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/cert-manager/cert-manager/internal/webhook"
	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

const (
	workersPerController = 2
	// cert-manager's defaults after a failed request.
	minimumBackoff = time.Hour
	maximumBackoff = 32 * time.Hour
)

// A flag set of its own: imported packages register flags with the same names.
var (
	flags             = flag.NewFlagSet("cert-manager", flag.ExitOnError)
	kubeconfig        = flags.String("kubeconfig", "", "kubeconfig of the API server")
	resourceNamespace = flags.String("cluster-resource-namespace", "", "namespace of the Secrets that ClusterIssuers name")
	port              = flags.Int("webhook-port", 0, "port of the webhook, with TLS")
	certificate       = flags.String("webhook-cert-file", "", "certificate of the webhook, in PEM")
	key               = flags.String("webhook-key-file", "", "key of the webhook's certificate, in PEM")
)

func main() {
	if err := flags.Parse(os.Args[1:]); err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx = logs.NewContext(ctx, logs.Log)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serve(ctx) })
	group.Go(func() error { return control(ctx) })
	if err := group.Wait(); err != nil {
		klog.ErrorS(err, "cert-manager ends")
		os.Exit(1)
	}
}

// control runs every controller that the imports have registered.
func control(ctx context.Context) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:    *kubeconfig,
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: *resourceNamespace},
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes:                 []string{"*", "-kubectl.kubernetes.io/"},
			CertificateRequestMinimumBackoffDuration: minimumBackoff,
			CertificateRequestMaximumBackoffDuration: maximumBackoff,
		},
	})
	if err != nil {
		return err
	}
	shared, err := factory.Build()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, construct := range controller.Known() {
		each, err := construct(factory)
		if err != nil {
			return err
		}
		group.Go(func() error { return each.Run(workersPerController, ctx) })
	}
	shared.SharedInformerFactory.Start(ctx.Done())
	shared.KubeSharedInformerFactory.Start(ctx.Done())
	return group.Wait()
}

// serve runs cert-manager's webhook: it validates its objects, and records the requester of a certificate.
func serve(ctx context.Context) error {
	config, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	config.KubeConfig = *kubeconfig
	config.SecurePort = int32(*port)
	config.HealthzPort = 0
	config.MetricsListenAddress = "0"
	config.TLSConfig.Filesystem.CertFile = *certificate
	config.TLSConfig.Filesystem.KeyFile = *key
	server, err := webhook.NewCertManagerWebhookServer(logs.Log, *config)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
