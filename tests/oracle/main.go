// Command oracle shows how go-yaml and kyaml read and write YAML, so that our
// own crate can be judged by them. See README.md for the commands.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const usage = `usage:
  oracle nodes [--docs] [FILE...]
  oracle format [--plain] [--compact|--wide] [FILE...]
  oracle scalar < requests.jsonl
  oracle resolve < requests.jsonl
  oracle bench [--edit] FILE
  oracle answers FIXTURES_DIR ANSWERS_DIR
Without FILE, nodes and format read file names from standard input, one on each line.`

var errUsage = errors.New(usage)

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := run(os.Args[1:], os.Stdin, out)
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	command := args[0]
	flags, operands, err := splitFlags(args[1:])
	if err != nil {
		return err
	}
	switch command {
	case "nodes":
		docs := flags.take("--docs")
		if err := flags.unknown(); err != nil {
			return err
		}
		return eachFile(operands, in, out, func(name string, source []byte) any {
			return dumpFile(name, source, docs)
		})
	case "format":
		options, err := formatOptions(flags)
		if err != nil {
			return err
		}
		return eachFile(operands, in, out, func(name string, source []byte) any {
			return formatFile(name, source, options)
		})
	case "scalar":
		return eachRequest(in, out, printScalar)
	case "resolve":
		return eachRequest(in, out, resolveScalar)
	case "bench":
		edit := flags.take("--edit")
		if err := flags.unknown(); err != nil || len(operands) != 1 {
			return errUsage
		}
		report, err := bench(operands[0], edit)
		if err != nil {
			return err
		}
		return writeLine(out, report)
	case "answers":
		if err := flags.unknown(); err != nil || len(operands) != 2 {
			return errUsage
		}
		return writeAnswers(operands[0], operands[1])
	default:
		return fmt.Errorf("unknown command %q\n%s", command, usage)
	}
}

// failure is the answer for an input that go-yaml or kyaml refuses.
type failure struct {
	File  string `json:"file,omitempty"`
	Error string `json:"error"`
}

type flagSet map[string]bool

// take reports whether the flag was given, and marks it as known.
func (f flagSet) take(name string) bool {
	given := f[name]
	delete(f, name)
	return given
}

// unknown fails when a flag is left that no command took.
func (f flagSet) unknown() error {
	for name := range f {
		return fmt.Errorf("unknown flag %q\n%s", name, usage)
	}
	return nil
}

// splitFlags separates flags from operands; after "--" all are operands.
func splitFlags(args []string) (flagSet, []string, error) {
	flags := flagSet{}
	var operands []string
	for i, arg := range args {
		if arg == "--" {
			return flags, append(operands, args[i+1:]...), nil
		}
		if !strings.HasPrefix(arg, "--") {
			operands = append(operands, arg)
			continue
		}
		if flags[arg] {
			return nil, nil, fmt.Errorf("flag %q is given twice", arg)
		}
		flags[arg] = true
	}
	return flags, operands, nil
}

// eachFile writes one answer for each named file, in order. A file that cannot
// be read gives an answer with an error and does not end the run.
func eachFile(names []string, in io.Reader, out io.Writer, answer func(string, []byte) any) error {
	if len(names) == 0 {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if line := lines.Text(); line != "" {
				names = append(names, line)
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("read file names: %w", err)
		}
	}
	for _, name := range names {
		if err := writeLine(out, answerFor(name, answer)); err != nil {
			return err
		}
	}
	return nil
}

func answerFor(name string, answer func(string, []byte) any) any {
	source, err := os.ReadFile(name)
	if err != nil {
		return failure{File: name, Error: err.Error()}
	}
	return answer(name, source)
}

// eachRequest writes one answer for each JSON value of the input, in order.
func eachRequest[Request any](in io.Reader, out io.Writer, answer func(Request) any) error {
	requests := json.NewDecoder(in)
	for {
		var request Request
		err := requests.Decode(&request)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		if err := writeLine(out, answer(request)); err != nil {
			return err
		}
	}
}

// writeLine writes the value as JSON on one line, with <, > and & as they are.
func writeLine(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// guarded turns a panic of the libraries under test into an error.
func guarded[T any](work func() (T, error)) (result T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return work()
}
