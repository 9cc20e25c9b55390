//go:build tools

// Package tools names what is built from this module.
package tools

import (
	_ "sigs.k8s.io/krew/cmd/krew"
)
