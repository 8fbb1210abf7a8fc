package trace_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/trace"
)

const (
	windowHead = "time_utc,zone,ci_direct_gco2_per_kwh,ci_lifecycle_gco2_per_kwh,price_usd_per_mwh,price_filled,pue_model\n"
	phillyHead = "job_id,submit_s,submit_local,duration_s,gpus,vc\n"
	openbHead  = "job_id,submit_s,duration_s,scheduled_s,gpus,num_gpu,gpu_milli,gpu_spec,cpu_milli,mem_mib,qos,phase\n"
	nodesHead  = "sn,cpu_milli,memory_mib,gpu,model\n"
)

func packed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(text))
	z.Close()
	return b.Bytes()
}

// row is a row of a window at an hour of 2022-04-13.
func row(zone string, hour int, ci, price, pue string) string {
	return fmt.Sprintf("2022-04-13T%02d:00:00Z,%s,1,%s,%s,0,%s\n", hour, zone, ci, price, pue)
}

func window(text string, fill trace.GapPolicy) ([]trace.ZoneSignals, error) {
	return trace.ReadWindow(strings.NewReader(text), "w.csv", fill)
}

func TestAWindowIsReadInTheUnitsOfTheMarket(t *testing.T) {
	text := windowHead + row("DE", 0, "173.39", "-55.7999", "1.0765") + row("GB", 0, "0", "0", "") +
		"\r\n" + row("DE", 1, "174", "60", "1.08") + row("GB", 1, "90.0004", "1e3", "")
	want := []trace.ZoneSignals{{
		Name:   "DE",
		Price:  []protocol.Point{{At: 1649808000000, Value: -55800}, {At: 1649811600000, Value: 60000}},
		Carbon: []protocol.Point{{At: 1649808000000, Value: 173390}, {At: 1649811600000, Value: 174000}},
		PUE:    []protocol.Point{{At: 1649808000000, Value: 1077}, {At: 1649811600000, Value: 1080}},
	}, {
		Name:   "GB",
		Price:  []protocol.Point{{At: 1649808000000, Value: 0}, {At: 1649811600000, Value: 1000000}},
		Carbon: []protocol.Point{{At: 1649808000000, Value: 0}, {At: 1649811600000, Value: 90000}},
	}}
	blank := regexp.MustCompile(`(?m)^(\S{10})T(\d\d:00:00)Z`).ReplaceAllString(text, "$1 $2+00:00") // as other programs write it
	quoted := strings.ReplaceAll(text, ",DE,", `,"DE",`)
	for _, data := range [][]byte{[]byte(text), packed(text), []byte("\ufeff" + text), []byte(blank), []byte(quoted)} {
		got, err := trace.ReadWindow(bytes.NewReader(data), "w.csv", trace.RejectGaps)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Window = %+v, %v; want %+v", got, err, want)
		}
	}
}

func TestAWindowThatCannotBeTrueIsRefused(t *testing.T) {
	good := row("DE", 0, "1", "2", "1.1")
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", "", "w.csv: empty"},
		{"only a header", windowHead, "no rows"},
		{"a missing column", "time_utc,zone,price_usd_per_mwh\n", `w.csv:1: missing column "ci_lifecycle_gco2_per_kwh"`},
		{"a column twice", "time_utc,zone,zone\n", `w.csv:1: duplicate column "zone"`},
		{"a price that is no number", windowHead + good + row("DE", 1, "1", "NaN", "1"), `w.csv:3: price_usd_per_mwh is "NaN": want a finite number`},
		{"an infinite price", windowHead + row("DE", 0, "1", "+Inf", "1"), `w.csv:2: price_usd_per_mwh is "+Inf"`},
		{"an implausible price", windowHead + row("DE", 0, "1", "1e9", "1"), `w.csv:2: price_usd_per_mwh`},
		{"negative carbon", windowHead + row("DE", 0, "-1", "1", "1"), `w.csv:2: ci_lifecycle_gco2_per_kwh is "-1"`},
		{"a PUE below one", windowHead + row("DE", 0, "1", "1", "0.9"), `w.csv:2: pue_model is "0.9"`},
		{"no carbon", windowHead + good + row("DE", 1, "", "1", "1"), "w.csv:3: ci_lifecycle_gco2_per_kwh is empty"},
		{"PUE that stops", windowHead + good + row("DE", 1, "1", "1", ""), "w.csv:3: pue_model is empty"},
		{"PUE that begins late", windowHead + row("DE", 0, "1", "1", "") + row("DE", 1, "1", "1", "1"), "zone DE: pue_model begins"},
		{"a gap", windowHead + good + row("DE", 3, "1", "1", "1"), "w.csv:3: price_usd_per_mwh: 2 hours are missing before 2022-04-13T03:00:00Z: add them, or allow"},
		{"a gap of one hour", windowHead + good + row("DE", 2, "1", "1", "1"), "w.csv:3: price_usd_per_mwh: 1 hours are missing before 2022-04-13T02:00:00Z"},
		{"an hour twice", windowHead + good + good, "w.csv:3: price_usd_per_mwh: duplicate hour 2022-04-13T00:00:00Z"},
		{"hours out of order", windowHead + row("DE", 5, "1", "1", "1") + good, "w.csv:3: price_usd_per_mwh: hour 2022-04-13T00:00:00Z comes after"},
		{"half an hour", windowHead + "2022-04-13T00:30:00Z,DE,1,1,1,0,1\n", `w.csv:2: time_utc is "2022-04-13T00:30:00Z": want a whole hour`},
		{"no zone", windowHead + row("", 0, "1", "1", "1"), `w.csv:2: zone is ""`},
		{"a zone that clears the screen", windowHead + row("D\x1b[2JE", 0, "1", "1", "1"), `w.csv:2: zone is "D\x1b[2JE": want a name of 1..100 bytes that can be printed`},
		{"a zone that is no text", windowHead + row("D\xffE", 0, "1", "1", "1"), `w.csv:2: zone is "D\xffE"`},
		{"a header that clears the screen", "time_utc,zone,\x1b[2J\n", `has ["time_utc" "zone" "\x1b[2J"]`},
		{"zones of different hours", windowHead + good + row("GB", 0, "1", "1", "1") + row("GB", 1, "1", "1", "1"), "give all zones the same hours"},
		{"a short line", windowHead + "2022-04-13T00:00:00Z,DE\n", "w.csv:2: 2 fields, but the header has 7"},
		{"a quote within a field", windowHead + `a"b,c`, "w.csv:2: bare \" in non-quoted-field: write a quote within a field twice"},
		{"a quote that is not closed", windowHead + `"a,` + strings.Repeat("b\n", 40000), "w.csv:2: line longer than 65536 bytes, or a quote that is not closed"},
		{"a line without end", windowHead + strings.Repeat("x", 70000), "w.csv:2: line longer than 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := window(tc.text, trace.RejectGaps)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Window = %v, %v; want an error with %q", got, err, tc.want)
			}
		})
	}
}

func TestAGapIsFilledOnlyWhereAllowedAndIsCounted(t *testing.T) {
	text := windowHead + row("DE", 0, "10", "20", "1.1") + row("DE", 3, "11", "", "")
	z, err := window(text, trace.PersistGaps)
	if err != nil {
		t.Fatal(err)
	}
	// Two hours of three series, then a price and a PUE.
	if z[0].Persisted != 8 || len(z[0].Price) != 4 || z[0].Price[3].Value != 20000 || z[0].Carbon[2].Value != 10000 || z[0].Carbon[3].Value != 11000 {
		t.Errorf("Window = %+v; want 4 hours, 8 of the values persisted", z[0])
	}
	_, err = window(windowHead+"2022-01-01T00:00:00Z,DE,1,1,1,0,1\n2022-04-01T00:00:00Z,DE,1,1,1,0,1\n", trace.PersistGaps)
	if err == nil || !strings.Contains(err.Error(), "gaps of over 168 hours are not filled") {
		t.Errorf("a gap of three months: %v; want an error", err)
	}
}

// A gap is as long as there is no value, be its lines missing or its fields empty.
func TestNoGapOfMoreThanAWeekIsFilled(t *testing.T) {
	hours := func(n int, price func(h int) string) string {
		var b strings.Builder
		b.WriteString("time_utc,zone,ci_lifecycle_gco2_per_kwh,price_usd_per_mwh\n")
		for h := range n {
			if p := price(h); p != "-" {
				fmt.Fprintf(&b, "%s,DE,100,%s\n", time.Date(2022, 4, 1, h, 0, 0, 0, time.UTC).Format(time.RFC3339), p)
			}
		}
		return b.String()
	}
	for _, tc := range []struct {
		name string
		text string
		want string // of the error; "" is none
	}{
		{"a week of empty fields", hours(170, func(h int) string { return map[bool]string{true: "50"}[h == 0 || h == 169] }), ""},
		{"an hour more", hours(171, func(h int) string { return map[bool]string{true: "50"}[h == 0 || h == 170] }), "no value for 169 hours"},
		{"empty fields to the end", hours(400, func(h int) string { return map[bool]string{true: "50"}[h < 10] }), "no value for 169 hours"},
		{"a week of empty fields twice", hours(340, func(h int) string { return map[bool]string{true: "50"}[h%169 == 0] }), ""},
		{"empty fields, then lines that are missing", hours(202, func(h int) string {
			switch {
			case h == 0 || h == 201:
				return "50"
			case h <= 100:
				return ""
			}
			return "-"
		}), "200 hours are missing"},
		{"nothing in the first hour", hours(3, func(h int) string { return map[bool]string{true: "50"}[h > 0] }), "its first hour, so nothing can fill it"},
	} {
		if _, err := window(tc.text, trace.PersistGaps); tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v; want %q", tc.name, err, tc.want)
		}
	}
}

// Marginal intensity is one that a source may lack, for an hour or for a month.
func TestAZoneMayLackMarginalIntensity(t *testing.T) {
	for name, has := range map[string]func(h int) bool{
		"all":              func(int) bool { return true },
		"one less":         func(h int) bool { return h != 7 },
		"a fortnight less": func(h int) bool { return h < 5 || h > 340 },
		"none":             func(int) bool { return false },
	} {
		var b strings.Builder
		b.WriteString("time_utc,zone,ci_lifecycle_gco2_per_kwh,price_usd_per_mwh,mef_direct_gco2_per_kwh\n")
		for h := range 400 {
			fmt.Fprintf(&b, "%s,DE,100,50,%s\n", time.Date(2022, 4, 1, h, 0, 0, 0, time.UTC).Format(time.RFC3339), map[bool]string{true: "600.5"}[has(h)])
		}
		z, err := window(b.String(), trace.RejectGaps)
		want, given := 0, 0
		for h := range 400 {
			given += map[bool]int{true: 1}[has(h)]
		}
		if name == "all" {
			want = 400
		}
		if err == nil && z[0].Passed != given-want {
			t.Errorf("%s: %d values are said to be passed over; want %d", name, z[0].Passed, given-want)
		}
		if err != nil || len(z[0].Marginal) != want || want > 0 && z[0].Marginal[399].Value != 600_500 {
			t.Errorf("%s: %v, and not %d values of marginal intensity", name, err, want)
		}
	}
}

func TestAFileThatIsCutOffIsRefused(t *testing.T) {
	var text strings.Builder
	text.WriteString(nodesHead)
	for i := range 3000 {
		fmt.Fprintf(&text, "node-%d-%x,96000,393216,8,G2\n", i, i*i*7919)
	}
	data := packed(text.String())
	_, err := trace.ReadNodes(bytes.NewReader(data[:len(data)/2]), "n.csv.gz")
	if err == nil || !strings.Contains(err.Error(), "truncated here: fetch it again") {
		t.Errorf("half a file: %v; want that it is cut off", err)
	}
	_, err = trace.ReadNodes(bytes.NewReader(data[:5]), "n.csv.gz")
	if err == nil || !strings.Contains(err.Error(), "gzip header") {
		t.Errorf("five bytes: %v; want an error of the header", err)
	}
	data[len(data)-6] ^= 1
	if _, err = trace.ReadNodes(bytes.NewReader(data), "n.csv.gz"); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a flipped bit: %v; want a wrong checksum", err)
	}
}

func TestASeriesIsReadInItsQuantitysUnits(t *testing.T) {
	text := "time_utc,v\n2022-04-13T00:00:00Z,1.5\n2022-04-13T01:00:00Z,\n"
	got, filled, err := trace.ReadSeries(strings.NewReader(text), "s.csv", "v", protocol.GridCarbon, trace.PersistGaps)
	want := []protocol.Point{{At: 1649808000000, Value: 1500}, {At: 1649811600000, Value: 1500}}
	if err != nil || filled != 1 || !reflect.DeepEqual(got, want) {
		t.Errorf("Series = %v, %d, %v; want %v, 1", got, filled, err, want)
	}
	for _, tc := range []struct {
		what protocol.Quantity
		text string
		want string
	}{
		{"colour", text, "unknown quantity"},
		{protocol.GridPUE, "time_utc,v\n2022-04-13T00:00:00Z,0.5\n", "s.csv:2: v"},
		{protocol.GridPrice, "time_utc\n", `missing column "v"`},
		{protocol.GridPrice, "time_utc,v\n", "no rows"},
		{protocol.GridPrice, text, "s.csv:3: v is empty"},
	} {
		if _, _, err := trace.ReadSeries(strings.NewReader(tc.text), "s.csv", "v", tc.what, trace.RejectGaps); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ReadSeries(%s) = %v; want %q", tc.what, err, tc.want)
		}
	}
}

func jobs(text string, from time.Duration, most int) (trace.TraceJobs, error) {
	return selected(text, trace.Selection{From: from, Max: most})
}

func jobsOfOneNode(text string, from time.Duration, most int) (trace.TraceJobs, error) {
	return selected(text, trace.Selection{From: from, Max: most, OneNode: true})
}

func selected(text string, take trace.Selection) (trace.TraceJobs, error) {
	h, err := trace.ReadJobs(strings.NewReader(text), "j.csv", take, nil)
	for i := range h.Records {
		h.Records[i].Line = 0 // tests of files of one's own compare it
	}
	return h, err
}

func TestPhillysJobsAreReadByTheirOrder(t *testing.T) {
	text := phillyHead + "c,20,x,200000,2,v1\nb,10,x,0,1,v2\na,20,x,64,8,v1\nbig,20,x,9,16,v1\nold,5,x,9,1,v1\nlast,30,x,9,1,v1\n"
	h, err := jobsOfOneNode(text, 10*time.Second, 4)
	if err != nil {
		t.Fatal(err)
	}
	job := func(id, vc string, gpus int, run time.Duration) protocol.Job {
		return protocol.Job{ID: protocol.JobID(id), Tenant: vc, GPUs: gpus, Share: 1000, Run: run,
			CPU: protocol.Milli(gpus) * 4000, Memory: protocol.MiB(gpus) * 32768}
	}
	want := trace.TraceJobs{Source: "philly", From: 10 * time.Second, Records: []trace.TraceJob{
		{Submit: 10 * time.Second, Job: job("b", "v2", 1, time.Second)},
		{Submit: 20 * time.Second, Job: job("a", "v1", 8, 64*time.Second)},
		{Submit: 20 * time.Second, Job: job("c", "v1", 2, 24*time.Hour)},
		{Submit: 30 * time.Second, Job: job("last", "v1", 1, 9*time.Second)},
	}, Notes: []string{
		"the trace has no processors and memory: 4 cores and 32 GiB for each GPU",
		"1 jobs left out: over 8 GPUs, and one job runs on one node",
		"1 jobs run longer than 24 h and are cut to one segment of 24 h",
	}}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("Jobs =\n%+v; want\n%+v", h, want)
	}
	// A job over 8 GPUs is a gang of pods of 8, or of 4, 2 or 1 if 8 does not divide its GPUs.
	for gpus, pods := range map[int]int{9: 9, 10: 5, 12: 3, 16: 2, 128: 16, 1024: 128, 4096: 512} {
		h, err := jobs(phillyHead+fmt.Sprintf("big,20,x,9,%d,v1\n", gpus), 0, 4)
		if err != nil {
			t.Fatal(err)
		}
		big := h.Records[0].Job
		if want := (protocol.Component{Role: "worker", Pods: pods, GPUs: gpus / pods, Share: 1000, CPU: protocol.Milli(gpus/pods) * 4000, Memory: protocol.MiB(gpus/pods) * 32768}); len(big.Pods) != 1 || big.Pods[0] != want || big.GPUs != gpus {
			t.Errorf("%d GPUs are %+v; want pods %+v", gpus, big, want)
		}
		if note := "1 jobs: over 8 GPUs: gangs of equal pods"; !strings.HasPrefix(h.Notes[len(h.Notes)-1], note) {
			t.Errorf("the notes are %q; want %q", h.Notes, note)
		}
	}
	// A short trace of one's own has no dense part: by default it begins with its first job.
	if h, err = jobsOfOneNode(text, -1, 9); err != nil || h.From != 5*time.Second || len(h.Records) != 5 {
		t.Errorf("from the dense part = %+v, %v; want all jobs from second 5 on, as nothing is there", h, err)
	}
	if h, err = jobs(text, 31*time.Second, 4); err == nil || !strings.Contains(err.Error(), "no job from second 31 on, the last is submitted in second 30: begin earlier, by `from` of the scenario's jobs or --jobs-from") {
		t.Errorf("from second 31 = %v, %v; want an error, nothing is there", h, err)
	}
}

func TestAlibabasPodsKeepSharesModelsAndClass(t *testing.T) {
	text := openbHead + "p,1,100,1,0.46,1,460,T4|A10,6000,12288,LS,Running\n" +
		"q,2,100,,1,1,1000,,6000,12288,BE,Pending\nr,3,100,1,0,0,0,T4,500,1,Burstable,Failed\ns,4,100,1,8,8,1000,,1,1,Guaranteed,Running\n"
	h, err := jobs(text, 0, 10)
	want := []trace.TraceJob{
		{Submit: 1 * time.Second, Job: protocol.Job{ID: "p", Tenant: "LS", GPUs: 1, Share: 460, CPU: 6000, Memory: 12288, Models: []string{"T4", "A10"}, Run: 100 * time.Second, Priority: 100}},
		{Submit: 3 * time.Second, Job: protocol.Job{ID: "r", Tenant: "Burstable", CPU: 500, Memory: 1, Run: 100 * time.Second, Priority: 50}},
		{Submit: 4 * time.Second, Job: protocol.Job{ID: "s", Tenant: "Guaranteed", GPUs: 8, Share: 1000, CPU: 1, Memory: 1, Run: 100 * time.Second, Priority: 100}},
	}
	if err != nil || h.Source != "alibaba v2023" || !reflect.DeepEqual(h.Records, want) {
		t.Errorf("Jobs = %+v, %v; want %+v", h, err, want)
	}
	if len(h.Notes) != 2 || !strings.Contains(h.Notes[1], "1 jobs left out: never ran") {
		t.Errorf("Notes = %q; want the pod that never ran", h.Notes)
	}
}

func TestATraceOfJobsThatCannotBeTrueIsRefused(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"an unknown format", "job_id,submit_s,duration_s\n", "j.csv:1: unknown job trace format: it lacks gpus or cpus"},
		{"half of a known format", "job_id,submit_s,duration_s,gpu_milli\n", `j.csv:1: missing column "num_gpu"`},
		{"a corrupt line", phillyHead + "a,1,x,1,1,v\nb,1,x,1\n", "j.csv:3: 4 fields"},
		{"a job twice", phillyHead + "a,1,x,1,1,v\na,2,x,1,1,v\n", "j.csv:3: job_id a is already in line 2: drop one"},
		{"no id", phillyHead + ",1,x,1,1,v\n", `j.csv:2: job_id is ""`},
		{"a duration that is no number", phillyHead + "a,1,x,1.5h,1,v\n", `j.csv:2: duration_s is "1.5h"`},
		{"a negative duration", phillyHead + "a,1,x,-1,1,v\n", `j.csv:2: duration_s is "-1"`},
		{"no GPUs where all have some", phillyHead + "a,1,x,1,0,v\n", `j.csv:2: gpus is "0"`},
		{"a pod with nine GPUs", openbHead + "a,1,1,1,9,9,1000,,1,1,LS,Running\n", `j.csv:2: num_gpu is "9": want a whole number of 0..8`},
		{"half of two GPUs", openbHead + "a,1,1,1,1,2,500,,1,1,LS,Running\n", `j.csv:2: gpu_milli is "500"`},
		{"an unknown class", openbHead + "a,1,1,1,1,1,500,,1,1,XX,Running\n", `j.csv:2: qos is "XX"`},
		{"a list of nothing", openbHead + "a,1,1,1,1,1,500,T4|,1,1,LS,Running\n", `j.csv:2: gpu_spec is "T4|"`},
		{"a pod that asks for nothing", openbHead + "a,1,1,1,0,0,0,,0,1,LS,Running\n", `j.csv:2: cpu_milli is "0"`},
		{"no job at all", phillyHead, "j.csv: no jobs after the header"},
		{"jobs of too many pods", phillyHead + "a,1,x,1,1025,v\nb,1,x,1,4095,v\n", "j.csv: all 2 jobs from second 0 on are left out: over 8 GPUs that make over 1024 equal pods"},
		{"a fault past what is taken", phillyHead + "a,1,x,1,1,v\nb,2,x,1,1,v\nc,3,x,1,?,v\n", "j.csv:4: gpus"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, err := jobs(tc.text, 0, 1)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Jobs = %v, %v; want an error with %q", h, err, tc.want)
			}
		})
	}
}

func TestAListOfNodesIsReadOrRefused(t *testing.T) {
	got, err := trace.ReadNodes(strings.NewReader(nodesHead+"a,32000,262144,0,\nb,96000,393216,8,G2\n"), "n.csv")
	want := []trace.TraceNode{{Name: "a", CPU: 32000, Memory: 262144}, {Name: "b", CPU: 96000, Memory: 393216, GPUs: 8, Model: "G2"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Nodes = %+v, %v; want %+v", got, err, want)
	}
	for _, tc := range []struct{ name, text, want string }{
		{"nine GPUs", "a,1,1,9,T4\n", `n.csv:2: gpu is "9": want a whole number of 0..8`},
		{"GPUs of no model", "a,1,1,2,\n", "n.csv:2: model is empty for a node with 2 GPUs"},
		{"a model of no GPUs", "a,1,1,0,T4\n", "n.csv:2: model is \"T4\" for a node without"},
		{"a node twice", "a,1,1,0,\na,1,1,0,\n", "n.csv:3: node a is already in line 2"},
		{"no memory", "a,1,0,0,\n", "n.csv:2: memory_mib"},
		{"no nodes", "", "no nodes after the header"},
	} {
		if _, err := trace.ReadNodes(strings.NewReader(nodesHead+tc.text), "n.csv"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Nodes = %v; want %q", tc.name, err, tc.want)
		}
	}
}

func TestWhatIsTakenIsOneStretchOfTheTraceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		text.WriteString(phillyHead)
		n := rapid.IntRange(1, 30).Draw(t, "n")
		fit := 0
		from := rapid.IntRange(0, 6).Draw(t, "from")
		for i := range n {
			submit, gpus := rapid.IntRange(0, 8).Draw(t, "submit"), rapid.SampledFrom([]int{1, 8, 16}).Draw(t, "gpus")
			if submit >= from && gpus <= 8 {
				fit++
			}
			fmt.Fprintf(&text, "j%d,%d,x,60,%d,v\n", i, submit, gpus)
		}
		most := rapid.IntRange(1, 40).Draw(t, "most")
		h, err := jobsOfOneNode(text.String(), time.Duration(from)*time.Second, most)
		if fit == 0 {
			if err == nil {
				t.Fatalf("Jobs = %v; want an error, no job fits", h)
			}
			return
		}
		if err != nil || len(h.Records) != min(fit, most) {
			t.Fatalf("Jobs took %d, %v; want %d", len(h.Records), err, min(fit, most))
		}
		for i, r := range h.Records {
			if i > 0 && (r.Submit < h.Records[i-1].Submit || r.Submit == h.Records[i-1].Submit && r.Job.ID <= h.Records[i-1].Job.ID) {
				t.Errorf("record %d is out of order: %v after %v", i, r, h.Records[i-1])
			}
		}
	})
}
