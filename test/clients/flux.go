package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// engine makes the engine for a cluster, and reads manifests.
func engine(config *rest.Config) (*ssa.ResourceManager, []*unstructured.Unstructured, error) {
	objects, err := utils.ReadObjects(os.Stdin)
	if err != nil {
		return nil, nil, err
	}
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		return nil, nil, err
	}
	poller := polling.NewStatusPoller(cluster, cluster.RESTMapper(), polling.Options{})
	owner := ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"}
	return ssa.NewResourceManager(cluster, poller, owner), objects, nil
}

// health tells what a Kustomization with wait: true makes of objects that are there, as soon as it knows.
func health(ctx context.Context, config *rest.Config) error {
	manager, objects, err := engine(config)
	if err != nil {
		return err
	}
	set := object.UnstructuredSetToObjMetadataSet(objects)
	options := ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: timeout, FailFast: true}
	if err := manager.WaitForSetWithContext(ctx, set, options); err != nil {
		fmt.Println(err)
		return nil
	}
	fmt.Println("ready")
	return nil
}

// flux does with manifests what kustomize-controller does: applies them in stages, waits, applies again, and removes them.
func flux(ctx context.Context, config *rest.Config, namespace string) error {
	manager, objects, err := engine(config)
	if err != nil {
		return err
	}
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
