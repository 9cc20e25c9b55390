//go:build tools

// Package tools names what is built from this module.
package tools

import (
	_ "helm.sh/helm/v3/cmd/helm"
)
