package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/protocol"
)

const noon = protocol.Time(1_649_851_200_000)

// write writes a ledger of a call and two awards, after change had its way with them.
func write(t *testing.T, change func([]protocol.Message) []protocol.Message) string {
	t.Helper()
	say := protocol.Mouth{Who: protocol.Coordinator}
	award := func(id protocol.JobID, site string) protocol.Message {
		return say.Say(noon.Add(time.Second), protocol.Agent(site), protocol.Award{Round: 1, Job: id, Epoch: 1, Lease: noon.Add(time.Minute)})
	}
	all := []protocol.Message{
		say.Say(noon, "", protocol.Call{Round: 1, Closes: noon.Add(time.Second)}), award("a", "oslo"), award("b", "lyon"),
	}
	path := filepath.Join(t.TempDir(), "run.ledger")
	w, err := wal.Create(path, map[string]string{"test": t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range change(all) {
		if err := w.Append(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLedgersAreComparedWithoutTheKeysThatAreIgnored(t *testing.T) {
	same := func(all []protocol.Message) []protocol.Message { return all }
	planned := func(all []protocol.Message) []protocol.Message {
		c := all[0].Body.(protocol.Call)
		c.Planning = protocol.DefaultPlanning()
		all[0].Body = c
		return all
	}
	for _, tc := range []struct {
		name   string
		ignore string
		change func([]protocol.Message) []protocol.Message
		exit   int
		want   []string
	}{
		{"the same", "", same, exitEqual, []string{"3 messages are equal\n", "2 awards are equal"}},
		{"a new key", "", planned, exitDiffer, []string{"message 1 is the first that differs", `"planning"`, "2 awards are equal"}},
		{"a new key that is ignored", "Call.pl", planned, exitEqual, []string{"3 messages are equal without Call.pl\n"}},
		{"several keys", "Call.sp,Call.pl,Award.pf", planned, exitEqual, []string{"without Call.sp and Call.pl and Award.pf"}},
		{"another key", "Call.sp", planned, exitDiffer, []string{"message 1 is the first that differs without Call.sp"}},
		{"one award more", "", func(all []protocol.Message) []protocol.Message { return append(all, all[2]) }, exitDiffer,
			[]string{"message 4 is the first", "(the ledger has ended)", "award 3 is the first that differs", "(there are only 2)"}},
		{"another site", "Call.pl", func(all []protocol.Message) []protocol.Message {
			all[2].To = protocol.Agent("bern")
			return planned(all)
		}, exitDiffer, []string{"message 3 is the first", "award 2 is the first that differs", "agent/bern"}},
		{"said later", "", func(all []protocol.Message) []protocol.Message {
			all[1].At++
			return all
		}, exitDiffer, []string{"message 2 is the first", "2 awards are equal"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := write(t, same), write(t, tc.change)
			var out, problems strings.Builder
			exit := run([]string{"-ignore", tc.ignore, a, b}, &out, &problems)
			if exit != tc.exit || problems.Len() > 0 {
				t.Errorf("exit %d, %s; want %d\n%s", exit, problems.String(), tc.exit, out.String())
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("want %q in\n%s", want, out.String())
				}
			}
		})
	}
}

func TestWhatCannotBeComparedIsRefused(t *testing.T) {
	whole := write(t, func(all []protocol.Message) []protocol.Message { return all })
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "torn.ledger")
	if err := os.WriteFile(torn, data[:len(data)-20], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{whole}, "usage"},
		{[]string{"-ignore", "Call", whole, whole}, "is not Kind.key"},
		{[]string{"-ignore", "Call.nothing", whole, whole}, `no key "nothing"`},
		{[]string{"-ignore", "Shout.pl", whole, whole}, `no message is a "Shout"`},
		{[]string{whole, torn}, "torn"},
		{[]string{whole, filepath.Join(t.TempDir(), "missing")}, "no such file"},
	} {
		var out, problems strings.Builder
		if exit := run(tc.args, &out, &problems); exit != exitFailed || !strings.Contains(problems.String(), tc.want) {
			t.Errorf("run(%q) = %d, %s; want %d and %q", tc.args, exit, problems.String(), exitFailed, tc.want)
		}
	}
}
