package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/protocol"
)

// nightOfOperators returns what a market stored in seventy minutes from noon on, an event every ten.
func nightOfOperators() (all []protocol.Message) {
	minute := func(n int) protocol.Time { return noon.Add(time.Duration(n) * time.Minute) }
	senders := make(map[protocol.Party]*protocol.Sender)
	say := func(n int, who, to protocol.Party, b protocol.Body) {
		if senders[who] == nil {
			senders[who] = &protocol.Sender{Party: who}
		}
		all = append(all, senders[who].NewMessage(minute(n), to, b))
	}
	desk, monitor, market := protocol.OperatorAPI, protocol.SiteMonitor, protocol.Coordinator
	say(0, "agent/bern", market, protocol.RegisterSite{Site: "bern"})
	say(0, "agent/oslo", market, protocol.RegisterSite{Site: "oslo"})
	say(10, desk, market, protocol.Drain{Site: "oslo", By: "ada", Why: "new switches", Until: minute(300)})
	say(20, monitor, market, protocol.SiteCondition{Site: "bern", State: protocol.SiteSilent, Since: minute(19), Why: protocol.Reason{Code: protocol.NoHeartbeat}})
	say(30, monitor, market, protocol.SiteCondition{Site: "bern", State: protocol.SiteOK, Since: minute(30)})
	say(40, desk, market, protocol.Drain{Site: "oslo", Over: true, By: "ben"})
	say(50, market, "", protocol.Policy{Version: 1, By: "ada", Sentence: "avoid oslo", Rules: []protocol.Rule{{ID: "R-1", Kind: protocol.Prefer, Sites: []string{"oslo"}, Weight: 1150}}})
	say(60, desk, market, protocol.SiteCondition{Site: "bern", State: protocol.SiteRevoked, Since: minute(60), By: "ada", Why: protocol.Reason{Code: protocol.KeysRevoked, Note: "stolen"}})
	say(70, desk, market, protocol.DecommissionSite{Site: "bern", By: "ben", Why: "sold"})
	return all
}

// `gridbid events` says when what happened where, who did it and why: the same from a coordinator
// and from a ledger.
func TestEventsSayWhoDidWhatAndWhatBroke(t *testing.T) {
	night := nightOfOperators()
	desk, run := api.New(), t.TempDir()
	desk.SetClock(bus.Clock{Start: noon.Add(70 * time.Minute), Began: time.Now(), Speed: 1e-9})
	ledger, err := wal.CreateFile(filepath.Join(run, "auction.ledger"), nil)
	for _, m := range night {
		desk.Restore(m)
		err = errors.Join(err, ledger.AppendMessage(m))
	}
	if err = errors.Join(err, ledger.Close()); err != nil {
		t.Fatal(err)
	}
	desk.StartLeading(1)
	at := serveAPI(t, desk.HTTPHandler().ServeHTTP)
	events := []string{
		"bern registered  takes part",
		"oslo registered  takes part",
		"oslo drain ada drained: new switches, until " + noon.Add(5*time.Hour).StdTime().Format("2006-01-02 15:04"),
		"bern state  is silent since " + timeOfDay(noon.Add(19*time.Minute)) + ": ",
		"bern state  is ok",
		"oslo undrain ben drain ended",
		" policy ada policy 1 in force: avoid oslo",
		"bern revoke ada keys revoked: stolen",
		"bern remove ben removed as lost: sold",
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, events},
		{[]string{"--since", "30m"}, events[5:]},
		{[]string{"--since", noon.Add(65 * time.Minute).String()}, events[8:]},
		{[]string{"--site", "oslo"}, []string{events[1], events[2], events[5], events[6]}},
		{[]string{"--site", "bern", "--since", "25m"}, events[6:]},
		{[]string{"-l", "kind=drain"}, events[2:3]},
	} {
		for _, from := range [][]string{{"--api", at}, {"--run", run}} {
			args := slices.Concat(c.args, from, []string{"-o", "csv"})
			out, _, err := execute(newEventsCommand(), args...)
			if err != nil {
				t.Errorf("%v: %v", args, err)
				continue
			}
			rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
			if err != nil || len(rows) != len(c.want)+1 {
				t.Errorf("%v: %v, %d events; want %d:\n%s", args, err, len(rows)-1, len(c.want), out)
				continue
			}
			for i, row := range rows[1:] { // time, kind, site, by, event
				if got := fmt.Sprintf("%s %s %s %s", row[2], row[1], row[3], row[4]); !strings.HasPrefix(got, c.want[i]) {
					t.Errorf("%v: event %d is %q; want %q", args, i, got, c.want[i])
				}
			}
		}
	}
	for _, args := range [][]string{{"--since", "noon", "--api", at}, {"--since", "noon", "--run", run}, {"--site", "olso", "--api", at}} {
		if _, _, err := execute(newEventsCommand(), args...); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v; want bad input", args, err)
		}
	}
}

// `gridbid drain` sends who drains a site, why and until when, and says until when it holds by the
// answer: only the coordinator knows what 18:00 is by its clock.
func TestDrainSaysUntilWhen(t *testing.T) {
	var asked []string
	at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, fmt.Sprintf("%s %s until %q why %q over %q", r.Method, r.URL.Path, q.Get("until"), q.Get("why"), q.Get("over")))
		if q.Get("by") != operatorName() {
			t.Errorf("it is drained by %q", q.Get("by"))
		}
		s := jobstatus.Site{Name: "oslo", Drained: q.Get("over") == "", Placed: 2, Running: 1, LastEnd: noon.Add(time.Hour)}
		if q.Get("until") == "yesterday" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"error":"until: \"yesterday\": want a duration"}`))
			return
		}
		if s.Drained && q.Get("until") != "" {
			s.DrainedUntil = noon.Add(6 * time.Hour)
		}
		_ = json.NewEncoder(w).Encode(s)
	})
	left := "; it has 2 jobs, 1 of them running, and the last is to end at " + timeOfDay(noon.Add(time.Hour)) + "\n"
	for _, c := range []struct {
		args       []string
		sent, says string
	}{
		{nil, `until "" why "" over ""`, "oslo gets no more jobs" + left},
		{[]string{"--reason", "new switches", "--until", "18:00"}, `until "18:00" why "new switches" over ""`, "oslo gets no more jobs until " + timeOfDay(noon.Add(6*time.Hour)) + left},
		{[]string{"--until", "2h"}, `until "2h" why "" over ""`, "oslo gets no more jobs until " + timeOfDay(noon.Add(6*time.Hour)) + left},
		{[]string{"--over"}, `until "" why "" over "true"`, "oslo takes part in the auctions" + left},
	} {
		asked = nil
		out, _, err := execute(newDrainCommand(), slices.Concat([]string{"oslo", "--api", at}, c.args)...)
		if want := []string{"POST /v1/sites/oslo/drain " + c.sent}; err != nil || out != c.says || !slices.Equal(asked, want) {
			t.Errorf("drain oslo %v: %v: says %q, sent %q\nwant %q, %q", c.args, err, out, asked, c.says, want)
		}
	}
	if _, _, err := execute(newDrainCommand(), "oslo", "--until", "yesterday", "--api", at); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "want a duration") {
		t.Errorf("until yesterday: %v; want bad input, with what the coordinator says", err)
	}
}
