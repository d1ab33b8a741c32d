// Follows one ConfigMap with informers, as controllers do, while it makes, changes and deletes it: once with whole objects as
// JSON, once with their metadata as protobuf. Prints what each informer was told.
//
//	informers <kubeconfig> <namespace> <name>
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const timeout = 30 * time.Second

var resource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: informers <kubeconfig> <namespace> <name>")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	maps := objects.Resource(resource).Namespace(namespace)
	told, err := startInformers(ctx, config, namespace, name)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name},
		"data":       map[string]any{"a": "1"},
	}}
	created, err := maps.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if err := expect(ctx, told, "added"); err != nil {
		return err
	}
	created.Object["data"] = map[string]any{"a": "2"}
	if _, err := maps.Update(ctx, created, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := expect(ctx, told, "updated"); err != nil {
		return err
	}
	if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return expect(ctx, told, "deleted")
}

// startInformers resolves once both have read what there is. The channels tell what came since, one for each informer.
func startInformers(
	ctx context.Context, config *rest.Config, namespace, name string,
) (map[string]chan string, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	slim, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	maps, names := objects.Resource(resource).Namespace(namespace), slim.Resource(resource).Namespace(namespace)
	only := func(options metav1.ListOptions) metav1.ListOptions {
		options.FieldSelector = "metadata.name=" + name
		return options
	}
	sources := map[string]*cache.ListWatch{
		"objects": {
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return maps.List(ctx, only(options))
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return maps.Watch(ctx, only(options))
			},
		},
		"metadata": {
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return names.List(ctx, only(options))
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return names.Watch(ctx, only(options))
			},
		},
	}
	samples := map[string]runtime.Object{
		"objects":  &unstructured.Unstructured{},
		"metadata": &metav1.PartialObjectMetadata{},
	}
	told := map[string]chan string{}
	for source, listWatch := range sources {
		events := make(chan string, 16)
		informer := cache.NewSharedIndexInformer(listWatch, samples[source], 0, cache.Indexers{})
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { events <- "added" },
			UpdateFunc: func(any, any) { events <- "updated" },
			DeleteFunc: func(any) { events <- "deleted" },
		}); err != nil {
			return nil, err
		}
		go informer.RunWithContext(ctx)
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			return nil, fmt.Errorf("the informer of %s does not synchronise", source)
		}
		told[source] = events
	}
	return told, nil
}

func expect(ctx context.Context, told map[string]chan string, wanted string) error {
	for _, source := range []string{"objects", "metadata"} {
		select {
		case event := <-told[source]:
			fmt.Println(source, event)
			if event != wanted {
				return fmt.Errorf("the informer of %s was told %s instead of %s", source, event, wanted)
			}
		case <-ctx.Done():
			return fmt.Errorf("the informer of %s was not told: %s", source, wanted)
		}
	}
	return nil
}
