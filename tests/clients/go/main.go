// Asks a Kubernetes API server with client-go what controllers written in Go ask: informers, the dynamic client, leader election.
//
// KUBECONFIG names the server. Each suite prints one line when it held, and the program ends with an error when one did not.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

const patience = 60 * time.Second

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fail("kubeconfig", err)
	}
	config.QPS, config.Burst = 1000, 1000
	suites := []struct {
		name string
		run  func(context.Context, *rest.Config) error
	}{
		{"typed", typed},
		{"informers", follow},
		{"dynamic", custom},
		{"election", elect},
	}
	for _, suite := range suites {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		if err := suite.run(ctx, config); err != nil {
			fail(suite.name, err)
		}
		cancel()
		fmt.Println(suite.name, "held")
	}
}

func fail(name string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(1)
}

// typed creates, updates with conflicts, applies and deletes with the generated clients, as JSON and as protobuf.
func typed(ctx context.Context, config *rest.Config) error {
	for _, media := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		config := rest.CopyConfig(config)
		config.ContentType = media
		config.AcceptContentTypes = media + ",application/json"
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		maps := client.CoreV1().ConfigMaps("default")
		made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "typed-"}, Data: map[string]string{"a": "1"}}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create as %s: %w", media, err)
		}
		stale := made.DeepCopy()
		made.Data["a"] = "2"
		if _, err = maps.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("update as %s: %w", media, err)
		}
		stale.Data["a"] = "3"
		if _, err = maps.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return fmt.Errorf("an old version is a conflict, not %v", err)
		}
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			newest, err := maps.Get(ctx, made.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			newest.Data["a"] = "4"
			_, err = maps.Update(ctx, newest, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return err
		}
		if _, err = maps.Patch(ctx, made.Name, types.StrategicMergePatchType, []byte(`{"data":{"b":"5"}}`), metav1.PatchOptions{}); err != nil {
			return err
		}
		applied := applycorev1.ConfigMap(made.Name, "default").WithData(map[string]string{"c": "6"})
		got, err := maps.Apply(ctx, applied, metav1.ApplyOptions{FieldManager: "clients", Force: true})
		if err != nil {
			return err
		}
		if got.Data["a"] != "4" || got.Data["b"] != "5" || got.Data["c"] != "6" {
			return fmt.Errorf("wrong data: %v", got.Data)
		}
		if err = maps.Delete(ctx, made.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("other")}); !apierrors.IsConflict(err) {
			return fmt.Errorf("another uid is a conflict, not %v", err)
		}
		if err = maps.Delete(ctx, made.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		if _, err = maps.Get(ctx, made.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is gone, not %v", err)
		}
	}
	return nil
}

// follow runs shared informers, of which one sees all objects and one only those with a label, and compares them with a list.
func follow(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	some := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "tier=web" }))
	var lock sync.Mutex
	deleted := map[string]bool{}
	_, err = some.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(object interface{}) {
		lock.Lock()
		defer lock.Unlock()
		if found, ok := object.(*corev1.ConfigMap); ok {
			deleted[found.Name] = true
		}
	}})
	if err != nil {
		return err
	}
	everything := all.Core().V1().ConfigMaps().Lister()
	informer := all.Core().V1().ConfigMaps().Informer()
	for _, factory := range []informers.SharedInformerFactory{all, some} {
		factory.Start(ctx.Done())
		for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
			if !ok {
				return fmt.Errorf("%v did not sync", kind)
			}
		}
	}
	maps := client.CoreV1().ConfigMaps("default")
	for i := 0; i < 50; i++ {
		tier := "web"
		if i%2 == 1 {
			tier = "db"
		}
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("inf-%d", i), Labels: map[string]string{"tier": tier}}}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	// An object that leaves a selection is deleted for who selects.
	if _, err := maps.Patch(ctx, "inf-0", types.MergePatchType, []byte(`{"metadata":{"labels":{"tier":"db"}}}`), metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := maps.Delete(ctx, "inf-2", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		list, err := maps.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		kept, err := everything.ConfigMaps("default").List(labels.Everything())
		if err != nil {
			return false, err
		}
		versions := map[string]string{}
		for _, object := range kept {
			versions[object.Name] = object.ResourceVersion
		}
		for _, object := range list.Items {
			if versions[object.Name] != object.ResourceVersion {
				return false, nil
			}
		}
		web, err := some.Core().V1().ConfigMaps().Lister().List(labels.Everything())
		lock.Lock()
		defer lock.Unlock()
		same := len(versions) == len(list.Items) && len(web) == 23 && deleted["inf-0"] && deleted["inf-2"]
		return same && informer.LastSyncResourceVersion() != "", err
	})
}

// custom makes a kind of its own, and works with it through the dynamic client, its informer, metadata and discovery.
func custom(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	object := &unstructured.Unstructured{Object: map[string]interface{}{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]interface{}{"name": "boats.go.example"},
		"spec": map[string]interface{}{
			"group": "go.example", "scope": "Namespaced",
			"names": map[string]interface{}{"plural": "boats", "kind": "Boat"},
			"versions": []interface{}{map[string]interface{}{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]interface{}{"status": map[string]interface{}{}},
				"schema": map[string]interface{}{"openAPIV3Schema": map[string]interface{}{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	if _, err = definitions.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return err
	}
	boats := schema.GroupVersionResource{Group: "go.example", Version: "v1", Resource: "boats"}
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		resources, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerResourcesForGroupVersion("go.example/v1")
		return err == nil && len(resources.APIResources) == 2, nil
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	lister := factory.ForResource(boats).Lister()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	here := client.Resource(boats).Namespace("default")
	for i := 0; i < 25; i++ {
		boat := &unstructured.Unstructured{Object: map[string]interface{}{
			"apiVersion": "go.example/v1", "kind": "Boat", "metadata": map[string]interface{}{"name": fmt.Sprintf("b%02d", i)},
			"spec": map[string]interface{}{"sails": int64(i)},
		}}
		if _, err := here.Create(ctx, boat, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	boat, err := here.Get(ctx, "b07", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := unstructured.SetNestedField(boat.Object, "afloat", "status", "phase"); err != nil {
		return err
	}
	if boat, err = here.UpdateStatus(ctx, boat, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if boat.GetGeneration() != 1 {
		return fmt.Errorf("a status is not a new generation: %d", boat.GetGeneration())
	}
	seen := 0
	options := metav1.ListOptions{Limit: 10}
	for {
		page, err := here.List(ctx, options)
		if err != nil {
			return err
		}
		seen += len(page.Items)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			break
		}
	}
	partial, err := metadata.NewForConfigOrDie(config).Resource(boats).Namespace("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if seen != 25 || len(partial.Items) != 25 {
		return fmt.Errorf("%d in pages, %d as metadata", seen, len(partial.Items))
	}
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		kept, err := lister.List(labels.Everything())
		return len(kept) == 25, err
	})
	if err != nil {
		return err
	}
	if err := here.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		kept, err := lister.List(labels.Everything())
		return len(kept) == 0, err
	})
	if err != nil {
		return err
	}
	return definitions.Delete(ctx, "boats.go.example", metav1.DeleteOptions{})
}

// elect runs two candidates: one leads, and when it stops the other one does.
func elect(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	led := make(chan string, 8)
	candidate := func(name string) context.CancelFunc {
		ctx, cancel := context.WithCancel(ctx)
		lock := &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "election", Namespace: "default"},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
				Lock: lock, ReleaseOnCancel: true,
				LeaseDuration: 20 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 200 * time.Millisecond,
				Callbacks: leaderelection.LeaderCallbacks{
					OnStartedLeading: func(context.Context) { led <- name },
					OnStoppedLeading: func() {},
				},
			})
		}()
		return func() {
			cancel()
			<-done
		}
	}
	first := candidate("first")
	if name := <-led; name != "first" {
		return fmt.Errorf("%s leads", name)
	}
	second := candidate("second")
	defer second()
	select {
	case name := <-led:
		return fmt.Errorf("%s leads beside the first", name)
	case <-time.After(time.Second):
	}
	first()
	// Who stops gives the lease back: it has no holder then, or a new one, long before its time is over.
	lease, err := client.CoordinationV1().Leases("default").Get(ctx, "election", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == "first" {
		return errors.New("the first has stopped, and still holds the lease")
	}
	select {
	case name := <-led:
		if name != "second" {
			return fmt.Errorf("%s leads", name)
		}
		return nil
	case <-ctx.Done():
		return errors.New("nobody leads")
	}
}
