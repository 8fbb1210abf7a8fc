package estimates

import (
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A PublicTrace is a public trace and the conversion of its rows.
type PublicTrace struct {
	Name string
	File string
	What string // description
	// Read converts a row, given a lookup by column name; false skips the row.
	Read func(row func(string) string) (TraceJob, bool)
}

// PublicTraces are the public traces with durations.
var PublicTraces = []PublicTrace{
	{"philly", "philly_2017.csv.gz", "training, Microsoft 2017; tenant: virtual cluster", func(row func(string) string) (TraceJob, bool) {
		return parseTraceJob(row("submit_s"), row("submit_s"), row("duration_s"), protocol.Job{Tenant: row("vc"), GPUs: parseWholeNumber(row("gpus")), Share: 1000, CPU: 1000})
	}},
	{"alibaba-gpu", "alibaba_gpu_v2023.csv.gz", "pods of a GPU cluster, Alibaba 2023; tenant: class of service", func(row func(string) string) (TraceJob, bool) {
		j := protocol.Job{Tenant: row("qos"), GPUs: parseWholeNumber(row("num_gpu")), CPU: protocol.Milli(parseWholeNumber(row("cpu_milli"))), Image: row("cpu_milli") + "/" + row("mem_mib")}
		if j.GPUs > 0 {
			j.Share = protocol.Milli(parseWholeNumber(row("gpu_milli")))
		}
		return parseTraceJob(row("submit_s"), row("scheduled_s"), row("duration_s"), j)
	}},
	{"alibaba-genai", "alibaba_genai_lora_v2026.csv.gz", "image generation, Alibaba 2026; tenant: kind of request, image: model and images", func(row func(string) string) (TraceJob, bool) {
		return parseTraceJob(row("submit_s"), row("submit_s"), row("duration_s"), protocol.Job{Tenant: row("kind"), Image: row("model") + "/" + row("images"), GPUs: 1, Share: 1000})
	}},
	{"pai", "pai_year_100k_cpu.csv.gz", "jobs on processors, Alibaba 2020; no tenant", func(row func(string) string) (TraceJob, bool) {
		return parseTraceJob(row("submit_s"), row("submit_s"), row("duration_s"), protocol.Job{CPU: protocol.Milli(1000 * parseWholeNumber(row("cpus")))})
	}},
}

// parseWholeNumber parses a number as an int; invalid or implausible ones are 0.
func parseWholeNumber(s string) int {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1e9 {
		return 0
	}
	return int(f)
}

// parseTraceJob parses the times of a row. It returns false for a row without a valid
// submission time or a duration of at least a second.
func parseTraceJob(submit, start, lasted string, j protocol.Job) (TraceJob, bool) {
	at, err1 := strconv.ParseFloat(submit, 64)
	from, err2 := strconv.ParseFloat(start, 64)
	d, err3 := strconv.ParseFloat(lasted, 64)
	if err1 != nil || err3 != nil || !(at >= 0 && at < 1e10) || !(d >= 1 && d < 1e8) {
		return TraceJob{}, false
	}
	if err2 != nil || !(from >= at && from < 1e10) {
		from = at
	}
	run := min(time.Duration(d)*time.Second, protocol.MaxRun)
	second := func(s float64) protocol.Time { return protocol.Time(s*1000) + 1 } // shifted by 1 ms, because protocol.Time 0 means no time
	return TraceJob{Submit: second(at), End: second(from).Add(run), Lasted: run, Job: j}, true
}

// LoadTrace reads a trace from a folder.
func (t PublicTrace) LoadTrace(dir string) ([]TraceJob, error) {
	f, err := os.Open(filepath.Join(dir, t.File))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("estimates:  %s: %w", t.File, err)
	}
	return t.parseJobs(z)
}

// parseJobs parses a CSV with a header. Jobs get their line number as id.
func (t PublicTrace) parseJobs(in io.Reader) ([]TraceJob, error) {
	r := csv.NewReader(in)
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("estimates:  %s: %w", t.File, err)
	}
	column := make(map[string]int, len(head))
	for i, name := range head {
		column[name] = i
	}
	var jobs []TraceJob
	for line := 2; ; line++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return jobs, nil
		}
		if err != nil {
			return nil, fmt.Errorf("estimates:  %s: %w", t.File, err)
		}
		missing := ""
		j, ok := t.Read(func(name string) string {
			i, ok := column[name]
			if !ok {
				missing = name
				return ""
			}
			return row[i]
		})
		if missing != "" {
			return nil, fmt.Errorf("estimates: %s: missing column %s", t.File, missing)
		}
		if ok {
			j.Job.ID = protocol.JobID(strconv.Itoa(line))
			jobs = append(jobs, j)
		}
	}
}
