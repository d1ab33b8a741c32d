package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const hashIndex = "hash"

// hashesOf indexes keys by the credential that they hold or claim, so that a second claim is found.
func hashesOf(object client.Object) []string {
	key := object.(*OwnedAccessKey)
	if key.Spec.Key == "" {
		return nil
	}
	return []string{hashOfKey(key.Spec.Key)}
}

type keyReconciler struct {
	client client.Client
	events *eventBudget
}

func (r *keyReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	key := &OwnedAccessKey{}
	if err := r.client.Get(ctx, request.NamespacedName, key); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if key.DeletionTimestamp != nil || key.Spec.Key == "" || key.Spec.Disabled {
		return ctrl.Result{}, nil
	}
	print, err := fingerprint(&key.Spec)
	if err != nil || settled(&key.Status, key.Generation, print) {
		return ctrl.Result{}, err
	}
	hash := hashOfKey(key.Spec.Key)
	claimed, err := r.claimedByAnother(ctx, hash, key.UID)
	if err != nil || claimed {
		return ctrl.Result{}, err
	}
	active, ttl := true, key.Spec.TTL
	status := &Status{
		Conditions:         readyCondition("The key is confirmed and works.", key.Generation, time.Now()),
		ObservedGeneration: key.Generation,
		Active:             &active,
		CredentialHash:     hash,
		Fingerprint:        print,
		Serial:             key.Status.Serial + 1,
		ConfirmedTTL:       &ttl,
		KeyID:              hash[:16],
		KeySource:          "Hash",
	}
	if err := writeStatus(ctx, r.client, key, status); err != nil {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("credential changed", "reason", "Issued")
	r.events.issued(key, status.Serial)
	return ctrl.Result{}, nil
}

func (r *keyReconciler) claimedByAnother(ctx context.Context, hash string, own types.UID) (bool, error) {
	claimants := &OwnedAccessKeyList{}
	if err := r.client.List(ctx, claimants, client.MatchingFields{hashIndex: hash}, client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	for i := range claimants.Items {
		if claimants.Items[i].UID != own {
			return true, nil
		}
	}
	return false, nil
}
