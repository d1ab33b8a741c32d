package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// flux does with manifests what kustomize-controller does: applies them in stages, waits, applies again, and removes them.
func flux(ctx context.Context, config *rest.Config, namespace string) error {
	objects, err := utils.ReadObjects(os.Stdin)
	if err != nil {
		return err
	}
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	poller := polling.NewStatusPoller(cluster, cluster.RESTMapper(), polling.Options{})
	manager := ssa.NewResourceManager(cluster, poller, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	manager.SetOwnerLabels(objects, "clients", namespace)
	for range 2 {
		changes, err := manager.ApplyAllStaged(ctx, objects, ssa.DefaultApplyOptions())
		if err != nil {
			return err
		}
		for _, change := range changes.Entries {
			fmt.Println(change)
		}
		if err := manager.Wait(objects, ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: timeout}); err != nil {
			return err
		}
	}
	changes, err := manager.DeleteAll(ctx, objects, ssa.DefaultDeleteOptions())
	if err != nil {
		return err
	}
	for _, change := range changes.Entries {
		fmt.Println(change)
	}
	return manager.WaitForTermination(objects, ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: timeout})
}
