package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// repetitions is how often reading and writing are timed; the best time counts.
const repetitions = 5

// benchReport gives speeds in 1e6 bytes of input for each second.
type benchReport struct {
	Bytes      int     `json:"bytes"`
	Documents  int     `json:"documents"`
	Edited     int     `json:"edited,omitempty"`
	ReadMBs    float64 `json:"read_mb_s"`
	EditMBs    float64 `json:"edit_mb_s,omitempty"`
	WriteMBs   float64 `json:"write_mb_s"`
	PeakRSSKiB int     `json:"peak_rss_kib"`
}

// bench reads and writes a stream in memory. With edit, one field of every document
// is set between the two, outside of their times.
func bench(name string, edit bool) (benchReport, error) {
	source, err := os.ReadFile(name)
	if err != nil {
		return benchReport{}, err
	}
	report := benchReport{Bytes: len(source)}
	for range repetitions {
		var nodes []*yaml.RNode
		speed, err := timed(len(source), func() (err error) {
			nodes, err = benchReader(source).Read()
			return err
		})
		if err != nil {
			return report, fmt.Errorf("read %q: %w", name, err)
		}
		report.ReadMBs = max(report.ReadMBs, speed)
		report.Documents = len(nodes)

		if edit {
			speed, err := timed(len(source), func() error { return setOneField(nodes) })
			if err != nil {
				return report, fmt.Errorf("edit %q: %w", name, err)
			}
			report.EditMBs = max(report.EditMBs, speed)
			report.Edited = len(nodes)
		}

		var output bytes.Buffer
		speed, err = timed(len(source), func() error {
			return kio.ByteWriter{Writer: &output}.Write(nodes)
		})
		if err != nil {
			return report, fmt.Errorf("write %q: %w", name, err)
		}
		report.WriteMBs = max(report.WriteMBs, speed)
	}
	report.PeakRSSKiB, err = peakRSS()
	return report, err
}

func benchReader(source []byte) *kio.ByteReader {
	return &kio.ByteReader{
		Reader:            bytes.NewReader(source),
		PreserveSeqIndent: true,
		WrapBareSeqNode:   true,
		DisableUnwrapping: true,
	}
}

// timed returns the speed at which work handled this many bytes, in MB/s.
func timed(size int, work func() error) (float64, error) {
	start := time.Now()
	err := work()
	return float64(size) / 1e6 / time.Since(start).Seconds(), err
}

// setOneField sets the replicas of a document that has them, an annotation of any other.
func setOneField(nodes []*yaml.RNode) error {
	for _, node := range nodes {
		replicas, err := node.Pipe(yaml.Lookup("spec", "replicas"))
		if err != nil {
			return err
		}
		if replicas != nil {
			err = node.PipeE(yaml.Lookup("spec"), yaml.SetField("replicas", yaml.NewScalarRNode("7")))
		} else {
			err = node.PipeE(yaml.SetAnnotation("lanai.dev/bench", "edited"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// peakRSS is the largest resident set of this process so far, in KiB.
func peakRSS() (int, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			return strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	return 0, fmt.Errorf("no VmHWM in /proc/self/status")
}
