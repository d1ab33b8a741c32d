package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// The account that reads credentials; the process itself may only impersonate it.
const reader = "system:serviceaccount:latchkey-system:latchkey-reader"

// credentials by the SHA-256 of their bearer strings, and a verdict for each that is in use.
type credentials struct {
	mutex    sync.RWMutex
	byHash   map[string]*Credential
	verdicts map[string]*verdict
}

func newCredentials() *credentials {
	return &credentials{byHash: map[string]*Credential{}, verdicts: map[string]*verdict{}}
}

// watch keeps them current until the context ends. The function says whether all have been read.
func (c *credentials) watch(ctx context.Context, config *rest.Config) (func() bool, error) {
	client, err := newReader(config)
	if err != nil {
		return nil, err
	}
	var informers []cache.SharedIndexInformer
	for plural := range kinds {
		source := cache.NewListWatchFromClient(client, plural, metav1.NamespaceAll, fields.Everything())
		informer := cache.NewSharedIndexInformer(source, &Credential{}, 0, cache.Indexers{})
		if err := informer.SetTransform(slim); err != nil {
			return nil, err
		}
		if _, err := informer.AddEventHandler(c.handler()); err != nil {
			return nil, err
		}
		informers = append(informers, informer)
		go informer.Run(ctx.Done())
	}
	return func() bool {
		for _, informer := range informers {
			if !informer.HasSynced() {
				return false
			}
		}
		return true
	}, nil
}

func newReader(config *rest.Config) (*rest.RESTClient, error) {
	own := rest.CopyConfig(config)
	own.Impersonate = rest.ImpersonationConfig{UserName: reader}
	own.QPS = -1
	own.APIPath = "/apis"
	own.GroupVersion = &groupVersion
	own.NegotiatedSerializer = serializer.NewCodecFactory(newScheme()).WithoutConversion()
	return rest.RESTClientFor(own)
}

// slim takes away what no request needs: most of an object.
func slim(object any) (any, error) {
	credential, ok := object.(*Credential)
	if !ok {
		return object, nil
	}
	meta := credential.ObjectMeta
	credential.ObjectMeta = metav1.ObjectMeta{
		Name:              meta.Name,
		Namespace:         meta.Namespace,
		UID:               meta.UID,
		ResourceVersion:   meta.ResourceVersion,
		CreationTimestamp: meta.CreationTimestamp,
		DeletionTimestamp: meta.DeletionTimestamp,
	}
	credential.TypeMeta = metav1.TypeMeta{}
	return credential, nil
}

func (c *credentials) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(added any) { c.replace(nil, added) },
		UpdateFunc: func(before, after any) {
			c.replace(before, after)
		},
		DeleteFunc: func(gone any) {
			if unknown, ok := gone.(cache.DeletedFinalStateUnknown); ok {
				gone = unknown.Obj
			}
			c.replace(gone, nil)
		},
	}
}

func (c *credentials) replace(before, after any) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if old, ok := before.(*Credential); ok {
		delete(c.byHash, old.Status.CredentialHash)
		delete(c.verdicts, old.Status.CredentialHash)
	}
	if current, ok := after.(*Credential); ok && current.Status.CredentialHash != "" {
		c.byHash[current.Status.CredentialHash] = current
		delete(c.verdicts, current.Status.CredentialHash)
	}
}

// find gives the verdict on the credential with this hash: made once, and kept until the credential changes.
func (c *credentials) find(hash string) (*verdict, error) {
	c.mutex.RLock()
	known := c.verdicts[hash]
	c.mutex.RUnlock()
	if known != nil {
		return known, known.check()
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	object := c.byHash[hash]
	if object == nil {
		return nil, fmt.Errorf("no such credential")
	}
	made, err := judge(object)
	if err != nil {
		return nil, err
	}
	c.verdicts[hash] = made
	return made, made.check()
}

func (v *verdict) check() error {
	if !v.end.IsZero() && !time.Now().Before(v.end) {
		return fmt.Errorf("the credential has expired")
	}
	return nil
}
