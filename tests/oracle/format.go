package main

import (
	"bytes"
	"errors"
	"io"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// formatted is what `oracle format` answers for one file.
type formatted struct {
	File string `json:"file"`
	// Documents counts what was written. When it is 0 the package writer has nothing
	// to write and leaves the file as it is, so Output equals the input.
	Documents int    `json:"documents"`
	Output    string `json:"output"`
}

type formatter struct {
	// plain goes through go-yaml alone, without kyaml's rules for resources.
	plain bool
	// indent overrides the sequence indentation that kyaml derives from the text.
	indent yaml.SequenceIndentStyle
}

func formatOptions(flags flagSet) (formatter, error) {
	options := formatter{plain: flags.take("--plain")}
	compact, wide := flags.take("--compact"), flags.take("--wide")
	switch {
	case compact && wide:
		return options, errors.New("--compact and --wide exclude each other")
	case compact:
		options.indent = yaml.CompactSequenceStyle
	case wide:
		options.indent = yaml.WideSequenceStyle
	}
	return options, flags.unknown()
}

func formatFile(name string, source []byte, options formatter) any {
	format := options.throughPackage
	if options.plain {
		format = options.throughStream
	}
	result, err := guarded(func() (formatted, error) { return format(filepath.Base(name), source) })
	if err != nil {
		return failure{File: name, Error: err.Error()}
	}
	result.File = name
	return result
}

// throughPackage reads and writes a package of this one file, with the options that
// kpt uses when it renders a package.
func (f formatter) throughPackage(base string, source []byte) (formatted, error) {
	const folder = "/package"
	file := path.Join(folder, base)
	files := filesys.MakeFsInMemory()
	if err := files.WriteFile(file, source); err != nil {
		return formatted{}, err
	}
	resources := &kio.LocalPackageReadWriter{
		PackagePath:       folder,
		MatchFilesGlob:    []string{"*"},
		PreserveSeqIndent: true,
		WrapBareSeqNode:   true,
		FileSystem:        filesys.FileSystemOrOnDisk{FileSystem: files},
	}
	nodes, err := resources.Read()
	if err != nil {
		return formatted{}, errors.New(strings.ReplaceAll(err.Error(), file+": ", ""))
	}
	if f.indent != "" {
		for _, node := range nodes {
			if err := node.PipeE(yaml.SetAnnotation(kioutil.SeqIndentAnnotation, string(f.indent))); err != nil {
				return formatted{}, err
			}
		}
	}
	if err := resources.Write(nodes); err != nil {
		return formatted{}, err
	}
	output, err := files.ReadFile(file)
	return formatted{Documents: len(nodes), Output: string(output)}, err
}

// throughStream decodes and encodes every document of the stream with kyaml's
// encoder settings. Sequences are compact unless the caller asks for wide ones.
func (f formatter) throughStream(_ string, source []byte) (formatted, error) {
	var output bytes.Buffer
	var result formatted
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	encoder := yaml.NewEncoderWithOptions(&output, &yaml.EncoderOptions{SeqIndent: f.indent})
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return result, err
		}
		if err := encoder.Encode(&document); err != nil {
			return result, err
		}
		result.Documents++
	}
	if result.Documents == 0 {
		return result, nil
	}
	err := encoder.Close()
	result.Output = output.String()
	return result, err
}
