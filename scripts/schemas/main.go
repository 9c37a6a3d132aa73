// Writes the table of the types of the built-in Kubernetes kinds to standard output.
//
// Run it from the root of the repository:
//
//	go run -C scripts/schemas . v1.36.3 > crates/openapi/src/builtin.txt
//
// It takes the OpenAPI document out of the Go module k8s.io/kubernetes and keeps, of each type, its fields: which of them must
// be there, what they hold, and by which keys lists merge. The first lines of the table say how it is written.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

type schema struct {
	Ref                  string            `json:"$ref"`
	Type                 string            `json:"type"`
	Format               string            `json:"format"`
	Items                *schema           `json:"items"`
	AdditionalProperties *schema           `json:"additionalProperties"`
	Properties           map[string]schema `json:"properties"`
	Required             []string          `json:"required"`
	ListType             string            `json:"x-kubernetes-list-type"`
	MapKeys              []string          `json:"x-kubernetes-list-map-keys"`
	MergeKey             string            `json:"x-kubernetes-patch-merge-key"`
	Strategy             string            `json:"x-kubernetes-patch-strategy"`
	MapType              string            `json:"x-kubernetes-map-type"`
	GroupsKinds          []groupKind       `json:"x-kubernetes-group-version-kind"`
}

type groupKind struct{ Group, Version, Kind string }

// The letters of the shapes that are no types of their own, by type and format.
var letters = map[string]string{
	"string ":              "s",
	"string byte":          "y",
	"string date-time":     "d",
	"string int-or-string": "x",
	"integer int32":        "i",
	"integer int64":        "l",
	"integer ":             "l",
	"number double":        "n",
	"boolean ":             "b",
	"object ":              "o",
	" ":                    "a",
}

// Types that the document describes as something else than what the server reads.
var special = map[string]string{
	"io.k8s.apimachinery.pkg.api.resource.Quantity": "q",
}

const preface = `# The types of Kubernetes %s, made by scripts/schemas. Do not edit.
# k GROUP/VERSION KIND TYPE: the type of a kind; the group of the core is empty.
# t TYPE DEFINITION FIELD...: the name of a type, with = behind it if it merges as a whole, and its fields: first those that must be
# there, as NAME!:SHAPE, then the others, as NAME:SHAPE.
# NAME|:SHAPE, or NAME!|:SHAPE, is a field whose mapping, or each item of whose list, has the keys of one variant only.
# Shapes: s text, y bytes in base64, d time, q quantity, x integer or text, i and l integers of 32 and 64 bits, n number,
# b boolean, o any object, a anything, a number a type, {}SHAPE a map, []SHAPE a list; [*]SHAPE a list that merges as a set,
# [KEY,KEY]SHAPE one that merges by keys. Where patches merge it otherwise, that stands behind a semicolon: [KEY,KEY;KEY]SHAPE.
`

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: schemas VERSION")
	}
	definitions, err := load(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	out := bufio.NewWriter(os.Stdout)
	write(out, os.Args[1], definitions)
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

func load(version string) (map[string]schema, error) {
	raw, err := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@"+version).Output()
	if err != nil {
		return nil, fmt.Errorf("download k8s.io/kubernetes@%s: %w", version, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(raw, &module); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "api", "openapi-spec", "swagger.json"))
	if err != nil {
		return nil, err
	}
	var document struct{ Definitions map[string]schema }
	return document.Definitions, json.Unmarshal(text, &document)
}

// Parts of requests, served in every group, are no kinds of a package.
func kinds(name string, definition schema) []groupKind {
	if strings.HasPrefix(name, "io.k8s.apimachinery.") {
		return nil
	}
	return definition.GroupsKinds
}

// How a list merges, and behind a semicolon how it merges in strategic merge patches, if that is different.
func merges(list schema) string {
	one, other := keys(list), patchKeys(list)
	if one == other {
		return one
	}
	return one + ";" + other
}

// How a list merges in strategic merge patches, in the words of keys.
func patchKeys(list schema) string {
	switch {
	case !strings.Contains(list.Strategy, "merge"):
		return ""
	case list.MergeKey != "":
		return list.MergeKey
	}
	return "*"
}

// How a list merges: "*" as a set, keys by keys, "" as a whole.
func keys(list schema) string {
	switch {
	case list.ListType == "map" && len(list.MapKeys) > 0:
		return strings.Join(list.MapKeys, ",")
	case list.ListType == "set":
		return "*"
	case list.ListType == "atomic":
		return ""
	case list.MergeKey != "":
		return list.MergeKey
	case strings.Contains(list.Strategy, "merge") && list.Items != nil && list.Items.Ref == "":
		return "*"
	}
	return ""
}

func named(ref string) string {
	return strings.TrimPrefix(ref, "#/definitions/")
}

// The types with fields that can be reached from a kind, by name.
func reachable(definitions map[string]schema) []string {
	found := map[string]bool{}
	var visit func(schema)
	visit = func(at schema) {
		if name := named(at.Ref); name != "" {
			if !found[name] && len(definitions[name].Properties) > 0 {
				found[name] = true
				visit(definitions[name])
			}
			return
		}
		for _, field := range at.Properties {
			visit(field)
		}
		for _, part := range []*schema{at.Items, at.AdditionalProperties} {
			if part != nil {
				visit(*part)
			}
		}
	}
	for name, definition := range definitions {
		if len(kinds(name, definition)) > 0 {
			visit(schema{Ref: "#/definitions/" + name})
		}
	}
	return sorted(found)
}

type writer struct {
	definitions map[string]schema
	numbers     map[string]int
}

// What stands behind the name of a field.
func (w writer) field(at schema) string {
	if strings.Contains(at.Strategy, "retainKeys") {
		return "|:" + w.shape(at)
	}
	return ":" + w.shape(at)
}

func (w writer) shape(at schema) string {
	name := named(at.Ref)
	if letter, ok := special[name]; ok {
		return letter
	}
	if number, ok := w.numbers[name]; ok {
		return fmt.Sprint(number)
	}
	if name != "" {
		return w.shape(w.definitions[name])
	}
	switch {
	case at.Type == "array" && at.Items != nil:
		return "[" + merges(at) + "]" + w.shape(*at.Items)
	case at.Type == "object" && at.AdditionalProperties != nil:
		return "{}" + w.shape(*at.AdditionalProperties)
	case len(at.Properties) > 0:
		log.Fatal("an object without a name has properties")
	}
	letter, ok := letters[at.Type+" "+at.Format]
	if !ok {
		log.Fatalf("there is no letter for type %q with format %q", at.Type, at.Format)
	}
	return letter
}

func write(out *bufio.Writer, version string, definitions map[string]schema) {
	names := reachable(definitions)
	w := writer{definitions: definitions, numbers: map[string]int{}}
	for number, name := range names {
		w.numbers[name] = number
	}
	fmt.Fprintf(out, preface, version)
	var lines []string
	for _, name := range names {
		for _, kind := range kinds(name, definitions[name]) {
			lines = append(lines, fmt.Sprintf("k %s/%s %s %d", kind.Group, kind.Version, kind.Kind, w.numbers[name]))
		}
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	for number, name := range names {
		definition := definitions[name]
		fmt.Fprintf(out, "t %d %s", number, name)
		if definition.MapType == "atomic" {
			fmt.Fprint(out, "=")
		}
		for _, field := range definition.Required {
			fmt.Fprintf(out, " %s!%s", field, w.field(definition.Properties[field]))
		}
		for _, field := range sorted(definition.Properties) {
			if !slices.Contains(definition.Required, field) {
				fmt.Fprintf(out, " %s%s", field, w.field(definition.Properties[field]))
			}
		}
		fmt.Fprintln(out)
	}
}

func sorted[V any](values map[string]V) []string {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
