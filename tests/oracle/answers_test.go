package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The committed answers are what the program gives today.
func TestAnswersAreCurrent(t *testing.T) {
	fresh := t.TempDir()
	if err := writeAnswers("fixtures", fresh); err != nil {
		t.Fatal(err)
	}
	want, got := contents(t, "answers"), contents(t, fresh)
	for name, content := range got {
		if old, found := want[name]; !found || old != content {
			t.Errorf("answers/%s is out of date", name)
		}
	}
	for name := range want {
		if _, found := got[name]; !found {
			t.Errorf("answers/%s has no fixture", name)
		}
	}
}

// A fixture is named invalid exactly when go-yaml or kyaml refuses it.
func TestInvalidFixturesAreNamedSo(t *testing.T) {
	for name, source := range contents(t, "fixtures") {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		_, nodesFailed := dumpFile(name, []byte(source), false).(failure)
		_, formatFailed := formatFile(name, []byte(source), formatter{}).(failure)
		if named := strings.HasPrefix(name, "invalid-"); named != (nodesFailed || formatFailed) {
			t.Errorf("%s: nodes failed: %t, format failed: %t", name, nodesFailed, formatFailed)
		}
	}
}

// Our split cuts where kyaml cuts: formatting the pieces gives what formatting the stream gives.
func TestSplitFollowsKyaml(t *testing.T) {
	for name, source := range contents(t, "fixtures") {
		whole, ok := formatFile(name, []byte(source), formatter{}).(formatted)
		if !ok || filepath.Ext(name) != ".yaml" || whole.Documents == 0 {
			continue
		}
		pieces, err := split(source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var outputs []string
		for _, piece := range pieces {
			part, ok := formatFile(name, []byte(piece), formatter{}).(formatted)
			if !ok {
				t.Errorf("%s: a piece fails alone: %q", name, piece)
			} else if part.Documents > 0 {
				outputs = append(outputs, part.Output)
			}
		}
		if joined := strings.Join(outputs, "---\n"); joined != whole.Output {
			t.Errorf("%s: pieces give\n%s\nthe stream gives\n%s", name, joined, whole.Output)
		}
	}
}

func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(content)
	}
	return files
}
