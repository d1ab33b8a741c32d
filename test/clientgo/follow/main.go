// Follows one ConfigMap with an informer, as a controller does, and reads it again and again, until the guard ends it. Prints a line for
// each version that the informer was told of, with its value `count`, and a line for each request that read it.
//
//	follow <kubeconfig> <namespace> <name>
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
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var resource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

const (
	readers = 2
	// Between two requests of a reader.
	pace = 50 * time.Millisecond
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: follow <kubeconfig> <namespace> <name>")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// No limit of its own.
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	maps := client.Resource(resource).Namespace(namespace)
	for range readers {
		go read(ctx, maps, name)
	}
	only := func(options metav1.ListOptions) metav1.ListOptions {
		options.FieldSelector = "metadata.name=" + name
		return options
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return maps.List(ctx, only(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, only(options))
		},
	}
	informer := cache.NewSharedIndexInformer(source, &unstructured.Unstructured{}, 0, cache.Indexers{})
	tell := func(object any) {
		count, _, _ := unstructured.NestedString(object.(*unstructured.Unstructured).Object, "data", "count")
		fmt.Println("count", count)
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    tell,
		UpdateFunc: func(_, object any) { tell(object) },
	}); err != nil {
		return err
	}
	informer.RunWithContext(ctx)
	return nil
}

func read(ctx context.Context, maps dynamic.ResourceInterface, name string) {
	for ; ; time.Sleep(pace) {
		if _, err := maps.Get(ctx, name, metav1.GetOptions{}); err != nil {
			fmt.Printf("lost %q\n", err.Error())
		} else {
			fmt.Println("read")
		}
	}
}
