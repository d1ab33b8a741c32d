// Uses credentials of one's own as a controller does that has Go types for them: makes, reads, lists, changes and deletes one of
// each kind at one gateway, and follows it with informers at another one. Prints what each informer was told.
//
//	own <kubeconfig to write with> <kubeconfig to follow with> <namespace> <instance> <name>
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	timeout = 50 * time.Second
	step    = "example.com/step"
)

// place says where a credential stands.
type place struct {
	plural, namespace, name string
}

// session is what the program works with.
type session struct {
	writer, reader *rest.RESTClient
	names          metadata.Interface
}

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: own <kubeconfig to write> <kubeconfig to follow> <namespace> <instance> <name>")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, writer, reader, namespace, instance, name string) error {
	with, err := connect(writer, reader)
	if err != nil {
		return err
	}
	key := place{"ownedaccesskeys", "", name}
	if err := use[Key, Nothing](ctx, with, key, Key{TTL: 600}); err != nil {
		return err
	}
	token := place{"directclusterendpointtokens", "", name}
	if err := use[Token, IssuedToken](ctx, with, token, Token{TTL: 600}); err != nil {
		return err
	}
	spec := KubeConfig{VirtualClusterInstance: instance, CertificateTTL: 600}
	return use[KubeConfig, IssuedKubeConfig](ctx, with, place{"virtualclusterinstancekubeconfigs", namespace, name}, spec)
}

func connect(writer, reader string) (*session, error) {
	config, err := clientcmd.BuildConfigFromFlags("", reader)
	if err != nil {
		return nil, err
	}
	names, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	with := &session{names: names}
	if with.writer, err = clientFor(writer); err != nil {
		return nil, err
	}
	with.reader, err = clientFor(reader)
	return with, err
}

// use does with one credential all that its owner can do.
func use[Spec, Status Part](ctx context.Context, with *session, at place, spec Spec) error {
	told, err := follow[Spec, Status](ctx, with, at)
	if err != nil {
		return err
	}
	made := &Credential[Spec, Status]{ObjectMeta: metav1.ObjectMeta{Name: at.name}, Spec: spec}
	if err := at.on(with.writer.Post()).Body(made).Do(ctx).Into(made); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if made.secret() == "" {
		return fmt.Errorf("the answer to the create of %s holds no credential", at.plural)
	}
	if err := expect(ctx, at, told, "added", ""); err != nil {
		return err
	}
	if err := readAndList[Spec, Status](ctx, with, at); err != nil {
		return err
	}
	if err := update[Spec, Status](ctx, with, at); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if err := expect(ctx, at, told, "updated", "put"); err != nil {
		return err
	}
	patch := []byte(`{"metadata":{"labels":{"` + step + `":"patched"}}}`)
	if err := at.on(with.writer.Patch(types.MergePatchType)).Name(at.name).Body(patch).Do(ctx).Error(); err != nil {
		return fmt.Errorf("patch: %w", err)
	}
	if err := expect(ctx, at, told, "updated", "patched"); err != nil {
		return err
	}
	if err := at.on(with.writer.Delete()).Name(at.name).Body(&metav1.DeleteOptions{}).Do(ctx).Error(); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	return expect(ctx, at, told, "deleted", "patched")
}

// on completes a request with the collection that it is about.
func (at place) on(request *rest.Request) *rest.Request {
	return request.NamespaceIfScoped(at.namespace, at.namespace != "").Resource(at.plural)
}

func readAndList[Spec, Status Part](ctx context.Context, with *session, at place) error {
	read := &Credential[Spec, Status]{}
	if err := at.on(with.reader.Get()).Name(at.name).Do(ctx).Into(read); err != nil {
		return fmt.Errorf("get: %w", err)
	}
	list := &CredentialList[Spec, Status]{}
	if err := at.on(with.reader.Get()).VersionedParams(&metav1.ListOptions{Limit: 500}, parameters).Do(ctx).Into(list); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	found := 0
	for _, item := range append(list.Items, *read) {
		if item.secret() != "" {
			return fmt.Errorf("%s %s shows its credential", at.plural, item.Name)
		}
		if item.Name == at.name {
			found++
		}
	}
	if found != 2 {
		return fmt.Errorf("%s %s is not in the list", at.plural, at.name)
	}
	return nil
}

// update writes back what it reads, so the type may know less than the object holds.
func update[Spec, Status Part](ctx context.Context, with *session, at place) error {
	read := &Credential[Spec, Status]{}
	if err := at.on(with.writer.Get()).Name(at.name).Do(ctx).Into(read); err != nil {
		return err
	}
	metav1.SetMetaDataLabel(&read.ObjectMeta, step, "put")
	return at.on(with.writer.Put()).Name(at.name).Body(read).Do(ctx).Error()
}

// event is what an informer was told about the object.
type event struct {
	what, step string
}

// follow resolves once both informers have read what there is: one with whole objects, and one with their metadata.
func follow[Spec, Status Part](ctx context.Context, with *session, at place) (map[string]chan event, error) {
	whole := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := &CredentialList[Spec, Status]{}
			err := at.on(with.reader.Get()).VersionedParams(&options, parameters).Do(ctx).Into(list)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return at.on(with.reader.Get()).VersionedParams(&options, parameters).Watch(ctx)
		},
	}
	slim := with.names.Resource(groupVersion.WithResource(at.plural)).Namespace(at.namespace)
	names := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return slim.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return slim.Watch(ctx, options)
		},
	}
	told := map[string]chan event{"objects": make(chan event, 64), "metadata": make(chan event, 64)}
	if err := inform(ctx, at, whole, &Credential[Spec, Status]{}, told["objects"]); err != nil {
		return nil, err
	}
	return told, inform(ctx, at, names, &metav1.PartialObjectMetadata{}, told["metadata"])
}

func inform(ctx context.Context, at place, source *cache.ListWatch, sample runtime.Object, told chan<- event) error {
	tell := func(what string, object any) {
		if last, isUnknown := object.(cache.DeletedFinalStateUnknown); isUnknown {
			object = last.Obj
		}
		if meta := object.(metav1.Object); meta.GetName() == at.name {
			told <- event{what, meta.GetLabels()[step]}
		}
	}
	informer := cache.NewSharedIndexInformer(source, sample, 0, cache.Indexers{})
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell("added", object) },
		UpdateFunc: func(_, object any) { tell("updated", object) },
		DeleteFunc: func(object any) { tell("deleted", object) },
	}); err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("the informer of %s does not synchronise", at.plural)
	}
	return nil
}

// expect waits until each informer was told. The operator writes too, so there may be more updates than those of this program.
func expect(ctx context.Context, at place, told map[string]chan event, what, step string) error {
	for _, source := range []string{"objects", "metadata"} {
		if err := await(ctx, told[source], event{what, step}); err != nil {
			return fmt.Errorf("the informer of %s of %s: %w", source, at.plural, err)
		}
		fmt.Println(at.plural, source, what)
	}
	return nil
}

func await(ctx context.Context, told <-chan event, wanted event) error {
	for {
		select {
		case next := <-told:
			if next == wanted {
				return nil
			}
			if next.what != "updated" {
				return fmt.Errorf("it was told %v instead of %v", next, wanted)
			}
		case <-ctx.Done():
			return fmt.Errorf("it was not told %v", wanted)
		}
	}
}
