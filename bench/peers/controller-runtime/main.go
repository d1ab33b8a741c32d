// Command controller-runtime does the duty of reconcile-10k as a controller in Go: it confirms access keys and issues tokens,
// with one status write and one event for each object.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"flag"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func main() {
	eventForEach := flag.Bool("event-for-each", false, "write an event for each object, without a budget")
	concurrency := flag.Int("concurrency", 16, "objects of each kind that are reconciled at the same time")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(false)))
	if err := run(*eventForEach, *concurrency); err != nil {
		ctrl.Log.Error(err, "the controller has ended")
		os.Exit(1)
	}
}

func run(eventForEach bool, concurrency int) error {
	ctx := ctrl.SetupSignalHandler()
	manager, err := newManager()
	if err != nil {
		return err
	}
	budget := newEventBudget(manager.GetEventRecorder(fieldManager), eventForEach)
	if err := manager.Add(budget); err != nil {
		return err
	}
	if err := manager.GetFieldIndexer().IndexField(ctx, &OwnedAccessKey{}, hashIndex, hashesOf); err != nil {
		return err
	}
	signer, err := generateSigner()
	if err != nil {
		return err
	}
	keys := &keyReconciler{client: manager.GetClient(), events: budget}
	if err := control(manager, "ownedaccesskeys", &OwnedAccessKey{}, keys, concurrency); err != nil {
		return err
	}
	tokens := &tokenReconciler{client: manager.GetClient(), events: budget, signer: signer}
	if err := control(manager, "directclusterendpointtokens", &DirectClusterEndpointToken{}, tokens, concurrency); err != nil {
		return err
	}
	return manager.Start(ctx)
}

func newManager() (ctrl.Manager, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	// The API server limits by priority and fairness; a limit of the client's own would only make this slower.
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addToScheme(scheme)
	return ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Metrics:                       metricsserver.Options{BindAddress: "127.0.0.1:0"},
		LeaderElection:                true,
		LeaderElectionID:              "latchkey-operator",
		LeaderElectionNamespace:       "latchkey-system",
		LeaderElectionReleaseOnCancel: true,
	})
}

// control registers a controller that skips the events of its own status writes.
func control(manager ctrl.Manager, name string, kind client.Object, reconciler reconcile.Reconciler, concurrency int) error {
	return ctrl.NewControllerManagedBy(manager).
		Named(name).
		For(kind, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(reconciler)
}

func generateSigner() (*signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	return newSigner(key, sha256Hex(public)[:43])
}
