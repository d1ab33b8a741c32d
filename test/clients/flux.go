package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	fields := ssa.Owner{Field: "kustomize-controller", Group: marks}
	return ssa.NewResourceManager(cluster, poller, fields), objects, nil
}

// kustomization does what the controllers of Flux do with a whole set of objects.
func kustomization(ctx context.Context, config *rest.Config, step string) error {
	switch step {
	case "health":
		return health(ctx, config)
	case "apply":
		return apply(ctx, config)
	case "prune":
		return prune(ctx, config)
	case "drift":
		return drift(ctx, config)
	}
	return fmt.Errorf("unknown step %q", step)
}

// The name and the namespace of the Kustomization, and the group of its marks.
const (
	owner      = "latchkey"
	ownerPlace = "flux-system"
	marks      = "kustomize.toolkit.fluxcd.io"
)

// apply is one turn of kustomize-controller. It prints what it did to each object.
func apply(ctx context.Context, config *rest.Config) error {
	manager, objects, err := engine(config)
	if err != nil {
		return err
	}
	manager.SetOwnerLabels(objects, owner, ownerPlace)
	changes, err := manager.ApplyAllStaged(ctx, objects, ssa.DefaultApplyOptions())
	return printed(changes, err)
}

// prune is what kustomize-controller does when the Kustomization is deleted, or an object has left Git.
func prune(ctx context.Context, config *rest.Config) error {
	manager, objects, err := engine(config)
	if err != nil {
		return err
	}
	changes, err := manager.DeleteAll(ctx, objects, ssa.DeleteOptions{
		PropagationPolicy: metav1.DeletePropagationBackground,
		Inclusions:        manager.GetOwnerLabels(owner, ownerPlace),
		Exclusions:        map[string]string{marks + "/prune": "disabled", marks + "/reconcile": "disabled"},
	})
	return printed(changes, err)
}

func printed(changes *ssa.ChangeSet, err error) error {
	if err != nil {
		return err
	}
	for _, change := range changes.Entries {
		fmt.Println(change)
	}
	return nil
}

// drift compares the objects of a release with those that are there, as helm-controller does.
func drift(ctx context.Context, config *rest.Config) error {
	manager, objects, err := engine(config)
	if err != nil {
		return err
	}
	found, err := jsondiff.UnstructuredList(ctx, manager.Client(), objects, jsondiff.FieldOwner("helm-controller"))
	if err != nil {
		return err
	}
	for _, one := range found {
		if one.Type != jsondiff.DiffTypeNone {
			fmt.Println(one.Type, one.GroupVersionKind().Kind, one.GetName(), one.Patch)
		}
	}
	return nil
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
