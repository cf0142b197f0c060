package main

import (
	_ "unsafe" // for go:linkname

	_ "github.com/siderolabs/talos/pkg/machinery/config/types"
)

// Talos' list of kinds is internal to its library; there is no other way to ask for all of them.
//
//go:linkname registeredKinds github.com/siderolabs/talos/pkg/machinery/config/internal/registry.Kinds
func registeredKinds() []string
