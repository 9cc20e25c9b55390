// Command coredns is CoreDNS with only the plugins that a local cluster needs: it builds in a fraction of the time of the full set.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

// The order is that of CoreDNS's own plugin.cfg: a query passes the plugins in it.
func init() {
	dnsserver.Directives = []string{"bind", "health", "ready", "errors", "kubernetes"}
}

func main() {
	coremain.Run()
}
