// Command reads reads one object again and again with client-go, until its standard input ends. Then it prints how often it asked, how many
// of these requests failed, and the first error.
//
//	reads <kubeconfig> <absolute path of the object> <workers>
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

type findings struct {
	Requests int    `json:"requests"`
	Failed   int    `json:"failed"`
	Error    string `json:"error,omitempty"`
}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, path, workers string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// No limit of its own.
	config.QPS = -1
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(workers)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	var found findings
	var lock sync.Mutex
	var running sync.WaitGroup
	for range count {
		running.Go(func() {
			for ctx.Err() == nil {
				// What is under way at the end is waited for.
				err := client.Get().AbsPath(path).Do(context.Background()).Error()
				lock.Lock()
				found.Requests++
				if err != nil {
					found.Failed++
					if found.Error == "" {
						found.Error = err.Error()
					}
				}
				lock.Unlock()
			}
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	running.Wait()
	return json.NewEncoder(os.Stdout).Encode(found)
}
