package main

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "management.platform.sh", Version: "v1"}

// kinds of credentials, by the plural of their resources.
var kinds = map[string]string{
	"ownedaccesskeys":                   "OwnedAccessKey",
	"directclusterendpointtokens":       "DirectClusterEndpointToken",
	"virtualclusterinstancekubeconfigs": "VirtualClusterInstanceKubeConfig",
}

// Credential holds what the duty takes of an object of any of the kinds; the rest of it is not decoded.
type Credential struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec,omitempty"`
	Status            Status `json:"status,omitempty"`
}

type Spec struct {
	User      string          `json:"user,omitempty"`
	Groups    []string        `json:"groups,omitempty"`
	Disabled  bool            `json:"disabled,omitempty"`
	AccessKey string          `json:"accessKey,omitempty"`
	Scope     json.RawMessage `json:"scope,omitempty"`
}

type Status struct {
	CredentialHash string       `json:"credentialHash,omitempty"`
	Fingerprint    string       `json:"fingerprint,omitempty"`
	NotAfter       *metav1.Time `json:"notAfter,omitempty"`
}

type CredentialList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Credential `json:"items"`
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, kind := range kinds {
		scheme.AddKnownTypeWithName(groupVersion.WithKind(kind), &Credential{})
		scheme.AddKnownTypeWithName(groupVersion.WithKind(kind+"List"), &CredentialList{})
	}
	metav1.AddToGroupVersion(scheme, groupVersion)
	return scheme
}

func (c *Credential) DeepCopyObject() runtime.Object {
	out := *c
	c.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Groups = slices.Clone(c.Spec.Groups)
	out.Spec.Scope = slices.Clone(c.Spec.Scope)
	out.Status.NotAfter = c.Status.NotAfter.DeepCopy()
	return &out
}

func (l *CredentialList) DeepCopyObject() runtime.Object {
	out := &CredentialList{TypeMeta: l.TypeMeta, Items: make([]Credential, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Credential)
	}
	return out
}
