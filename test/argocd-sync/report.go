package main

import (
	"context"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/resource"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// report says of each object what was done about it, and how it is.
func (c *cluster) report(
	asked order, phase common.OperationPhase, message string, results []common.ResourceSyncResult,
) (*outcome, error) {
	healths, err := c.healths(asked)
	if err != nil {
		return nil, err
	}
	list := make([]result, 0, len(results))
	for _, found := range results {
		list = append(list, result{
			Kind: found.ResourceKey.Kind, Name: found.ResourceKey.Name, Status: string(found.Status), Message: found.Message,
			Health: healths[found.ResourceKey],
		})
	}
	return &outcome{Phase: string(phase), Message: message, Results: list}, nil
}

func (c *cluster) healths(asked order) (map[kube.ResourceKey]string, error) {
	all := map[kube.ResourceKey]string{}
	for _, object := range asked.Manifests {
		live, err := c.get(object)
		if err != nil {
			return nil, err
		}
		if live == nil {
			continue
		}
		found, err := health.GetResourceHealth(live, healthOf(asked.Scripts))
		if err != nil {
			return nil, err
		}
		if found != nil {
			all[kube.GetResourceKey(live)] = string(found.Status)
		}
	}
	return all, nil
}

// cascade deletes what the controller deletes with its Application, the last first. It looks at the same marks.
func (c *cluster) cascade(asked order) (*outcome, error) {
	background := metav1.DeletePropagationBackground
	list := make([]result, 0, len(asked.Manifests))
	for index := len(asked.Manifests) - 1; index >= 0; index-- {
		live, err := c.get(asked.Manifests[index])
		if err != nil {
			return nil, err
		}
		if live == nil {
			continue
		}
		status := "Kept"
		if !isKept(live) {
			status = "Deleted"
			kind := live.GroupVersionKind()
			mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
			if err != nil {
				return nil, err
			}
			options := metav1.DeleteOptions{PropagationPolicy: &background}
			objects := c.client.Resource(mapping.Resource).Namespace(live.GetNamespace())
			if err := objects.Delete(context.Background(), live.GetName(), options); err != nil {
				return nil, err
			}
		}
		list = append(list, result{Kind: live.GetKind(), Name: live.GetName(), Status: status})
	}
	return &outcome{Phase: string(common.OperationSucceeded), Results: list}, nil
}

func isKept(object *unstructured.Unstructured) bool {
	deletes := resource.GetAnnotationOptionValue(object, common.AnnotationSyncOptions, common.SyncOptionDelete)
	isRefused := deletes != nil && *deletes == common.SyncValueFalse
	return kube.IsCRD(object) || isRefused || resource.HasAnnotationOption(object, "helm.sh/resource-policy", "keep")
}
