package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tree is what `oracle nodes` answers for one file.
type tree struct {
	File      string  `json:"file"`
	Documents []*node `json:"documents"`
}

// node mirrors yaml.Node. A document that cannot be decoded has only Error; an
// empty piece of a split stream is null.
type node struct {
	Kind    string   `json:"kind,omitempty"`
	Style   []string `json:"style,omitempty"`
	Tag     string   `json:"tag,omitempty"`
	Short   string   `json:"short,omitempty"`
	Value   string   `json:"value,omitempty"`
	Anchor  string   `json:"anchor,omitempty"`
	Head    string   `json:"head,omitempty"`
	Line    string   `json:"line,omitempty"`
	Foot    string   `json:"foot,omitempty"`
	Row     int      `json:"row,omitempty"`
	Column  int      `json:"column,omitempty"`
	Error   string   `json:"error,omitempty"`
	Content []*node  `json:"content,omitempty"`
}

// separator is what kyaml takes for the line between two documents. It eats both
// line breaks, so of two separators in a row only the first one splits.
var separator = regexp.MustCompile("\n---([^\n]*)\n")

// dumpFile decodes the whole stream, or with docs each piece of it on its own.
func dumpFile(name string, source []byte, docs bool) any {
	decode := decodeStream
	if docs {
		decode = decodePieces
	}
	documents, err := guarded(func() ([]*node, error) { return decode(source) })
	if err != nil {
		return failure{File: name, Error: err.Error()}
	}
	return tree{File: name, Documents: documents}
}

// decodeStream dumps all documents as go-yaml sees them; one bad document fails all.
func decodeStream(source []byte) ([]*node, error) {
	documents := []*node{}
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		documents = append(documents, dump(&document))
	}
}

// decodePieces dumps one entry for each piece of the stream that kyaml's byte
// reader would decode. Like that reader it sees only the first document of a piece.
func decodePieces(source []byte) ([]*node, error) {
	pieces, err := split(string(source))
	if err != nil {
		return nil, err
	}
	documents := []*node{}
	for _, piece := range pieces {
		var document yaml.Node
		err := yaml.NewDecoder(strings.NewReader(piece)).Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			documents = append(documents, nil)
		case err != nil:
			documents = append(documents, &node{Error: err.Error()})
		default:
			documents = append(documents, dump(&document))
		}
	}
	return documents, nil
}

// split cuts a stream as kyaml's byte reader does: CRLF becomes LF, then separator
// lines divide it. Every piece but the last ends with the line break before its separator.
func split(stream string) ([]string, error) {
	stream = strings.ReplaceAll(stream, "\r\n", "\n")
	if stream == "" {
		return nil, nil
	}
	var pieces []string
	start := 0
	for _, at := range separator.FindAllStringSubmatchIndex(stream, -1) {
		rest := strings.TrimSpace(stream[at[2]:at[3]])
		if rest != "" && !strings.HasPrefix(rest, "#") {
			return nil, fmt.Errorf("invalid document separator: %s", strings.TrimSpace(stream[at[0]:at[1]]))
		}
		pieces = append(pieces, stream[start:at[0]+1])
		start = at[1]
	}
	return append(pieces, stream[start:]), nil
}

func dump(from *yaml.Node) *node {
	to := &node{
		Kind:   kindName(from.Kind),
		Style:  styleNames(from.Style),
		Tag:    from.Tag,
		Short:  from.ShortTag(),
		Value:  from.Value,
		Anchor: from.Anchor,
		Head:   from.HeadComment,
		Line:   from.LineComment,
		Foot:   from.FootComment,
		Row:    from.Line,
		Column: from.Column,
	}
	for _, child := range from.Content {
		to.Content = append(to.Content, dump(child))
	}
	return to
}

func kindName(kind yaml.Kind) string {
	switch kind {
	case yaml.DocumentNode:
		return "document"
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "sequence"
	case yaml.ScalarNode:
		return "scalar"
	case yaml.AliasNode:
		return "alias"
	default:
		return fmt.Sprintf("kind-%d", kind)
	}
}

func styleNames(style yaml.Style) []string {
	var names []string
	for _, flag := range []struct {
		style yaml.Style
		name  string
	}{
		{yaml.DoubleQuotedStyle, "double"},
		{yaml.SingleQuotedStyle, "single"},
		{yaml.LiteralStyle, "literal"},
		{yaml.FoldedStyle, "folded"},
		{yaml.FlowStyle, "flow"},
		{yaml.TaggedStyle, "tagged"},
	} {
		if style&flag.style != 0 {
			names = append(names, flag.name)
		}
	}
	return names
}
