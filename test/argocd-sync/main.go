// Syncs manifests with the engine of Argo CD, as its controller does: it looks at what is there, takes one step of the operation, and
// begins again with the state of that step. Reads one JSON document and writes another; see argocd-sync.ts.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"latchkey.local/test/argocd-health/lua"
)

// The controller of Argo CD takes the next step when something changes; here it is taken after this time.
const pause = 200 * time.Millisecond

type order struct {
	Kubeconfig string                       `json:"kubeconfig"`
	Manifests  []*unstructured.Unstructured `json:"manifests"`
	// What an earlier commit had and this one has not is pruned.
	Earlier []*unstructured.Unstructured `json:"earlier"`
	// The text of health.lua by kind.
	Scripts   map[string]string `json:"scripts"`
	Replace   bool              `json:"replace"`
	PatienceS float64           `json:"patienceSeconds"`
	// What has not ended when patience has is terminated.
	Terminate bool `json:"terminate"`
	// The Application is deleted, and its objects with it.
	Cascade bool `json:"cascade"`
}

type outcome struct {
	Phase   string   `json:"phase"`
	Message string   `json:"message"`
	Results []result `json:"results"`
}

type result struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	Message string `json:"message"`
	// Empty where Argo CD has no check for the kind.
	Health string `json:"health"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var asked order
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", asked.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, -1
	target, err := newCluster(config)
	if err != nil {
		return err
	}
	operation := target.operate
	if asked.Cascade {
		operation = target.cascade
	}
	found, err := operation(asked)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(found)
}

// healthOf holds the scripts by kind; for others the engine has checks of its own.
type healthOf map[string]string

func (scripts healthOf) GetResourceHealth(object *unstructured.Unstructured) (*health.HealthStatus, error) {
	script, ok := scripts[object.GetKind()]
	if !ok {
		return nil, nil
	}
	found, err := lua.Judge(script, object)
	if err != nil {
		return nil, err
	}
	return &health.HealthStatus{Status: health.HealthStatusCode(found.Status), Message: found.Message}, nil
}

type cluster struct {
	config *rest.Config
	client dynamic.Interface
	mapper meta.RESTMapper
}

func newCluster(config *rest.Config) (*cluster, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(disco)
	if err != nil {
		return nil, err
	}
	return &cluster{config, client, restmapper.NewDiscoveryRESTMapper(groups)}, nil
}

// operate takes steps until the operation is over, or for as long as there is patience.
func (c *cluster) operate(asked order) (*outcome, error) {
	started := metav1.Now()
	phase, message := common.OperationRunning, ""
	var results []common.ResourceSyncResult
	for deadline := time.Now().Add(time.Duration(asked.PatienceS * float64(time.Second))); ; time.Sleep(pause) {
		isOver := time.Now().After(deadline)
		if isOver && asked.Terminate {
			phase = common.OperationTerminating
		}
		state, err := c.compare(asked)
		if err != nil {
			return nil, err
		}
		step, cleanUp, err := sync.NewSyncContext("", state, c.config, c.config,
			&kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}, "default",
			sync.WithLogr(logr.Discard()),
			sync.WithHealthOverride(healthOf(asked.Scripts)),
			sync.WithOperationSettings(false, true, false, false),
			sync.WithInitialState(phase, message, results, started),
			sync.WithServerSideApply(!asked.Replace),
			sync.WithServerSideApplyManager("argocd-controller"),
			sync.WithReplace(asked.Replace))
		if err != nil {
			return nil, err
		}
		if phase == common.OperationTerminating {
			step.Terminate()
		} else {
			step.Sync()
		}
		cleanUp()
		phase, message, results = step.GetState()
		if phase.Completed() || isOver {
			return c.report(asked, phase, message, results)
		}
	}
}

// compare is what the controller keeps in its cache: each object of Git beside the one that is there.
func (c *cluster) compare(asked order) (sync.ReconciliationResult, error) {
	live := map[kube.ResourceKey]*unstructured.Unstructured{}
	for _, object := range append(append([]*unstructured.Unstructured{}, asked.Earlier...), asked.Manifests...) {
		found, err := c.get(object)
		if err != nil {
			return sync.ReconciliationResult{}, err
		}
		if found != nil {
			live[kube.GetResourceKey(found)] = found
		}
	}
	copies := make([]*unstructured.Unstructured, 0, len(asked.Manifests))
	for _, object := range asked.Manifests {
		copies = append(copies, object.DeepCopy())
	}
	return sync.Reconcile(copies, live, "default", scopes{c.mapper}), nil
}

func (c *cluster) get(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	found, err := c.client.Resource(mapping.Resource).Namespace(object.GetNamespace()).
		Get(context.Background(), object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}
