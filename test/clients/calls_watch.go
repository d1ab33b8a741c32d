package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// follow follows an object as controllers do: by a watch that begins with what there is, and by an informer.
func (c *caller) follow() error {
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	c.tell("watch from a time that is forgotten", c.eventsFrom(metav1.ListOptions{ResourceVersion: "1"}, 1), nil)
	if _, err := maps.Create(c.ctx, &corev1.ConfigMap{ObjectMeta: named(c.name)}, metav1.CreateOptions{}); err != nil {
		return err
	}
	whole := true
	c.tell("watch from the beginning", c.eventsFrom(metav1.ListOptions{
		FieldSelector:        "metadata.name=" + c.name,
		AllowWatchBookmarks:  true,
		SendInitialEvents:    &whole,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}, 2), nil)
	c.tell("watch for no longer than that", c.eventsFrom(metav1.ListOptions{FieldSelector: "metadata.name=none", TimeoutSeconds: new(int64(1))}, 1), nil)
	return c.inform()
}

// eventsFrom tells up to so many events, and whether the watch ended before.
func (c *caller) eventsFrom(options metav1.ListOptions, count int) []string {
	told, err := c.protobuf.CoreV1().ConfigMaps(c.namespace).Watch(c.ctx, options)
	if err != nil {
		return []string{"refused", err.Error()}
	}
	defer told.Stop()
	var events []string
	for range count {
		event, ok := <-told.ResultChan()
		if !ok {
			return append(events, "ended")
		}
		line := string(event.Type)
		switch object := event.Object.(type) {
		case *metav1.Status:
			line += fmt.Sprint(" ", object.Code, " ", object.Reason)
		case *corev1.ConfigMap:
			line += fmt.Sprint(" ", object.Annotations)
		}
		events = append(events, line)
	}
	return events
}

// inform changes what an informer of each client follows. client-go lists by a watch, where the server can do it.
func (c *caller) inform() error {
	ctx, stop := context.WithCancel(c.ctx)
	defer stop()
	only := fields.OneTermEqualSelector("metadata.name", c.name)
	told := map[string]chan watch.EventType{}
	for form, client := range map[string]kubernetes.Interface{"JSON": c.typed, "protobuf": c.protobuf} {
		events := make(chan watch.EventType, 16)
		told[form] = events
		source := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", c.namespace, only)
		informer := cache.NewSharedInformer(cache.ToListWatcherWithWatchListSemantics(source, client), &corev1.ConfigMap{}, 0)
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { events <- watch.Added },
			UpdateFunc: func(any, any) { events <- watch.Modified },
			DeleteFunc: func(any) { events <- watch.Deleted },
		}); err != nil {
			return err
		}
		go informer.RunWithContext(ctx)
	}
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	steps := []func() error{
		func() error { return nil },
		func() error {
			patch := []byte(`{"data":{"a":"1"}}`)
			_, err := maps.Patch(c.ctx, c.name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		},
		func() error { return maps.Delete(c.ctx, c.name, metav1.DeleteOptions{}) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
		for _, form := range []string{"JSON", "protobuf"} {
			select {
			case event := <-told[form]:
				c.tell("informer, "+form, event, nil)
			case <-c.ctx.Done():
				return fmt.Errorf("the informer, %s, is not told: %w", form, c.ctx.Err())
			}
		}
	}
	return nil
}
