//go:build tools

// Package tools names what is built from this module.
package tools

import (
	_ "oras.land/oras/cmd/oras"
)
