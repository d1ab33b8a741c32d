package main

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "management.platform.sh", Version: "v1"}

// Status is what both kinds share; written as a whole, once for each object.
type Status struct {
	Conditions          []metav1.Condition `json:"conditions,omitempty"`
	ObservedGeneration  int64              `json:"observedGeneration,omitempty"`
	Active              *bool              `json:"active,omitempty"`
	CredentialHash      string             `json:"credentialHash,omitempty"`
	Fingerprint         string             `json:"fingerprint,omitempty"`
	Serial              int64              `json:"serial,omitempty"`
	ConfirmedTTL        *int64             `json:"confirmedTTL,omitempty"`
	IssuedAt            *metav1.Time       `json:"issuedAt,omitempty"`
	NotAfter            *metav1.Time       `json:"notAfter,omitempty"`
	ExpirationTimestamp *metav1.Time       `json:"expirationTimestamp,omitempty"`
	KeyID               string             `json:"keyID,omitempty"`
	KeySource           string             `json:"keySource,omitempty"`
	Token               string             `json:"token,omitempty"`
}

// Spec holds the fields that the duty looks at. What only the fingerprint covers stays JSON.
type Spec struct {
	User             string          `json:"user,omitempty"`
	Team             string          `json:"team,omitempty"`
	Subject          string          `json:"subject,omitempty"`
	Groups           []string        `json:"groups,omitempty"`
	Key              string          `json:"key,omitempty"`
	Disabled         bool            `json:"disabled,omitempty"`
	TTL              int64           `json:"ttl,omitempty"`
	Scope            json.RawMessage `json:"scope,omitempty"`
	Rules            json.RawMessage `json:"rules,omitempty"`
	AllowPlatformCli bool            `json:"allowPlatformCli,omitempty"`
	SecretRef        json.RawMessage `json:"secretRef,omitempty"`
	AccessKey        string          `json:"accessKey,omitempty"`
}

type OwnedAccessKey struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec,omitempty"`
	Status            Status `json:"status,omitempty"`
}

type OwnedAccessKeyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OwnedAccessKey `json:"items"`
}

type DirectClusterEndpointToken struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec,omitempty"`
	Status            Status `json:"status,omitempty"`
}

type DirectClusterEndpointTokenList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DirectClusterEndpointToken `json:"items"`
}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion,
		&OwnedAccessKey{}, &OwnedAccessKeyList{},
		&DirectClusterEndpointToken{}, &DirectClusterEndpointTokenList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}

func (s *Status) deepCopy() Status {
	out := *s
	out.Conditions = slices.Clone(s.Conditions)
	out.Active = copyOf(s.Active)
	out.ConfirmedTTL = copyOf(s.ConfirmedTTL)
	out.IssuedAt = s.IssuedAt.DeepCopy()
	out.NotAfter = s.NotAfter.DeepCopy()
	out.ExpirationTimestamp = s.ExpirationTimestamp.DeepCopy()
	return out
}

func (s *Spec) deepCopy() Spec {
	out := *s
	out.Groups = slices.Clone(s.Groups)
	out.Scope = slices.Clone(s.Scope)
	out.Rules = slices.Clone(s.Rules)
	out.SecretRef = slices.Clone(s.SecretRef)
	return out
}

func (k *OwnedAccessKey) DeepCopyObject() runtime.Object {
	out := &OwnedAccessKey{TypeMeta: k.TypeMeta, Spec: k.Spec.deepCopy(), Status: k.Status.deepCopy()}
	k.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

func (l *OwnedAccessKeyList) DeepCopyObject() runtime.Object {
	out := &OwnedAccessKeyList{TypeMeta: l.TypeMeta, Items: make([]OwnedAccessKey, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*OwnedAccessKey)
	}
	return out
}

func (t *DirectClusterEndpointToken) DeepCopyObject() runtime.Object {
	out := &DirectClusterEndpointToken{TypeMeta: t.TypeMeta, Spec: t.Spec.deepCopy(), Status: t.Status.deepCopy()}
	t.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

func (l *DirectClusterEndpointTokenList) DeepCopyObject() runtime.Object {
	out := &DirectClusterEndpointTokenList{TypeMeta: l.TypeMeta, Items: make([]DirectClusterEndpointToken, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*DirectClusterEndpointToken)
	}
	return out
}

func copyOf[T any](value *T) *T {
	if value == nil {
		return nil
	}
	copied := *value
	return &copied
}
