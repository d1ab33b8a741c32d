package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const fieldManager = "latchkey-operator"

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// fingerprint of the spec, the same that Latchkey writes: JSON with sorted keys, absent fields left out.
func fingerprint(spec *Spec) (string, error) {
	covered := map[string]any{}
	set := func(name string, present bool, value any) {
		if present {
			covered[name] = value
		}
	}
	set("user", spec.User != "", spec.User)
	set("team", spec.Team != "", spec.Team)
	set("subject", spec.Subject != "", spec.Subject)
	set("groups", len(spec.Groups) > 0, spec.Groups)
	set("allowPlatformCli", spec.AllowPlatformCli, true)
	set("accessKey", spec.AccessKey != "", spec.AccessKey)
	set("key", spec.Key != "", "sha256:"+hashOfKey(spec.Key))
	for name, raw := range map[string]json.RawMessage{"scope": spec.Scope, "rules": spec.Rules, "secretRef": spec.SecretRef} {
		if len(raw) == 0 {
			continue
		}
		var value any
		if err := json.Unmarshal(raw, &value); err != nil {
			return "", err
		}
		covered[name] = value
	}
	canonical, err := json.Marshal(covered)
	if err != nil {
		return "", err
	}
	return "v1:" + sha256Hex(canonical), nil
}

// hashOfKey reads both forms of spec.key.
func hashOfKey(key string) string {
	if hash, found := strings.CutPrefix(key, "sha256:"); found {
		return hash
	}
	return sha256Hex([]byte(key))
}

func readyCondition(message string, generation int64, now time.Time) []metav1.Condition {
	return []metav1.Condition{{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Issued",
		Message:            message,
		ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now),
	}}
}

// settled says whether a reconcile has nothing to write.
func settled(status *Status, generation int64, fingerprint string) bool {
	if status.ObservedGeneration != generation || status.Fingerprint != fingerprint || status.CredentialHash == "" {
		return false
	}
	for _, condition := range status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == metav1.ConditionTrue
		}
	}
	return false
}

// writeStatus sends one merge patch that holds for this very version of the object. It is built by hand: computing it from two
// copies of the object, as client.MergeFrom does, costs more.
func writeStatus(ctx context.Context, c client.Client, object client.Object, status *Status) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": object.GetUID(), "resourceVersion": object.GetResourceVersion()},
		"status":   status,
	})
	if err != nil {
		return err
	}
	return c.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldManager))
}
