package main

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// scalarRequest asks how one scalar is printed in one position.
type scalarRequest struct {
	Text string `json:"text"`
	// Style is plain, single, double, literal, folded or empty, which is plain too.
	Style string `json:"style"`
	// Flow puts the scalar into a flow collection instead of a block mapping.
	Flow bool `json:"flow"`
	// Key makes the scalar the key of its mapping.
	Key bool `json:"key"`
	// Typed makes it a string node; otherwise the node has no tag.
	Typed bool `json:"typed"`
	// Struct serialises a Go string instead of a node; only Text is looked at.
	Struct bool `json:"struct"`
}

type scalarAnswer struct {
	Output string `json:"output"`
}

type resolveRequest struct {
	Text string `json:"text"`
}

type resolveAnswer struct {
	// Tag is that of an untyped node with this text.
	Tag string `json:"tag"`
	// Read is the tag of the text in a document; empty when it cannot stand there plain.
	Read string `json:"read,omitempty"`
}

// printScalar encodes `k: TEXT`, `TEXT: v`, `[TEXT]` or `{TEXT: v}`.
func printScalar(request scalarRequest) any {
	output, err := guarded(func() (string, error) {
		value, err := request.value()
		if err != nil {
			return "", err
		}
		return encode(value)
	})
	if err != nil {
		return failure{Error: err.Error()}
	}
	return scalarAnswer{Output: output}
}

// resolveScalar tells the tag that plain text stands for.
func resolveScalar(request resolveRequest) any {
	answer, err := guarded(func() (resolveAnswer, error) {
		node := yaml.Node{Kind: yaml.ScalarNode, Value: request.Text}
		return resolveAnswer{Tag: node.ShortTag(), Read: readTag(request.Text)}, nil
	})
	if err != nil {
		return failure{Error: err.Error()}
	}
	return answer
}

func readTag(text string) string {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte("- "+text+"\n"), &document); err != nil {
		return ""
	}
	items := document.Content[0].Content
	if len(items) != 1 || items[0].Kind != yaml.ScalarNode || items[0].Style != 0 || items[0].Value != text {
		return ""
	}
	return items[0].ShortTag()
}

// everywhere tells all about one text: what it resolves to, and how it is printed.
// The keys of a column are positions: value, key, flow and flow-key.
type everywhere struct {
	Text     string `json:"text"`
	Resolved any    `json:"resolved"`
	Struct   any    `json:"struct"`
	// Untyped and Typed are plain nodes without a tag and string nodes; the others
	// are string nodes that ask for a style.
	Untyped map[string]any `json:"untyped"`
	Typed   map[string]any `json:"typed"`
	Single  map[string]any `json:"single"`
	Double  map[string]any `json:"double"`
	Literal map[string]any `json:"literal"`
	Folded  map[string]any `json:"folded"`
}

func printEverywhere(request resolveRequest) any {
	text := request.Text
	column := func(style string, typed bool) map[string]any {
		at := func(flow, key bool) any {
			return printed(scalarRequest{Text: text, Style: style, Typed: typed, Flow: flow, Key: key})
		}
		return map[string]any{
			"value":    at(false, false),
			"key":      at(false, true),
			"flow":     at(true, false),
			"flow-key": at(true, true),
		}
	}
	return everywhere{
		Text:     text,
		Resolved: resolveScalar(request),
		Struct:   printed(scalarRequest{Text: text, Struct: true}),
		Untyped:  column("plain", false),
		Typed:    column("plain", true),
		Single:   column("single", true),
		Double:   column("double", true),
		Literal:  column("literal", true),
		Folded:   column("folded", true),
	}
}

// printed is the bare output; a scalar that cannot be printed stays an error object.
func printed(request scalarRequest) any {
	switch answer := printScalar(request).(type) {
	case scalarAnswer:
		return answer.Output
	default:
		return answer
	}
}

func (r scalarRequest) value() (any, error) {
	if r.Struct {
		return struct {
			K string `yaml:"k"`
		}{r.Text}, nil
	}
	style, err := styleOf(r.Style)
	if err != nil {
		return nil, err
	}
	scalar := &yaml.Node{Kind: yaml.ScalarNode, Value: r.Text, Style: style}
	if r.Typed {
		scalar.Tag = yaml.NodeTagString
	}
	collection := &yaml.Node{Kind: yaml.MappingNode}
	if r.Flow {
		collection.Style = yaml.FlowStyle
	}
	switch {
	case r.Key:
		collection.Content = []*yaml.Node{scalar, {Kind: yaml.ScalarNode, Value: "v"}}
	case r.Flow:
		collection.Kind = yaml.SequenceNode
		collection.Content = []*yaml.Node{scalar}
	default:
		collection.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Value: "k"}, scalar}
	}
	return collection, nil
}

func styleOf(name string) (yaml.Style, error) {
	switch name {
	case "", "plain":
		return 0, nil
	case "single":
		return yaml.SingleQuotedStyle, nil
	case "double":
		return yaml.DoubleQuotedStyle, nil
	case "literal":
		return yaml.LiteralStyle, nil
	case "folded":
		return yaml.FoldedStyle, nil
	default:
		return 0, fmt.Errorf("unknown style %q", name)
	}
}

// encode prints the value as kyaml does, with an indentation of 2 and compact sequences.
func encode(value any) (string, error) {
	var output bytes.Buffer
	encoder := yaml.NewEncoder(&output)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	if err := encoder.Close(); err != nil {
		return "", err
	}
	return output.String(), nil
}
