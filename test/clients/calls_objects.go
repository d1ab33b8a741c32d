package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
)

// useMaps reads and writes with the typed client, as JSON and as protobuf.
func (c *caller) useMaps() error {
	maps, binary := c.typed.CoreV1().ConfigMaps(c.namespace), c.protobuf.CoreV1().ConfigMaps(c.namespace)
	object := &corev1.ConfigMap{ObjectMeta: named(c.name), Data: map[string]string{"a": "1"}}
	first, err := maps.Create(c.ctx, object, metav1.CreateOptions{})
	c.tell("create", first, err)
	_, err = binary.Create(c.ctx, object, metav1.CreateOptions{})
	c.tell("create what is there, as protobuf", nil, err)
	_, err = binary.Create(c.ctx, &corev1.ConfigMap{ObjectMeta: named(c.name + "-2")}, metav1.CreateOptions{})
	c.tell("create as protobuf", nil, err)
	_, err = maps.Create(c.ctx, &corev1.ConfigMap{ObjectMeta: named("Not_A_Name")}, metav1.CreateOptions{})
	c.tell("create what is not valid", nil, err)
	if first != nil {
		first.Data["a"] = "2"
		changed, err := binary.Update(c.ctx, first, metav1.UpdateOptions{})
		c.tell("update as protobuf", changed, err)
		_, err = maps.Update(c.ctx, first, metav1.UpdateOptions{})
		c.tell("update of an old version", nil, err)
	}
	patches := []struct {
		kind types.PatchType
		body string
	}{
		{types.MergePatchType, `{"data":{"b":"1"}}`},
		{types.StrategicMergePatchType, `{"data":{"c":"1","$retainKeys":["c"]}}`},
		{types.StrategicMergePatchType, `{"data":{"c":"1"}}`},
		{types.JSONPatchType, `[{"op":"remove","path":"/data/c"}]`},
		{types.JSONPatchType, `[{"op":"test","path":"/data/a","value":"none"}]`},
		{types.ApplyYAMLPatchType, `{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"3"}}`},
	}
	for _, patch := range patches {
		options := metav1.PatchOptions{}
		if patch.kind == types.ApplyYAMLPatchType {
			options.FieldManager = "calls"
		}
		changed, err := maps.Patch(c.ctx, c.name, patch.kind, []byte(patch.body), options)
		c.tell("patch "+patch.body, changed, err)
	}
	applied := coreapply.ConfigMap(c.name, c.namespace).WithData(map[string]string{"a": "4"})
	for _, force := range []bool{false, true} {
		changed, err := maps.Apply(c.ctx, applied, metav1.ApplyOptions{FieldManager: "typed", Force: force})
		c.tell(fmt.Sprint("apply on the server, force ", force), changed, err)
	}
	page := selected
	page.Limit = 1
	list, err := binary.List(c.ctx, page)
	c.tell("first page", len(list.Items), err)
	page.Continue = list.Continue
	rest, err := maps.List(c.ctx, page)
	c.tell("next page", len(rest.Items), err)
	page.Continue = "nothing"
	_, err = maps.List(c.ctx, page)
	c.tell("a page of nothing", nil, err)
	byField, err := maps.List(c.ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + c.name})
	c.tell("list by field", byField, err)
	other := types.UID("another")
	err = maps.Delete(c.ctx, c.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	c.tell("delete another one", nil, err)
	c.tell("delete as dry run", nil, binary.Delete(c.ctx, c.name, metav1.DeleteOptions{DryRun: []string{"All"}}))
	c.tell("delete all", nil, maps.DeleteCollection(c.ctx, metav1.DeleteOptions{}, selected))
	_, err = binary.Get(c.ctx, c.name, metav1.GetOptions{})
	c.tell("get what is gone, as protobuf", nil, err)
	return nil
}

// useWorkloads uses what stands below objects.
func (c *caller) useWorkloads() error {
	core, apps := c.typed.CoreV1(), c.typed.AppsV1().Deployments(c.namespace)
	labels := map[string]string{"calls": "yes"}
	container := corev1.Container{Name: "c", Image: "registry.example.com/nothing"}
	none := int32(0)
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
	}
	_, err := apps.Create(c.ctx, &appsv1.Deployment{
		ObjectMeta: named(c.name),
		Spec:       appsv1.DeploymentSpec{Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}, metav1.CreateOptions{})
	c.tell("create a deployment", nil, err)
	scale, err := apps.GetScale(c.ctx, c.name, metav1.GetOptions{})
	c.tell("get the scale", scale.Spec, err)
	scale.ResourceVersion = ""
	_, err = apps.UpdateScale(c.ctx, c.name, scale, metav1.UpdateOptions{})
	c.tell("update the scale", nil, err)

	off := false
	spec := corev1.PodSpec{Containers: []corev1.Container{container}, AutomountServiceAccountToken: &off}
	_, err = core.Pods(c.namespace).Create(c.ctx, &corev1.Pod{ObjectMeta: named(c.name), Spec: spec}, metav1.CreateOptions{})
	c.tell("create a pod", nil, err)
	_, err = core.Pods(c.namespace).GetLogs(c.name, &corev1.PodLogOptions{}).DoRaw(c.ctx)
	c.tell("logs", nil, err)
	status := []byte(`{"status":{"reason":"Calls"}}`)
	pod, err := core.Pods(c.namespace).Patch(c.ctx, c.name, types.MergePatchType, status, metav1.PatchOptions{}, "status")
	c.tell("patch a status", pod, err)
	debug := []byte(`{"spec":{"ephemeralContainers":[{"name":"d","image":"registry.example.com/nothing"}]}}`)
	_, err = core.Pods(c.namespace).Patch(c.ctx, c.name, types.StrategicMergePatchType, debug, metav1.PatchOptions{}, "ephemeralcontainers")
	c.tell("add a debug container", nil, err)
	err = core.Pods(c.namespace).EvictV1(c.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: c.name}})
	c.tell("evict", nil, err)

	_, err = core.ServiceAccounts(c.namespace).Create(c.ctx, &corev1.ServiceAccount{ObjectMeta: named(c.name)}, metav1.CreateOptions{})
	c.tell("create a service account", nil, err)
	token, err := core.ServiceAccounts(c.namespace).CreateToken(c.ctx, c.name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	c.tell("create its token", len(token.Status.Token) > 0, err)
	secret := &corev1.Secret{ObjectMeta: named(c.name), StringData: map[string]string{"a": "1"}}
	made, err := c.protobuf.CoreV1().Secrets(c.namespace).Create(c.ctx, secret, metav1.CreateOptions{})
	c.tell("create a secret as protobuf", made, err)
	now := metav1.NewDeleteOptions(0)
	c.tell("delete the deployment", nil, apps.Delete(c.ctx, c.name, *now))
	c.tell("delete the service account", nil, core.ServiceAccounts(c.namespace).Delete(c.ctx, c.name, *now))
	c.tell("delete the secret", nil, core.Secrets(c.namespace).Delete(c.ctx, c.name, *now))
	return nil
}

// useShops uses a kind that is known by its definition only.
func (c *caller) useShops() error {
	shops := c.dynamic.Resource(schema.GroupVersionResource{Group: shop.Group, Version: shop.Version, Resource: "shops"}).Namespace(c.namespace)
	object := shopOf(c.namespace, c.name)
	made, err := shops.Create(c.ctx, object, metav1.CreateOptions{FieldValidation: "Strict"})
	c.tell("create a shop", made, err)
	if made == nil {
		return err
	}
	if err := unstructured.SetNestedField(made.Object, "Ready", "status", "phase"); err != nil {
		return err
	}
	made, err = shops.UpdateStatus(c.ctx, made, metav1.UpdateOptions{})
	c.tell("update its status", made, err)
	object.SetLabels(map[string]string{"calls": "yes"})
	applied, err := shops.Apply(c.ctx, c.name, object, metav1.ApplyOptions{FieldManager: "calls"})
	c.tell("apply the shop", applied, err)
	list, err := shops.List(c.ctx, selected)
	c.tell("list shops", list, err)
	c.tell("delete the shop", nil, shops.Delete(c.ctx, c.name, metav1.DeleteOptions{}))
	return nil
}
