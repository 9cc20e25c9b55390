// Command registry is a registry of OCI images in memory, for tests. Its argument is the address at which it serves.
package main

import (
	"log"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	log.Fatal(http.ListenAndServe(os.Args[1], registry.New(registry.WithReferrersSupport(true))))
}
