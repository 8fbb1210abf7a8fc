package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
)

// jobsOnTheWay are jobs in several states as the API shows them.
const jobsOnTheWay = `[
 {"id":"held-1","state":"planned","site":"hydro-north","gpus":0.32,"cpu_cores":4,"memory_gib":8,"arrived":"2026-03-12T12:00:00Z","deadline":"2026-03-13T12:00:00Z",
  "changed":"2026-03-12T12:00:02Z","start":"2026-03-13T03:45:00Z","until":"2026-03-12T12:10:00Z","why":"cheaper-later","plan_saves_usd":0.02,
  "queue":{"place":3,"of":12,"before":["b","a"]},"bid":null,"measured":null,
  "events":[{"reason":"Submitted","first":"2026-03-12T12:00:00Z","last":"2026-03-12T12:00:00Z","count":1},
   {"reason":"Held","first":"2026-03-12T12:00:02Z","last":"2026-03-12T12:50:02Z","count":6,"site":"hydro-north","start":"2026-03-13T03:45:00Z","why":"cheaper-later"}]},
 {"id":"run-1","state":"running","stopping":true,"awarded":true,"site":"oslo","node":"n1","devices":[2,3],"gpus":2,"arrived":"2026-03-12T12:00:00Z","start":"2026-03-12T12:01:00Z",
  "queue":null,"bid":{"energy_kwh":5.149,"carbon_kg":1,"cost_usd":0.5},"measured":null},
 {"id":"cpu-1","state":"cancelled","gpus":0,"cpu_cores":2.5,"arrived":"2026-03-12T12:00:00Z","why":"cancelled","queue":null,"bid":null,"measured":null},
 {"id":"bad-1","state":"failed","site":"oslo","gpus":1,"arrived":"2026-03-12T12:00:00Z","failed":"exit code 3","queue":null,"bid":{"energy_kwh":2,"carbon_kg":1,"cost_usd":0.5},"measured":{"energy_kwh":1.25,"carbon_kg":1,"cost_usd":0.5}}
]`

func jobsShown(t *testing.T) (all []jobstatus.Job) {
	t.Helper()
	if err := json.Unmarshal([]byte(jobsOnTheWay), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// rowOf returns the line of a table that begins with a word, its columns one space apart.
func rowOf(t *testing.T, table, word string) string {
	t.Helper()
	for line := range strings.SplitSeq(table, "\n") {
		if f := strings.Fields(line); len(f) > 0 && f[0] == word {
			return strings.Join(f, " ")
		}
	}
	t.Errorf("no row %s in:\n%s", word, table)
	return ""
}

// No bid is printed as measured, no share as a whole GPU, no job of processors as one of 0 GPUs.
func TestTheTableOfJobsSaysWhatIsSo(t *testing.T) {
	at := serveAPI(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, jobsOnTheWay) })
	out, _, err := execute(newJobsCommand(), "--api", at)
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]string{
		"held-1": "held-1 - planned hydro-north 3 0.32 03-12 12:00:00 03-13 03:45:00 - - cheaper-later",
		"run-1":  "run-1 - running oslo - 2 03-12 12:00:00 03-12 12:01:00 - - stopping",
		"cpu-1":  "cpu-1 - cancelled - - - 03-12 12:00:00 - - - cancelled",
		"bad-1":  "bad-1 - failed oslo - 1 03-12 12:00:00 - - 1.250 failed: exit code 3",
	} {
		if got := rowOf(t, out, word); got != want {
			t.Errorf("the table has\n%s\nwant\n%s", got, want)
		}
	}
}

// The card of a job says why it stands so, who is before it, what happened, and what to ask next.
func TestTheCardOfAJobExplainsIt(t *testing.T) {
	all := jobsShown(t)
	var out bytes.Buffer
	writeJobCard(&out, all[0], all[0].Arrived.Add(7200e9), "gridbid why held-1")
	for word, want := range map[string]string{
		"held-1":   "held-1 planned",
		"because":  "because held: the plan starts it at 13 Mar 03:45 at hydro-north, $0.0200 less than now",
		"asks":     "asks for 0.32 GPU, 4 cores, 8 GiB",
		"queue":    "queue 3 of 12 at hydro-north, after b and a",
		"bid":      "bid -",
		"measured": "measured -",
		"2":        "2 h Submitted the coordinator has it",
		"1":        "1 h 9 min (6 times in 50 min) Held the plan starts it at 13 Mar 03:45 at hydro-north, a better hour than now",
		"Next:":    "Next: gridbid why held-1",
	} {
		if got := rowOf(t, out.String(), word); got != want {
			t.Errorf("the card has\n%s\nwant\n%s", got, want)
		}
	}
	out.Reset()
	writeJobCard(&out, all[1], 0, "")
	for word, want := range map[string]string{
		"run-1": "run-1 running, stopping", "site": "site oslo, node n1, GPUs 2 3", "bid": "bid 5.149 kWh, 1.000 kg CO2e, $0.5000", "measured": "measured -",
		"because": "because runs at oslo since 12 Mar 12:01; its site was asked to stop it",
	} {
		if got := rowOf(t, out.String(), word); got != want {
			t.Errorf("the card has\n%s\nwant\n%s", got, want)
		}
	}
	if strings.Contains(out.String(), "never") {
		t.Errorf("the card says never:\n%s", out.String())
	}
}
