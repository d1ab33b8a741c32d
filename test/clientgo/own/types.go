package main

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Part is a spec or a status of a credential. It may hold the credential itself.
type Part interface {
	secret() string
}

// Credential is one of ours; the types of its parts make it one of a kind.
type Credential[Spec, Status Part] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec,omitempty"`
	Status            Status `json:"status,omitempty"`
}

// CredentialList is a list of one kind.
type CredentialList[Spec, Status Part] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Credential[Spec, Status] `json:"items"`
}

// Key is the spec of an OwnedAccessKey.
type Key struct {
	TTL int64  `json:"ttl,omitempty"`
	Key string `json:"key,omitempty"`
}

// Nothing is a status that does not matter here.
type Nothing struct{}

// Token is the spec of a DirectClusterEndpointToken.
type Token struct {
	TTL int64 `json:"ttl,omitempty"`
}

// IssuedToken is the status of a DirectClusterEndpointToken.
type IssuedToken struct {
	Token string `json:"token,omitempty"`
}

// KubeConfig is the spec of a VirtualClusterInstanceKubeConfig.
type KubeConfig struct {
	VirtualClusterInstance string `json:"virtualClusterInstance,omitempty"`
	CertificateTTL         int64  `json:"certificateTTL,omitempty"`
}

// IssuedKubeConfig is the status of a VirtualClusterInstanceKubeConfig.
type IssuedKubeConfig struct {
	KubeConfig string `json:"kubeConfig,omitempty"`
}

// What reads show of a key is its hash.
func (key Key) secret() string {
	if strings.HasPrefix(key.Key, "sha256:") {
		return ""
	}
	return key.Key
}

func (Nothing) secret() string                      { return "" }
func (Token) secret() string                        { return "" }
func (issued IssuedToken) secret() string           { return issued.Token }
func (KubeConfig) secret() string                   { return "" }
func (issued IssuedKubeConfig) secret() string      { return issued.KubeConfig }
func (in *Credential[Spec, Status]) secret() string { return in.Spec.secret() + in.Status.secret() }

// DeepCopyObject is what makes it an object. The parts hold no pointers.
func (in *Credential[Spec, Status]) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject is what makes it an object.
func (in *CredentialList[Spec, Status]) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Credential[Spec, Status], len(in.Items))
	for index := range in.Items {
		out.Items[index] = *in.Items[index].DeepCopyObject().(*Credential[Spec, Status])
	}
	return &out
}

var (
	groupVersion = schema.GroupVersion{Group: "management.platform.sh", Version: "v1"}
	scheme       = newScheme()
	parameters   = runtime.NewParameterCodec(scheme)
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, groupVersion)
	addKind[Key, Nothing](scheme, "OwnedAccessKey")
	addKind[Token, IssuedToken](scheme, "DirectClusterEndpointToken")
	addKind[KubeConfig, IssuedKubeConfig](scheme, "VirtualClusterInstanceKubeConfig")
	return scheme
}

func addKind[Spec, Status Part](scheme *runtime.Scheme, kind string) {
	scheme.AddKnownTypeWithName(groupVersion.WithKind(kind), &Credential[Spec, Status]{})
	scheme.AddKnownTypeWithName(groupVersion.WithKind(kind+"List"), &CredentialList[Spec, Status]{})
}

func clientFor(kubeconfig string) (*rest.RESTClient, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.GroupVersion = &groupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}
