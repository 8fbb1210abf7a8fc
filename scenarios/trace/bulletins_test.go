package trace_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/trace"
)

const saidHead = "issue_time_utc,target_time_utc,lead_h,v\n"

func bulletins(text string) ([]forecast.Bulletin, error) {
	return trace.ReadBulletins(strings.NewReader(text), "f", "v", protocol.GridCarbon)
}

func TestBulletinsAreReadAsTheyWereSaid(t *testing.T) {
	got, err := bulletins(saidHead +
		"2022-04-13T00:10:00Z,2022-04-13T00:00:00Z,0,355.03\n" +
		"2022-04-13T00:10:00Z,2022-04-13T02:00:00Z,2,1e2\n" +
		"2022-04-13T06:00:00Z,2022-04-13T07:00:00Z,1,0\n")
	const midnight = 1649808000000
	hour := func(h int) protocol.Time { return protocol.Time(midnight).Add(time.Duration(h) * time.Hour) }
	want := []forecast.Bulletin{
		{Issued: hour(0).Add(10 * time.Minute), Points: []protocol.Point{{At: hour(0), Value: 355030}, {At: hour(2), Value: 100000}}},
		{Issued: hour(6), Points: []protocol.Point{{At: hour(7), Value: 0}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Bulletins = %+v, %v; want %+v", got, err, want)
	}
}

func TestBulletinsThatCannotBeAreRefusedWithTheirLine(t *testing.T) {
	const first = "2022-04-13T06:00:00Z,2022-04-13T07:00:00Z,1,3\n"
	for _, tc := range []struct{ text, want string }{
		{"", "f: empty"},
		{saidHead, "no rows after the header"},
		{"issue_time_utc,target_time_utc,w\n", `f:1: missing column "v"`},
		{saidHead + "2022-04-13,2022-04-13T07:00:00Z,1,3\n", `f:2: issue_time_utc is "2022-04-13": want a time as`},
		{saidHead + "2022-04-13T06:00:00Z,2022-04-13T07:30:00Z,1,3\n", "f:2: target_time_utc is"},
		{saidHead + "2022-04-13T06:00:00Z,2022-04-13T05:00:00Z,1,3\n", "f:2: target_time_utc 2022-04-13T05:00:00Z is before"},
		{saidHead + "2022-04-13T06:00:00Z,2022-04-29T05:00:00Z,1,3\n", "over 15 days after"},
		{saidHead + first + first, "f:3: target_time_utc 2022-04-13T07:00:00Z is not after"},
		{saidHead + first + "2022-04-13T05:00:00Z,2022-04-13T08:00:00Z,1,3\n", "f:3: issue_time_utc 2022-04-13T05:00:00Z comes after 2022-04-13T06:00:00Z"},
		{saidHead + "2022-04-13T06:00:00Z,2022-04-13T07:00:00Z,1,-3\n", `f:2: v is "-3": want a finite number of 0..2000`},
		{saidHead + "2022-04-13T06:00:00Z,2022-04-13T07:00:00Z,1,\n", `f:2: v is "": want`},
	} {
		if got, err := bulletins(tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, %v; want an error with %q", tc.text, got, err, tc.want)
		}
	}
	if _, err := trace.ReadBulletins(strings.NewReader(saidHead+first), "f", "v", "wind"); err == nil {
		t.Error("an unknown quantity was accepted")
	}
}

func FuzzBulletins(f *testing.F) {
	f.Add([]byte(saidHead + "2022-04-13T06:00:00Z,2022-04-13T07:00:00Z,1,3\n2022-04-13T06:00:00Z,2022-04-13T08:00:00Z,2,3\n"))
	f.Add([]byte(saidHead + "2022-04-13T06:00:00Z,2022-04-13T07:00:00Z,1,3\n2022-04-13T07:00:00Z,2022-04-13T07:00:00Z,0,3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		said, err := trace.ReadBulletins(bytes.NewReader(data), "f", "v", protocol.GridPrice)
		named(t, err)
		if err == nil && len(said) == 0 {
			t.Error("no bulletins and no error")
		}
		for i, b := range said {
			if i > 0 && b.Issued <= said[i-1].Issued {
				t.Errorf("%v was issued after %v", b.Issued, said[i-1].Issued)
			}
			if err != nil {
				continue // it may be cut off
			}
			if _, err := forecast.NewSeries(b.Points); err != nil || len(b.Points) == 0 || b.Points[0].At < b.Issued.Floor(time.Hour) {
				t.Errorf("%v: %d points from %v: %v", b.Issued, len(b.Points), b.Points, err)
			}
		}
	})
}
