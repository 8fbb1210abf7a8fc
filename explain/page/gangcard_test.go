package page

import (
	"context"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/explain/timeline/tail"
	"github.com/gridbid/gridbid/history/historytest"
)

// gangs serves the page of a run with jobs of several pods.
func gangs(t *testing.T, opts Options) string {
	t.Helper()
	w := newWire(historytest.GenerateGangs()...)
	w.ended = true
	run := tail.StartReading(context.Background(), w.source, nil)
	<-run.ReadingDone()
	return served(t, run, opts).URL
}

// The card of a job of several pods shows its nodes by pod, what it waited for, what was kept, the number of
// pods of each of its runs, and how its parts stand; and the answer to why says the same numbers.
func TestTheCardOfAGangShowsItsPods(t *testing.T) {
	address := gangs(t, Options{Title: "gangs"})
	for job, want := range map[string][]string{
		"elastic": {"oslo-1: 1 worker on 2 GPUs, oslo-2: 1 worker on 2 GPUs", "oslo-1: 3 worker on 6 GPUs, oslo-2: 1 worker on 2 GPUs", ">2</th>", ">4</th>",
			"paused by its site, to go on on other nodes or with another number of pods", "Its runs"},
		"wide":    {"room for 4 pods at once; the largest site, oslo, had room for 3", "40 GPU-hours from 11 Mar 01:02", "$0.0960"},
		"split.1": {"Its parts", ">split.1</a>", ">split.2</a>", "lyon", "warsaw", "lyon-1: 2 worker on 4 GPUs"},
	} {
		_, list := get(t, address+"/jobs?t=end&jq="+job, nil)
		_, link, ok := strings.Cut(list, `data-d="`)
		id, _, _ := strings.Cut(link, `"`)
		if !ok {
			t.Errorf("%s is not in the list: %s", job, list)
			continue
		}
		_, card := get(t, address+"/?d="+id, nil)
		for _, x := range want {
			if !strings.Contains(card, x) {
				t.Errorf("the card of %s has no %q", job, x)
			}
		}
	}
	_, why := get(t, address+"/?q=why+does+wide+wait", nil)
	for _, x := range []string{"at once, and the largest site, oslo, had room for 3.", "40 GPU-hours"} {
		if !strings.Contains(why, x) {
			t.Errorf("the answer to why has no %q", x)
		}
	}
}
