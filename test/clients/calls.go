package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// caller makes calls one after the other and tells what each answered, a line each.
type caller struct {
	ctx             context.Context
	config          *rest.Config
	typed, protobuf kubernetes.Interface
	dynamic         dynamic.Interface
	namespace, name string
}

// calls does with client-go what programs do with it.
func calls(ctx context.Context, config *rest.Config, namespace, name string) error {
	binary := rest.CopyConfig(config)
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	c := &caller{ctx: ctx, config: config, namespace: namespace, name: name}
	var err error
	if c.typed, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if c.protobuf, err = kubernetes.NewForConfig(binary); err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	for _, part := range []func() error{c.discover, c.useMaps, c.useWorkloads, c.useShops, c.follow} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// tell prints what a call answered: a value as JSON without what is another one each time, or the whole of a refusal.
func (c *caller) tell(call string, value any, err error) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		fmt.Println(call+":", lasting(value))
	case asStatus(err, &status):
		fmt.Println(call+": refused", lasting(status.Status()))
	default:
		fmt.Println(call+": failed", err)
	}
}

func asStatus(err error, status *apierrors.APIStatus) bool {
	found, ok := err.(apierrors.APIStatus)
	*status = found
	return ok
}

// What differs from one run to the next.
var passing = []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time", "managedFields", "token", "expirationTimestamp"}

func lasting(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	var plain any
	if json.Unmarshal(text, &plain) != nil {
		return string(text)
	}
	text, _ = json.Marshal(without(plain))
	return string(text)
}

func without(value any) any {
	switch part := value.(type) {
	case map[string]any:
		for _, key := range passing {
			delete(part, key)
		}
		for key := range part {
			part[key] = without(part[key])
		}
	case []any:
		for i := range part {
			part[i] = without(part[i])
		}
	}
	return value
}

func (c *caller) discover() error {
	client := c.typed.Discovery()
	version, err := client.ServerVersion()
	c.tell("version", version, err)
	groups, lists, err := client.ServerGroupsAndResources()
	c.tell("groups", groups, err)
	for _, list := range inOrder(lists) {
		c.tell("resources", list, nil)
	}
	// Without the aggregated form, as older clients ask.
	plain := discovery.NewDiscoveryClientForConfigOrDie(c.config)
	plain.UseLegacyDiscovery = true
	preferred, err := plain.ServerPreferredNamespacedResources()
	c.tell("preferred resources", inOrder(preferred), err)
	paths, err := client.OpenAPIV3().Paths()
	names := make([]string, 0, len(paths))
	for path := range paths {
		names = append(names, path)
	}
	slices.Sort(names)
	c.tell("OpenAPI documents", strings.Join(names, " "), err)
	schema, err := client.OpenAPISchema()
	if err != nil {
		return err
	}
	c.tell("OpenAPI v2 definitions", len(schema.GetDefinitions().GetAdditionalProperties()), nil)
	_, err = client.ServerResourcesForGroupVersion("nothing.example.com/v1")
	c.tell("resources of nothing", nil, err)
	return nil
}

// inOrder sorts what client-go gives in the order of a map.
func inOrder(lists []*metav1.APIResourceList) []*metav1.APIResourceList {
	slices.SortFunc(lists, func(a, b *metav1.APIResourceList) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	for _, list := range lists {
		slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return strings.Compare(a.Name, b.Name) })
	}
	return lists
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"calls": "yes"}}
}

var selected = metav1.ListOptions{LabelSelector: "calls=yes"}
