// Writes the table of list keys of the built-in Kubernetes kinds to standard output.
//
// Run it from the root of the repository:
//
//	go run -C scripts/list-keys . v1.34.1 > crates/merge/src/keys/builtin.txt
//
// It takes the OpenAPI document out of the Go module k8s.io/kubernetes and keeps, of each type, the lists that merge by
// key or as sets, the mappings that can have the keys of one variant only (their patch strategy is retainKeys), and the
// fields through which such a list or mapping can be reached.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

type schema struct {
	Ref         string            `json:"$ref"`
	Type        string            `json:"type"`
	Items       *schema           `json:"items"`
	Properties  map[string]schema `json:"properties"`
	ListType    string            `json:"x-kubernetes-list-type"`
	MapKeys     []string          `json:"x-kubernetes-list-map-keys"`
	MergeKey    string            `json:"x-kubernetes-patch-merge-key"`
	Strategy    string            `json:"x-kubernetes-patch-strategy"`
	GroupsKinds []groupKind       `json:"x-kubernetes-group-version-kind"`
}

type groupKind struct{ Group, Version, Kind string }

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: list-keys VERSION")
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

// How a list merges: "*" as a set, keys by keys, "" as a whole.
func keys(list schema) string {
	switch {
	case list.Type != "array":
		return ""
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

// Whether what a field holds, or each item of it, can have the keys of one variant only.
func hasVariants(field schema) bool {
	return strings.Contains(field.Strategy, "retainKeys")
}

// The type that a field leads to: its own, or that of its items when they merge by key.
func target(field schema) string {
	ref := field.Ref
	if field.Items != nil && keys(field) != "" {
		ref = field.Items.Ref
	}
	return strings.TrimPrefix(ref, "#/definitions/")
}

// The types from which a list with keys can be reached.
func useful(definitions map[string]schema) map[string]bool {
	found := map[string]bool{}
	for grown := true; grown; {
		grown = false
		for name, definition := range definitions {
			for _, field := range definition.Properties {
				if !found[name] && (keys(field) != "" || hasVariants(field) || found[target(field)]) {
					found[name], grown = true, true
				}
			}
		}
	}
	return found
}

func write(out *bufio.Writer, version string, definitions map[string]schema) {
	kept := useful(definitions)
	names := sorted(kept)
	numbers := map[string]int{}
	for number, name := range names {
		numbers[name] = number
	}
	fmt.Fprintf(out, "# List keys of Kubernetes %s, made by scripts/list-keys. Do not edit.\n", version)
	fmt.Fprintln(out, "# k GROUP/VERSION KIND TYPE: the type of a kind; the group of the core is empty.")
	fmt.Fprintln(out, "# t TYPE FIELD...: name=KEYS merges by keys, name=* as a set; ! has one variant; :TYPE is what it holds.")
	var kinds []string
	for _, name := range names {
		for _, kind := range definitions[name].GroupsKinds {
			// These are parts of requests, served in every group.
			if strings.HasPrefix(name, "io.k8s.apimachinery.") {
				continue
			}
			kinds = append(kinds, fmt.Sprintf("k %s/%s %s %d", kind.Group, kind.Version, kind.Kind, numbers[name]))
		}
	}
	sort.Strings(kinds)
	for _, kind := range kinds {
		fmt.Fprintln(out, kind)
	}
	for number, name := range names {
		fmt.Fprintf(out, "t %d", number)
		fields := definitions[name].Properties
		for _, field := range sorted(fields) {
			list, to := keys(fields[field]), target(fields[field])
			if list == "" && !hasVariants(fields[field]) && !kept[to] {
				continue
			}
			fmt.Fprintf(out, " %s", field)
			if list != "" {
				fmt.Fprintf(out, "=%s", list)
			}
			if hasVariants(fields[field]) {
				fmt.Fprint(out, "!")
			}
			if kept[to] {
				fmt.Fprintf(out, ":%d", numbers[to])
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
