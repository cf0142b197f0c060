package main

import (
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/constants"
)

// What is asked for goes beyond what Talos knows on both sides, so that each answer has its bounds in it.
const (
	oldestTalos, newestTalos           = 2, 24
	oldestKubernetes, newestKubernetes = 18, 60
)

type talosLine struct {
	Kubernetes []string `json:"kubernetes"` // minor versions that it supports, oldest first
	Hosts      []string `json:"hosts"`      // minor versions of Talos on which its installer runs
}

// compatibilityCommand asks Talos about every pair of minor versions.
func compatibilityCommand() error {
	lines := map[string]talosLine{}

	for minor := oldestTalos; minor <= newestTalos; minor++ {
		target, err := talosVersion(minor)
		if err != nil {
			return err
		}

		line := talosLine{Kubernetes: []string{}, Hosts: []string{}}

		for other := oldestKubernetes; other <= newestKubernetes; other++ {
			kubernetes, err := compatibility.ParseKubernetesVersion(fmt.Sprintf("1.%d.0", other))
			if err != nil {
				return err
			}

			if kubernetes.SupportedWith(target) == nil {
				line.Kubernetes = append(line.Kubernetes, fmt.Sprintf("1.%d", other))
			}
		}

		for other := oldestTalos; other <= newestTalos; other++ {
			host, err := talosVersion(other)
			if err != nil {
				return err
			}

			if target.UpgradeableFrom(host) == nil {
				line.Hosts = append(line.Hosts, fmt.Sprintf("1.%d", other))
			}
		}

		if len(line.Kubernetes) > 0 { // Talos knows the line
			lines[fmt.Sprintf("1.%d", minor)] = line
		}
	}

	return printJSON(map[string]any{
		"talos":             lines,
		"defaultKubernetes": constants.DefaultKubernetesVersion,
	})
}

func talosVersion(minor int) (*compatibility.TalosVersion, error) {
	return compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: fmt.Sprintf("v1.%d.0", minor)})
}
