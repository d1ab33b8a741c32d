package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "clients.example.com/secret"

// A kind that the test defines: it has a status.
var shop = schema.GroupVersionKind{Group: "clients.example.com", Version: "v1", Kind: "Shop"}

// steps are printed once each, in the order in which they came about.
type steps struct {
	mutex sync.Mutex
	seen  map[string]bool
}

func (s *steps) done(step string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.seen[step] {
		s.seen[step] = true
		fmt.Println(step)
	}
}

type reconciler struct {
	client.Client
	steps *steps
}

// controller runs a manager that leads by a Lease, and lets it make, repair and remove what belongs to one object.
func controller(ctx context.Context, config *rest.Config, namespace, name string) error {
	ctrl.SetLogger(logr.Discard())
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Cache:                   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		LeaderElection:          true,
		LeaderElectionID:        name,
		LeaderElectionNamespace: namespace,
		// Otherwise the next leader waits for the end of the Lease.
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       server.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	told := &steps{seen: map[string]bool{}}
	object := shopOf(namespace, name)
	err = ctrl.NewControllerManagedBy(manager).Named(name).For(shopOf("", "")).Owns(&corev1.Secret{}).
		Complete(&reconciler{Client: manager.GetClient(), steps: told})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	work := make(chan error, 1)
	go func() { work <- exercise(running, manager, object, told) }()
	select {
	case err := <-ended:
		return fmt.Errorf("the manager ended: %w", err)
	case err := <-work:
		stop()
		return errors.Join(err, <-ended)
	}
}

func shopOf(namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(shop)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func exercise(ctx context.Context, manager ctrl.Manager, object *unstructured.Unstructured, told *steps) error {
	select {
	case <-manager.Elected():
		told.done("leads")
	case <-ctx.Done():
		return ctx.Err()
	}
	if !manager.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("the cache does not fill: %w", ctx.Err())
	}
	cluster := manager.GetClient()
	key := client.ObjectKeyFromObject(object)
	if err := cluster.Create(ctx, object); err != nil {
		return err
	}
	ready := func() bool {
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		return phase == "Ready"
	}
	if err := until(ctx, func() bool { return cluster.Get(ctx, key, object) == nil && ready() }); err != nil {
		return fmt.Errorf("the object is not ready: %w", err)
	}
	if err := cluster.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}); err != nil {
		return err
	}
	if err := until(ctx, func() bool { return told.has("repairs") }); err != nil {
		return fmt.Errorf("the secret does not come back: %w", err)
	}
	if err := cluster.Delete(ctx, object); err != nil {
		return err
	}
	gone := func() bool { return apierrors.IsNotFound(cluster.Get(ctx, key, object)) }
	if err := until(ctx, gone); err != nil {
		return fmt.Errorf("the object stays: %w", err)
	}
	told.done("is gone")
	return nil
}

func (s *steps) has(step string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.seen[step]
}

func until(ctx context.Context, holds func() bool) error {
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) { return holds(), nil })
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := shopOf("", "")
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	err := r.reconcile(ctx, object)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return ctrl.Result{}, err
}

func (r *reconciler) reconcile(ctx context.Context, object *unstructured.Unstructured) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName()}}
	if object.GetDeletionTimestamp() != nil {
		if err := client.IgnoreNotFound(r.Delete(ctx, secret)); err != nil {
			return err
		}
		controllerutil.RemoveFinalizer(object, finalizer)
		r.steps.done("finalizes")
		return client.IgnoreNotFound(r.Update(ctx, object))
	}
	if controllerutil.AddFinalizer(object, finalizer) {
		if err := r.Update(ctx, object); err != nil {
			return err
		}
		r.steps.done("adds a finalizer")
	}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, secret, func() error {
		secret.StringData = map[string]string{"shop": object.GetName()}
		return controllerutil.SetControllerReference(object, secret, r.Scheme())
	})
	if apierrors.IsAlreadyExists(err) {
		// The cache has not seen it yet, and its event is on the way.
		return nil
	}
	if err != nil {
		return err
	}
	if result == controllerutil.OperationResultCreated {
		r.created()
	}
	return r.report(ctx, object)
}

func (r *reconciler) created() {
	if r.steps.has("makes a Secret") {
		r.steps.done("repairs")
	}
	r.steps.done("makes a Secret")
}

func (r *reconciler) report(ctx context.Context, object *unstructured.Unstructured) error {
	if phase, _, _ := unstructured.NestedString(object.Object, "status", "phase"); phase == "Ready" {
		return nil
	}
	before := object.DeepCopy()
	if err := unstructured.SetNestedField(object.Object, "Ready", "status", "phase"); err != nil {
		return err
	}
	if err := r.Status().Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return err
	}
	r.steps.done("reports a status")
	return nil
}
