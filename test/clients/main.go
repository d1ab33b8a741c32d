// Clients of an API server that are libraries: client-go, a controller of controller-runtime, and the engine with which Flux applies.
//
//	clients calls <kubeconfig> <namespace> <name>
//	clients controller <kubeconfig> <namespace> <name>
//	clients flux <kubeconfig> <namespace> < manifests
//	clients health|apply|prune|drift <kubeconfig> < manifests
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const timeout = 90 * time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: clients calls|controller|flux|health|apply|prune|drift <kubeconfig> [namespace] [name]")
	}
	config, err := configOf(args[1])
	if err != nil {
		return err
	}
	signalled, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(signalled, timeout)
	defer cancel()
	switch {
	case args[0] == "calls" && len(args) == 4:
		return calls(ctx, config, args[2], args[3])
	case args[0] == "controller" && len(args) == 4:
		return controller(ctx, config, args[2], args[3])
	case args[0] == "flux" && len(args) == 3:
		return flux(ctx, config, args[2])
	case len(args) == 2:
		return kustomization(ctx, config, args[0])
	}
	return fmt.Errorf("unknown arguments %q", args)
}

func configOf(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// What is measured is not how fast it may ask.
	config.QPS, config.Burst = 100, 200
	return config, nil
}
