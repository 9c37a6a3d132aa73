package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// scalarsFile holds texts, one request for each line, and in the answers how they are printed.
const scalarsFile = "scalars.jsonl"

// writeAnswers fills a folder with the answers for all fixtures of another, after
// removing the answers that were there. Nothing in them depends on the machine.
func writeAnswers(fixtures, answers string) error {
	names, err := filepath.Glob(filepath.Join(fixtures, "*.yaml"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no fixtures in %q", fixtures)
	}
	if err := removeAnswers(answers); err != nil {
		return err
	}
	if err := writeScalars(filepath.Join(fixtures, scalarsFile), filepath.Join(answers, scalarsFile)); err != nil {
		return err
	}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for file, content := range answersFor(filepath.Base(name), source) {
			if err := os.WriteFile(filepath.Join(answers, file), content, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func removeAnswers(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, pattern := range []string{"*.nodes.json", "*.docs.json", "*.format.yaml", "*.format.error", scalarsFile} {
		old, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return err
		}
		for _, name := range old {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeScalars answers every text of a file of requests.
func writeScalars(requests, answers string) error {
	in, err := os.Open(requests)
	if err != nil {
		return err
	}
	defer in.Close()
	var out bytes.Buffer
	if err := eachRequest(in, &out, printEverywhere); err != nil {
		return err
	}
	return os.WriteFile(answers, out.Bytes(), 0o644)
}

// answersFor gives the answer files for one fixture by name.
func answersFor(base string, source []byte) map[string][]byte {
	name := strings.TrimSuffix(base, ".yaml")
	files := map[string][]byte{name + ".nodes.json": pretty(dumpFile(base, source, false))}
	if pieces, err := split(string(source)); err != nil || len(pieces) > 1 {
		files[name+".docs.json"] = pretty(dumpFile(base, source, true))
	}
	switch format := formatFile(base, source, formatter{}).(type) {
	case formatted:
		files[name+".format.yaml"] = []byte(format.Output)
	case failure:
		files[name+".format.error"] = []byte(format.Error + "\n")
	}
	return files
}

// pretty prints a tree with one node on each line, indented by depth.
func pretty(answer any) []byte {
	var out bytes.Buffer
	dumped, isTree := answer.(tree)
	if !isTree {
		mustWriteLine(&out, answer)
		return out.Bytes()
	}
	mustWriteLine(&out, struct {
		File string `json:"file"`
	}{dumped.File})
	reopen(&out, `,"documents":[`)
	prettyNodes(&out, dumped.Documents, "")
	out.WriteString("]}\n")
	return out.Bytes()
}

func prettyNodes(out *bytes.Buffer, nodes []*node, indent string) {
	indent += " "
	for i, each := range nodes {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n" + indent)
		if each == nil {
			out.WriteString("null")
			continue
		}
		alone := *each
		alone.Content = nil
		mustWriteLine(out, alone)
		if len(each.Content) == 0 {
			out.Truncate(out.Len() - 1)
			continue
		}
		reopen(out, `,"content":[`)
		prettyNodes(out, each.Content, indent)
		out.WriteString("]}")
	}
}

// reopen replaces the brace and line break that end the last object by more text.
func reopen(out *bytes.Buffer, more string) {
	out.Truncate(out.Len() - len("}\n"))
	out.WriteString(more)
}

// mustWriteLine writes to a buffer, which cannot fail, values that always marshal.
func mustWriteLine(out io.Writer, value any) {
	if err := writeLine(out, value); err != nil {
		panic(err)
	}
}
