// Writes how the built-in Kubernetes kinds are written in protobuf: the numbers and types of their fields.
//
// Run it from the root of the repository:
//
//	go run -C scripts/protobuf . table > crates/api/src/protobuf/fields.txt
//	go run -C scripts/protobuf . samples > crates/api/tests/it/protobuf.json
//
// It looks at the Go types of k8s.io/api and its sisters, and keeps facts about their fields only. The first lines of the table say how it is
// written. Samples are objects that the Go library wrote in protobuf and in JSON; tests compare what we read with them.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscaling "k8s.io/api/autoscaling/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	rbac "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

type kind struct {
	version schema.GroupVersion
	object  runtime.Object
}

var kinds = []kind{
	{core.SchemeGroupVersion, &core.ConfigMap{}},
	{core.SchemeGroupVersion, &core.Event{}},
	{core.SchemeGroupVersion, &core.Namespace{}},
	{core.SchemeGroupVersion, &core.Secret{}},
	{core.SchemeGroupVersion, &core.ServiceAccount{}},
	{events.SchemeGroupVersion, &events.Event{}},
	{coordination.SchemeGroupVersion, &coordination.Lease{}},
	{rbac.SchemeGroupVersion, &rbac.ClusterRole{}},
	{rbac.SchemeGroupVersion, &rbac.ClusterRoleBinding{}},
	{rbac.SchemeGroupVersion, &rbac.Role{}},
	{rbac.SchemeGroupVersion, &rbac.RoleBinding{}},
	{authentication.SchemeGroupVersion, &authentication.SelfSubjectReview{}},
	{authentication.SchemeGroupVersion, &authentication.TokenRequest{}},
	{authentication.SchemeGroupVersion, &authentication.TokenReview{}},
	{authorization.SchemeGroupVersion, &authorization.LocalSubjectAccessReview{}},
	{authorization.SchemeGroupVersion, &authorization.SelfSubjectAccessReview{}},
	{authorization.SchemeGroupVersion, &authorization.SelfSubjectRulesReview{}},
	{authorization.SchemeGroupVersion, &authorization.SubjectAccessReview{}},
	{autoscaling.SchemeGroupVersion, &autoscaling.Scale{}},
	{apiextensions.SchemeGroupVersion, &apiextensions.CustomResourceDefinition{}},
	{schema.GroupVersion{}, &meta.DeleteOptions{}},
}

// Types whose JSON is not that of their fields.
var special = map[reflect.Type]string{
	reflect.TypeOf(meta.Time{}):                                  "t",
	reflect.TypeOf(meta.MicroTime{}):                             "u",
	reflect.TypeOf(meta.FieldsV1{}):                              "j",
	reflect.TypeOf(runtime.RawExtension{}):                       "j",
	reflect.TypeOf(apiextensions.JSON{}):                         "j",
	reflect.TypeOf(apiextensions.JSONSchemaPropsOrArray{}):       "A",
	reflect.TypeOf(apiextensions.JSONSchemaPropsOrBool{}):        "B",
	reflect.TypeOf(apiextensions.JSONSchemaPropsOrStringArray{}): "S",
}

type writer struct {
	seen  map[reflect.Type]bool
	queue []reflect.Type
}

func name(of reflect.Type) string {
	parts := strings.Split(of.PkgPath(), "/")
	return strings.Join(parts[max(0, len(parts)-2):], ".") + "." + of.Name()
}

func (w *writer) message(of reflect.Type) string {
	if !w.seen[of] {
		w.seen[of] = true
		w.queue = append(w.queue, of)
	}
	return "@" + name(of)
}

func (w *writer) shape(of reflect.Type) string {
	if letter, ok := special[of]; ok {
		return letter
	}
	switch of.Kind() {
	case reflect.Pointer:
		return w.shape(of.Elem())
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int32, reflect.Int64:
		return "i"
	case reflect.Float64:
		return "f"
	case reflect.Struct:
		return w.message(of)
	case reflect.Map:
		return "{" + w.shape(of.Elem())
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		// As the value of a map, a named list is a message with a list in it.
		if of.Name() != "" {
			return "I" + w.shape(of.Elem())
		}
		return "*" + w.shape(of.Elem())
	}
	log.Fatalf("no shape for %v", of)
	return ""
}

func (w *writer) fields(of reflect.Type) []string {
	var lines []string
	for i := range of.NumField() {
		field := of.Field(i)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue
		}
		label, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if label == "" {
			log.Fatalf("%v.%s has no name", of, field.Name)
		}
		shape := w.shape(field.Type)
		// A named list is only a message where it is no list of the message that has it.
		if slices.Contains(tag, "rep") {
			shape = strings.TrimPrefix(shape, "I")
			if field.Type.Kind() == reflect.Slice && !strings.HasPrefix(shape, "*") {
				shape = "*" + shape
			}
		}
		line := fmt.Sprintf("%s %s %s", tag[1], label, shape)
		isScalar := slices.Contains([]reflect.Kind{reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64}, field.Type.Kind())
		if strings.Contains(options, "omitempty") && isScalar {
			line += " z"
		}
		lines = append(lines, line)
	}
	return lines
}

func table() {
	fmt.Println("# How built-in kinds are written in protobuf. Made by scripts/protobuf; do not edit.")
	fmt.Println("# K group version kind type: a kind; core stands for the group without a name, - for any")
	fmt.Println("# T type: a message; the lines behind it are its fields")
	fmt.Println("# number name shape [z]: z says that zero, false and empty are left out of JSON")
	fmt.Println("# shapes: s text, y bytes, b boolean, i integer, f number, t time, u time with microseconds, j JSON as bytes,")
	fmt.Println("#   @type message, *shape list, {shape map of texts, Ishape message with one list, A B S schema or list, boolean, texts")
	w := writer{seen: map[reflect.Type]bool{}}
	for _, kind := range kinds {
		of := reflect.TypeOf(kind.object).Elem()
		group, version := kind.version.Group, kind.version.Version
		if group == "" {
			group = "core"
		}
		if version == "" {
			group, version = "-", "-"
		}
		fmt.Printf("K %s %s %s %s\n", group, version, of.Name(), strings.TrimPrefix(w.message(of), "@"))
	}
	// Reached through special shapes only.
	w.message(reflect.TypeOf(apiextensions.JSONSchemaProps{}))
	for len(w.queue) > 0 {
		of := w.queue[0]
		w.queue = w.queue[1:]
		fmt.Printf("T %s\n", name(of))
		for _, line := range w.fields(of) {
			fmt.Println(line)
		}
	}
}

var moment = time.Date(2026, 11, 16, 10, 20, 30, 123456000, time.UTC)

// Fills in everything, down to a depth.
func fill(value reflect.Value, count *int, depth int) {
	*count++
	switch value.Type() {
	case reflect.TypeOf(meta.TypeMeta{}):
		return
	case reflect.TypeOf(meta.Time{}):
		value.Set(reflect.ValueOf(meta.NewTime(moment.Truncate(time.Second))))
		return
	case reflect.TypeOf(meta.MicroTime{}):
		value.Set(reflect.ValueOf(meta.NewMicroTime(moment)))
		return
	case reflect.TypeOf(meta.FieldsV1{}):
		value.Set(reflect.ValueOf(meta.FieldsV1{Raw: []byte(`{"f:data":{}}`)}))
		return
	case reflect.TypeOf(runtime.RawExtension{}):
		value.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte(`{"a":1}`)}))
		return
	case reflect.TypeOf(apiextensions.JSON{}):
		value.Set(reflect.ValueOf(apiextensions.JSON{Raw: []byte(`{"a":[1,"x",null]}`)}))
		return
	case reflect.TypeOf(apiextensions.JSONSchemaPropsOrArray{}):
		value.Set(reflect.ValueOf(apiextensions.JSONSchemaPropsOrArray{Schema: &apiextensions.JSONSchemaProps{Type: "string"}}))
		return
	case reflect.TypeOf(apiextensions.JSONSchemaPropsOrBool{}):
		value.Set(reflect.ValueOf(apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensions.JSONSchemaProps{Type: "integer"}}))
		return
	case reflect.TypeOf(apiextensions.JSONSchemaPropsOrStringArray{}):
		value.Set(reflect.ValueOf(apiextensions.JSONSchemaPropsOrStringArray{Property: []string{"a", "b"}}))
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		if depth == 0 {
			return
		}
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem(), count, depth-1)
	case reflect.String:
		value.SetString(fmt.Sprintf("text-%d", *count))
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32, reflect.Int64:
		value.SetInt(int64(-*count))
	case reflect.Float64:
		value.SetFloat(float64(*count) / 4)
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Type().Field(i).IsExported() {
				fill(value.Field(i), count, depth)
			}
		}
	case reflect.Map:
		if depth == 0 {
			return
		}
		value.Set(reflect.MakeMap(value.Type()))
		item := reflect.New(value.Type().Elem()).Elem()
		fill(item, count, depth-1)
		value.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key-%d", *count)).Convert(value.Type().Key()), item)
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Uint8 {
			value.SetBytes([]byte{0, 1, 0xfe, byte(*count)})
			return
		}
		if depth == 0 {
			return
		}
		list := reflect.MakeSlice(value.Type(), 2, 2)
		fill(list.Index(0), count, depth-1)
		fill(list.Index(1), count, depth-1)
		value.Set(list)
	default:
		log.Fatalf("cannot fill %v", value.Type())
	}
}

func samples() {
	scheme := runtime.NewScheme()
	serializer := protobuf.NewSerializer(scheme, scheme)
	type sample struct {
		Protobuf string          `json:"protobuf"`
		JSON     json.RawMessage `json:"json"`
	}
	var all []sample
	for _, kind := range kinds {
		of := reflect.TypeOf(kind.object).Elem()
		version := kind.version
		if version.Version == "" {
			version = schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
		}
		for _, depth := range []int{-1, 4} {
			object := reflect.New(of)
			count := 0
			if depth > 0 {
				fill(object.Elem(), &count, depth)
			}
			made := object.Interface().(runtime.Object)
			made.GetObjectKind().SetGroupVersionKind(version.WithKind(of.Name()))
			var out strings.Builder
			if err := serializer.Encode(made, &out); err != nil {
				log.Fatal(err)
			}
			text, err := json.Marshal(made)
			if err != nil {
				log.Fatal(err)
			}
			all = append(all, sample{base64.StdEncoding.EncodeToString([]byte(out.String())), text})
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(all); err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "samples" {
		samples()
		return
	}
	table()
}
