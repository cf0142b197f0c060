// talos-machinery answers questions about machine configs with Talos' own library, as JSON.
//
//	version             the version of the library
//	schema              every document kind with its fields, in the order in which Talos writes them
//	meaning FILE…       what Talos reads out of each machine config, whichever form it is written in
//	compatibility       which Talos, Kubernetes and upgrades go together
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "talos-machinery:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("no command: version, schema, meaning FILE… or compatibility")
	}

	switch arguments[0] {
	case "version":
		return versionCommand()
	case "schema":
		return schemaCommand()
	case "meaning":
		return meaningCommand(arguments[1:])
	case "compatibility":
		return compatibilityCommand()
	default:
		return fmt.Errorf("unknown command %q", arguments[0])
	}
}

func versionCommand() error {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == "github.com/siderolabs/talos/pkg/machinery" {
			fmt.Println("machinery", dependency.Version)
		}
	}

	return nil
}

func printJSON(value any) error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")

	return encoder.Encode(value)
}
