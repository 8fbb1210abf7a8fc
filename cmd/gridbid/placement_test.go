package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/agents/fgd"
	"github.com/gridbid/gridbid/internal/printer"
	"github.com/gridbid/gridbid/lab/packing"
)

const (
	fewNodes = "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\nb,96000,393216,8,G2\n"
	fewPods  = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,100,24,1,50\nq,200,48,1,30\nr,100,24,0,0\ns,200,40,1,80\n"
)

// runPlacementWith runs `gridbid placement` on two files with further arguments.
func runPlacementWith(t *testing.T, nodes, pods string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"nodes.csv": nodes, "pods.csv": pods} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	cmd := newPlacementCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SilenceUsage = true
	cmd.SetArgs(append([]string{"--nodes", filepath.Join(dir, "nodes.csv"), "--pods", filepath.Join(dir, "pods.csv")}, args...))
	err = cmd.Execute()
	return out.String(), errs.String(), err
}

func TestPackJSON(t *testing.T) {
	out, progress, err := runPlacementWith(t, fewNodes, fewPods, "--policy", "fgd,bestfit", "--all-seeds", "--json", "-")
	if err != nil {
		t.Fatal(err)
	}
	type run struct {
		Load map[string]struct {
			Alloc *float64 `json:"alloc_pct"`
			Frag  *float64 `json:"frag_over_total_pct"`
			Ratio *float64 `json:"frag_ratio_pct"`
		} `json:"load"`
		Final       *float64 `json:"final_alloc_pct"`
		Failed      *float64 `json:"failed"`
		Decisions   *float64 `json:"decisions"`
		NsPerChoice *float64 `json:"ns_per_decision"`
	}
	var report struct {
		Policies map[string]struct {
			Seeds    map[string]run `json:"seeds"`
			Mean, SD *run
		} `json:"policies"`
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, policy := range []string{"fgd", "bestfit"} {
		p := report.Policies[policy]
		one, ok := p.Seeds["51"]
		if !ok || len(p.Seeds) != 10 || p.Mean == nil || p.SD == nil {
			t.Fatalf("%s has seeds %v, mean %v, sd %v; want 42 to 51 and both", policy, p.Seeds, p.Mean, p.SD)
		}
		for _, r := range []run{one, *p.Mean, *p.SD} {
			at, ok := r.Load["100"]
			if !ok || at.Alloc == nil || at.Frag == nil || at.Ratio == nil || r.Final == nil || r.Failed == nil || r.Decisions == nil || r.NsPerChoice == nil {
				t.Errorf("%s lacks a key: %+v", policy, r)
			}
		}
	}
	if strings.Count(progress, "\n") != 20 {
		t.Errorf("progress = %q; want a line for each of 20 runs", progress)
	}
}

// Few arrivals come to none of the loads that have a line of their own.
func TestPlacementReportsTheEndOfALightLoad(t *testing.T) {
	out, _, err := runPlacementWith(t, fewNodes, fewPods, "--policy", "fgd,bestfit", "--tune", "0.5")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); err != nil || len(lines) != 3 || !strings.HasPrefix(lines[1], "fgd ") || !strings.HasPrefix(lines[2], "bestfit ") {
		t.Errorf("half of the load: %v, wrote\n%s\nwant a line for each policy", err, out)
	}
}

func TestPlacementErrorsNameTheFault(t *testing.T) {
	for _, tc := range []struct{ name, nodes, pods, args, want string }{
		{"an unknown policy", fewNodes, fewPods, "--policy=clever", `"clever"`},
		{"a negative tune", fewNodes, fewPods, "--tune=-1", "tune -1"},
		{"nine GPUs", strings.Replace(fewNodes, "8,G2", "9,G2", 1), fewPods, "--tune=1", "nodes.csv:3: gpu is"},
		{"a bad pod", fewNodes, strings.Replace(fewPods, "1,50", "1,-5", 1), "--tune=1", "pods.csv:2: gpu_milli is"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := runPlacementWith(t, tc.nodes, tc.pods, tc.args)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("pack %s = %v; want an error with %q", tc.args, err, tc.want)
			}
		})
	}
}

// A name that nobody has is told of whatever it stands beside.
func TestAllPoliciesAreNoMoreThanThereAre(t *testing.T) {
	if all, err := parsePolicies([]string{"fgd", "all", " fgd"}); err != nil || len(all) != len(fgd.AllPolicies()) {
		t.Errorf("all and one of them are %v, %v", all, err)
	}
	if all, err := parsePolicies([]string{"all", "bogus"}); err == nil {
		t.Errorf("all and bogus are %v", all)
	}
}

func TestPackPrintsATable(t *testing.T) {
	out, _, err := runPlacementWith(t, fewNodes, fewPods, "--policy", "all", "--exact-reference")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fgd", "least-allocated", "ALLOC PCT"} {
		if !strings.Contains(out, want) {
			t.Errorf("pack printed %s\nwant %q in it", out, want)
		}
	}
}

// Programs get a row for each policy and load, and one value with all that was measured.
func TestPlacementHasEveryFormat(t *testing.T) {
	for format, want := range map[string]string{
		"csv": "policy,load,alloc_pct,frag_pct,ratio_pct,final_pct,failed,decisions,ns_decision\nfgd,90,", "name": "fgd\nfgd\n", "json": `"alloc_pct"`, "yaml": "policies:\n",
	} {
		if out, _, err := runPlacementWith(t, fewNodes, fewPods, "-o", format); err != nil || !strings.Contains(out, want) {
			t.Errorf("placement -o %s: %v:\n%.400s\nwant %q", format, err, out, want)
		}
	}
	if _, _, err := runPlacementWith(t, fewNodes, fewPods, "-o", "csv", "--json", "-"); !errors.As(err, new(usageError)) {
		t.Errorf("placement -o csv --json -: %v; want bad input", err)
	}
	verdict := packing.ParityVerdict{PublishedResult: packing.PublishedResult{Trace: "default", Policy: "06-FGD"}, Worst: 0.01, Where: "alloc_pct@100", Within: true,
		Ours: packing.ReplayResult{Load: map[string]packing.LoadPoint{"90": {Alloc: 88.5}}}}
	for _, tc := range []struct {
		view printer.View
		want string
	}{
		{parityListing([]packing.ParityVerdict{verdict}), "trace,policy,alloc_90,alloc_100,alloc_110,alloc_120,alloc_130,largest,at,within\ndefault,06-FGD,88.5,0,0,0,0,0.01,alloc_pct@100,true\n"},
		{studyListing([]packing.StudyRow{{Load: 0.9, Variant: "fgd", Seeds: 2, StudyOutcome: packing.StudyOutcome{Alloc: 85.25, Moves: 1}, Gain: 0.5}}),
			"variant,load,alloc_pct,against_fgd,standard_error,wait_s,wait_p95_s,gave_up_pct,work_given_up_pct,moves_h\nfgd,0.9,85.25,0.5,0,0,0,0,0,1\n"},
	} {
		var out bytes.Buffer
		if err := tc.view.Print(&out, printer.CSV); err != nil || out.String() != tc.want {
			t.Errorf("%v\n%s\nwant\n%s", err, &out, tc.want)
		}
	}
}

// What takes minutes does not find out in the end that its page cannot be written.
func TestAPageWithoutMarksIsRefusedBeforeTheWork(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	nodes, plain := write("openb_node_list_gpu_node.csv", fewNodes), write("plain.md", "no marks\n")
	trace := write("jobs.csv", "duration_s,num_gpu,gpu_milli,gpu_spec,cpu_milli,mem_mib,qos\n60,1,1000,,1000,1024,LS\n")
	write("expected_summary.csv", "trace,policy\n")
	for _, page := range []string{plain, filepath.Join(dir, "none.md")} {
		for _, args := range [][]string{{"parity", dir}, {"study", trace, "--nodes", nodes}} {
			_, stderr, err := execute(newPlacementCommand(), append(args, "--write", page)...)
			if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "--write") || strings.Contains(stderr, "placement: ") {
				t.Errorf("pack %v --write %s: %v, after %q; want bad input before the work", args, page, err, stderr)
			}
		}
	}
}

// Scripts tell by it whether to give other files or to try again.
func TestTracesThatMakeNoSenseAreBadInput(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"nodes.csv": "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,0,\n", "philly_2017.csv.gz": "no gzip",
		"jobs.csv": "duration_s,num_gpu,gpu_milli,gpu_spec,cpu_milli,mem_mib,qos\n60,1,1000,,1000,1024,LS\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		cmd  *cobra.Command
		args []string
	}{
		{newPlacementCommand(), []string{"study", filepath.Join(dir, "jobs.csv"), "--nodes", filepath.Join(dir, "nodes.csv"), "--days", "1"}},
		{newBenchCommand(), []string{"profiles", "--data", dir}},
	} {
		if _, _, err := execute(c.cmd, c.args...); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v; want bad input", c.args, err)
		}
	}
}

func TestAGapIsFilledBetweenItsMarks(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	g := pageSlot{page, "<!-- a -->\n", "<!-- /a -->"}
	if err := os.WriteFile(page, []byte("before <!-- a -->\nold<!-- /a --> after"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"longer than it was\n", "new"} {
		if err := g.fillSlot(text); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != "before <!-- a -->\nnew<!-- /a --> after" {
		t.Errorf("the page holds %q, %v", got, err)
	}
}
