package printer

import (
	"bytes"
	"encoding/csv"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/gridbid/gridbid/protocol"
)

type job struct {
	ID    string        `json:"id"`
	Site  string        `json:"site,omitempty"`
	KWh   float64       `json:"kwh"`
	Start protocol.Time `json:"start"`
	Seen  protocol.Time `json:"seen"`
}

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

func listing(rows ...job) Listing[job] {
	return Listing[job]{Rows: rows, Columns: []Column[job]{
		{Head: "JOB", Value: func(j job) any { return j.ID }},
		{Head: "SITE", Value: func(j job) any { return j.Site }},
		{Head: "KWH", Value: func(j job) any { return j.KWh }, Verb: "%.1f"},
		{Head: "START/AT", Value: func(j job) any { return j.Start }, Wide: true},
		{Head: "SEEN", Value: func(j job) any { return j.Seen }, Moves: true},
	}}
}

func printed(t *testing.T, v View, f Format) string {
	t.Helper()
	var out bytes.Buffer
	if err := v.Print(&out, f); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEachFormatHasTheSameRows(t *testing.T) {
	l := listing(job{ID: "train-7", Site: "oslo", KWh: 1.25, Start: noon}, job{ID: "b", KWh: -2})
	for f, want := range map[Format]string{
		Table: "JOB      SITE  KWH   SEEN\ntrain-7  oslo  1.2   -\nb        -     -2.0  -\n",
		Wide:  "JOB      SITE  KWH   START/AT        SEEN\ntrain-7  oslo  1.2   04-13 12:00:00  -\nb        -     -2.0  -               -\n",
		CSV:   "job,site,kwh,start_at,seen\ntrain-7,oslo,1.25,2022-04-13T12:00:00Z,\nb,,-2,,\n",
		Name:  "train-7\nb\n",
	} {
		if got := printed(t, l, f); got != want {
			t.Errorf("-o %s:\n%q\nwant\n%q", f, got, want)
		}
	}
	for _, f := range []Format{JSON, YAML} {
		var back []job
		if err := yaml.Unmarshal([]byte(printed(t, l, f)), &back); err != nil || len(back) != 2 || back[0] != l.Rows[0] || back[1] != l.Rows[1] {
			t.Errorf("-o %s read back: %v: %+v; want %+v", f, err, back, l.Rows)
		}
	}
	if got := printed(t, listing(), JSON); got != "[]\n" {
		t.Errorf("no rows as JSON: %q", got)
	}
	if err := (Listing[any]{Data: 1}).Print(new(bytes.Buffer), CSV); !errors.Is(err, ErrNotAList) {
		t.Errorf("one value as CSV: %v", err)
	}
}

// Names come from submitters and sites.
func TestNoTextMovesACursorOrIsRunAsAFormula(t *testing.T) {
	l := listing(job{ID: "=cmd|' /C calc'!A1", Site: "a\x1b[2J\t\u202eb\nc"}, job{ID: "-1.5", Site: "-a"}, job{ID: "+x"}, job{ID: "@y"})
	for _, f := range []Format{Table, Wide, JSON, YAML, CSV, Name} {
		for _, r := range printed(t, l, f) {
			if r != '\n' && (r < ' ' || r == '\u202e' || r == '\u009b') {
				t.Errorf("-o %s holds %q:\n%s", f, r, printed(t, l, f))
			}
		}
	}
	rows, err := csv.NewReader(strings.NewReader(printed(t, l, CSV))).ReadAll()
	if err != nil || len(rows) != 5 || rows[1][0] != "'=cmd|' /C calc'!A1" || rows[2][0] != "-1.5" || rows[2][1] != "'-a" || rows[3][0] != "'+x" || rows[4][0] != "'@y" {
		t.Errorf("%v: %q", err, rows)
	}
}

func TestASelectionFiltersOrdersAndCounts(t *testing.T) {
	l := listing(job{ID: "a", Site: "oslo", KWh: 10, Start: noon}, job{ID: "b", Site: "lyon", KWh: 9}, job{ID: "c", Site: "oslo", KWh: 2, Start: noon + 1000}, job{ID: "d"})
	for _, tc := range []struct {
		s    Selection
		want string
		more int
	}{
		{Selection{}, "a b c d", 0},
		{Selection{Selector: "site=oslo"}, "a c", 0},
		{Selection{Selector: "site!=oslo,kwh>0"}, "b", 0},
		{Selection{Selector: "kwh>=9,kwh<10"}, "b", 0},
		{Selection{Selector: "site="}, "d", 0},
		{Selection{Selector: "start_at>2022-04-13T12:00:00Z"}, "c", 0},
		{Selection{Selector: "start_at<=2022-04-14"}, "a c", 0},
		{Selection{Sort: "kwh"}, "d c b a", 0},
		{Selection{Sort: "-kwh"}, "a b c d", 0},
		{Selection{Sort: "-site"}, "a c b d", 0},
		{Selection{Sort: "kwh", Limit: 3}, "d c b", 1},
	} {
		got, more, err := l.Apply(tc.s)
		if err != nil || strings.Join(strings.Fields(printed(t, got, Name)), " ") != tc.want || more != tc.more {
			t.Errorf("%+v: %v: %s, %d more; want %s, %d", tc.s, err, printed(t, got, Name), more, tc.want, tc.more)
		}
	}
	for want, s := range map[string]Selection{
		`did you mean "site"?`:   {Selector: "sit=oslo"},
		`did you mean "kwh"?`:    {Sort: "kw"},
		"COLUMN=VALUE":           {Selector: "oslo"},
		"want a number":          {Selector: "kwh>much"},
		"want a number from 1":   {Limit: -1},
		"job, site, kwh, start_": {Sort: "colour"},
	} {
		if _, _, err := l.Apply(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %s", s, err, want)
		}
	}
}

// A column that moves by itself prints no row, and columns stay below each other.
func TestAWatchPrintsWhatChanged(t *testing.T) {
	for f, want := range map[Format][3]string{
		Table: {"JOB  SITE  KWH  SEEN\na    -     0.0  -\nb    -     0.0  -\n", "a    oslo  0.0  04-13 12:00:00\n", "longer  -     0.0  -\n"},
		JSON:  {`{"id":"a","kwh":0,"start":"never","seen":"never"}` + "\n" + `{"id":"b","kwh":0,"start":"never","seen":"never"}` + "\n", `{"id":"a","site":"oslo","kwh":0,"start":"never","seen":"2022-04-13T12:00:00Z"}` + "\n", `{"id":"longer","kwh":0,"start":"never","seen":"never"}` + "\n"},
		CSV:   {"job,site,kwh,start_at,seen\na,,0,,\nb,,0,,\n", "a,oslo,0,,2022-04-13T12:00:00Z\n", "longer,,0,,\n"},
		Name:  {"a\nb\n", "a\n", "longer\n"},
	} {
		var seen Watched
		for i, rows := range [][]job{{{ID: "a"}, {ID: "b"}}, {{ID: "a", Site: "oslo", Seen: noon}, {ID: "b", Seen: noon}}, {{ID: "longer"}}} {
			var out bytes.Buffer
			if err := listing(rows...).PrintChanges(&out, f, &seen); err != nil || out.String() != want[i] {
				t.Errorf("-o %s, look %d: %v:\n%q\nwant\n%q", f, i+1, err, &out, want[i])
			}
		}
	}
	// Rows that share a name are printed once each.
	var twice Watched
	var told bytes.Buffer
	for range 3 {
		if err := listing(job{ID: "a", Site: "oslo"}, job{ID: "a", Site: "lyon"}).PrintChanges(&told, Name, &twice); err != nil {
			t.Fatal(err)
		}
	}
	if told.String() != "a\na\n" {
		t.Errorf("two rows of one name, looked at three times: %q", &told)
	}
	var seen Watched
	var out bytes.Buffer
	if err := errors.Join(listing(job{ID: "a"}).PrintChanges(&out, YAML, &seen), listing(job{ID: "b"}).PrintChanges(&out, YAML, &seen)); err != nil || strings.Count(out.String(), "---\n") != 2 || !strings.Contains(out.String(), "id: b\n") {
		t.Errorf("YAML: %v:\n%s", err, &out)
	}
}

func TestANameThatIsNoFormatIsRefused(t *testing.T) {
	for text, want := range map[string]string{"jsn": `did you mean "json"?`, "xml": "want table, wide, json, yaml, csv or name"} {
		if _, err := ParseFormat(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	for _, name := range Formats() {
		if f, err := ParseFormat(name); err != nil || string(f) != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestObjectsAreListedByTheirKeys(t *testing.T) {
	type totals struct {
		Carbon float64  `json:"carbon_kg"`
		Policy string   `json:"policy"`
		Late   int      `json:"late,omitempty"`
		Notes  []string `json:"notes"`
		Wait   struct {
			Mean float64 `json:"mean"`
		} `json:"wait_s"`
		Exact bool `json:"exact"`
	}
	l, err := ListObjects([]totals{{Policy: "auction", Carbon: 1.5, Notes: []string{"a"}}, {Policy: "=x", Late: 2, Exact: true}}, "policy")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := printed(t, l, CSV), "policy,carbon_kg,wait_s_mean,exact,late\nauction,1.5,0,false,\n'=x,0,0,true,2\n"; got != want {
		t.Errorf("%q; want %q", got, want)
	}
	if _, err := ListObjects([]any{1}, ""); err == nil {
		t.Error("a number was listed as an object")
	}
}
