// Takes the Secret of a cluster as Argo CD does, and asks that cluster with what Argo CD makes of it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

type answer struct {
	Name       string   `json:"name"`
	Server     string   `json:"server"`
	Project    string   `json:"project"`
	Namespaces []string `json:"namespaces"`
}

func main() {
	result, err := ask()
	if err != nil {
		fmt.Fprintln(os.Stderr, apierrors.ReasonForError(err), err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		os.Exit(2)
	}
}

func ask() (*answer, error) {
	var secret corev1.Secret
	if err := json.NewDecoder(os.Stdin).Decode(&secret); err != nil {
		return nil, err
	}
	cluster, err := SecretToCluster(&secret)
	if err != nil {
		return nil, err
	}
	config, err := cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	result := &answer{Name: cluster.Name, Server: cluster.Server, Project: cluster.Project}
	for _, item := range list.Items {
		result.Namespaces = append(result.Namespaces, item.Name)
	}
	return result, nil
}
