// Lists the namespaces of a cluster as any Go program would: client-go finds server, authority and credential in the
// kubeconfig by its own rules.
//
//	clientgo <kubeconfig paths, as in KUBECONFIG> [context]
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

const timeout = 20 * time.Second

// The typed clients say the same and take a minute longer to compile.
var resource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: clientgo <kubeconfig paths> [context]")
		os.Exit(2)
	}
	names, err := namespaces(os.Args[1], append(os.Args, "")[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, name := range names {
		fmt.Println(name)
	}
}

func namespaces(paths, contextName string) ([]string, error) {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(paths)}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: contextName}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Items))
	for _, namespace := range list.Items {
		names = append(names, namespace.GetName())
	}
	return names, nil
}
