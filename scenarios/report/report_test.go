package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
)

var update = flag.Bool("update", false, "rewrite testdata; read what changed before you commit")
var pages = flag.String("pages", "", "write the pages of the tests under this folder")

const midnight protocol.Time = 1_649_808_000_000 // 2022-04-13T00:00:00Z

// sample is a made-up day: six sites and nine policies, with the shapes that
// real ones have.
func sample() ReplayReport {
	d := ReplayReport{
		Scenario: "six-regions", About: "A made-up day of six regions.",
		Start: midnight, End: midnight.Add(48 * time.Hour), Step: time.Hour,
		Notes: []string{"Jobs that name no home live where they were first seen."},
	}
	for i, name := range []string{"california", "germany", "great-britain", "ontario", "sweden", "texas"} {
		s := SiteSignals{Name: name, GPUs: 64_000}
		for h := range 48 {
			day := math.Sin(float64(h-8+2*i) / 24 * 2 * math.Pi)
			s.Price = append(s.Price, protocol.Microdollars(1000*(40+15*float64(i)+35*day)))
			s.Carbon = append(s.Carbon, protocol.Milligrams(1000*(70+70*float64((i*5)%6)+40*day)))
		}
		d.Sites = append(d.Sites, s)
	}
	for i, name := range []string{
		"auction", "home-fifo", "round-robin", "random", "k8s-least-allocated", "k8s-most-allocated",
		"cheapest-now", "greenest-now", "carbon-threshold",
	} {
		f := 1 + 0.11*float64(i)
		p := PolicyRun{Totals: history.Totals{
			Scenario: d.Scenario, Policy: name, Jobs: 2000, Placed: 1996, Unplaced: 4, Late: 3 * i,
			EnergyKWh: 8123.4 * f, CarbonKg: 1604.2 * f, CostUSD: 402.11 * f, CarbonUSD: 160.42 * f,
			TransferUSD: 12.5 * f, DelayUSD: 21 * f, LateUSD: 4.4 * float64(i), GPUUtil: 0.61, FragRatio: 0.04 * f,
			WaitS:    history.Spread{Mean: 4000 / f, P50: 600 / f, P95: 30_000 / f},
			JCTS:     history.Spread{Mean: 9000, P95: 61_234},
			Slowdown: history.Spread{Mean: 2.3, P95: 14.31},
		}}
		p.Totals.JobsEnergyUSD, p.Totals.JobsCarbonUSD, p.Totals.IdleUSD, p.Totals.IdleCarbonUSD = 300*f, 120*f, 102.11*f, 40.42*f
		p.Totals.WaitDeferrableS, p.Totals.WaitUrgentS = history.Spread{Mean: 5000 / f, P95: 30_000 / f}, history.Spread{Mean: 60 * f, P95: 600}
		p.Totals.DeadlinesKept, p.Totals.ThroughputPerH = 1-0.01*float64(i), 80/f
		p.Totals.GPUUse, p.Totals.CPUUse, p.Totals.MemoryUse = history.Use{Mean: 0.61, Peak: 0.9}, history.Use{Mean: 0.3, Peak: 0.5}, history.Use{Mean: 0.2, Peak: 0.4}
		p.Totals.ObjectiveUSD = p.Totals.CostUSD + p.Totals.CarbonUSD + p.Totals.TransferUSD + p.Totals.DelayUSD + p.Totals.LateUSD
		for k := range d.Sites {
			var row []protocol.Milli
			for h := range 48 {
				row = append(row, protocol.Milli(1000*(25+20*math.Sin(float64(h+3*k+i)/24*2*math.Pi))))
			}
			p.Busy = append(p.Busy, row)
		}
		d.Policies = append(d.Policies, p)
	}
	return d
}

// pageOf returns the page of d. With -pages it and its charts are kept, to be
// looked at.
func pageOf(t *testing.T, d ReplayReport) string {
	t.Helper()
	if *pages != "" {
		if _, err := WriteReport(filepath.Join(*pages, strings.ReplaceAll(t.Name(), "/", "-")), d); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	d = d.normalizeTexts()
	if err := writePage(&out, d, allCharts(d)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestThePageAndItsChartsAreTheSameBytesTwice(t *testing.T) {
	d := sample()
	d.Policies = d.Policies[:2]
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if _, err := WriteReport(dir, d); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(a, "charts", "*"))
	if err != nil || len(files) != 3*10 {
		t.Fatalf("%d charts, %v; want 10 as SVG, PNG and figures", len(files), err)
	}
	for _, f := range append(files, filepath.Join(a, "index.html")) {
		x, _ := os.ReadFile(f)
		rest, _ := filepath.Rel(a, f)
		y, err := os.ReadFile(filepath.Join(b, rest))
		if err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs between two runs (%v)", rest, err)
		}
		if strings.HasSuffix(f, ".png") {
			if im, err := png.Decode(bytes.NewReader(x)); err != nil || im.Bounds().Dx() != 2*chartWidth {
				t.Errorf("%s: %v; want a picture twice as wide as the chart", rest, err)
			}
		}
	}
}

func TestThePageFetchesNothing(t *testing.T) {
	html := pageOf(t, sample())
	for _, bad := range []string{"<script", "<link rel=\"stylesheet", "@import", "url(", "src=", "xlink:href", "https://", "<iframe", "<?xml"} {
		if strings.Contains(html, bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	for _, m := range regexp.MustCompile(`http://[^"]*`).FindAllString(html, -1) {
		if m != "http://www.w3.org/2000/svg" && m != "http://www.w3.org/1999/xlink" {
			t.Errorf("the page holds %q", m)
		}
	}
	if strings.Contains(html, "fill=\"#") {
		t.Error("a chart has a colour of its own; want the page's variables, for dark screens")
	}
}

func TestHostileNamesAreText(t *testing.T) {
	d := sample()
	const evil = "</text><script>alert(1)</script>\x1b\u202e&\"'"
	d.Scenario, d.About, d.Notes, d.Warnings = evil, evil, []string{evil}, []string{evil}
	d.Sites[0].Name, d.Policies[0].Totals.Policy, d.Policies[1].Totals.Policy = evil, evil, "../../"+evil
	html := pageOf(t, d)
	if strings.Contains(html, "<script") || strings.Contains(html, "\x1b") {
		t.Error("a name became markup")
	}
	harmless := regexp.MustCompile(`^[a-z0-9-]{1,50}$`)
	for _, c := range allCharts(d.normalizeTexts()) {
		if !harmless.MatchString(c.name) {
			t.Errorf("a chart's file is named %q", c.name)
		}
		for dec := xml.NewDecoder(bytes.NewReader(c.layout.EncodeSVG())); ; {
			tok, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Errorf("%s holds a script", c.name)
			}
		}
	}
}

func TestAnyDayIsDrawn(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*ReplayReport)
	}{
		{"nothing at all", func(d *ReplayReport) { *d = ReplayReport{} }},
		{"no policies", func(d *ReplayReport) { d.Policies = nil }},
		{"one policy", func(d *ReplayReport) { d.Policies = d.Policies[:1] }},
		{"no sites", func(d *ReplayReport) { d.Sites = nil }},
		{"more sites than colours", func(d *ReplayReport) { d.Sites = append(append(d.Sites, d.Sites...), d.Sites...) }},
		{"series of different lengths", func(d *ReplayReport) {
			d.Sites[0].Price, d.Sites[1].Carbon, d.Policies[0].Busy[2] = nil, d.Sites[1].Carbon[:3], d.Policies[0].Busy[2][:5]
			d.Policies[1].Busy = d.Policies[1].Busy[:2]
		}},
		{"series longer than the day", func(d *ReplayReport) { d.End = d.Start.Add(5 * time.Hour) }},
		{"an end before its start", func(d *ReplayReport) { d.End = d.Start.Add(-time.Hour) }},
		{"negative prices", func(d *ReplayReport) { d.Sites[0].Price[3] = -80_000; d.Policies[0].Totals.CostUSD = -300 }},
		{"figures that are none", func(d *ReplayReport) {
			d.Policies[0].Totals.CostUSD = math.NaN()
			d.Policies[1].Totals.CarbonKg = math.Inf(1)
		}},
		{"five weeks", func(d *ReplayReport) { d.End = d.Start.Add(35 * 24 * time.Hour) }},
		{"two policies of one name", func(d *ReplayReport) { d.Policies[1].Totals.Policy = d.Policies[0].Totals.Policy }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := sample()
			d.Policies = d.Policies[:2]
			tc.change(&d)
			if html := pageOf(t, d); !strings.HasSuffix(html, "</html>\n") {
				t.Error("the page is cut off")
			}
		})
	}
}

func TestTable(t *testing.T) {
	var all []history.Totals
	for _, p := range sample().Policies {
		all = append(all, p.Totals)
	}
	var got bytes.Buffer
	if err := WriteTable(&got, all, true); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/table.txt", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/table.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the table changed; go test -update rewrites it.\n got:\n%s\nwant:\n%s", got.String(), want)
	}
	for line := range strings.Lines(got.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
			t.Errorf("a line has %d columns; want at most 100: %s", n, line)
		}
	}
}

func TestMarks(t *testing.T) {
	col := totalsColumn{value: func(t history.Totals) float64 { return t.CostUSD }, show: formatMoney, lower: true}
	for _, tc := range []struct {
		name  string
		costs []float64
		want  string
	}{
		{"the lowest is best", []float64{3, 1, 2}, "[  *  ]"},
		{"all that print as the lowest are best", []float64{1.001, 1.002, 2}, "[* *  ]"},
		{"alone, nothing is best", []float64{1}, "[ ]"},
		{"where all are the same, nothing is best", []float64{1, 1}, "[   ]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var all []history.Totals
			for _, c := range tc.costs {
				all = append(all, history.Totals{CostUSD: c})
			}
			if got := fmt.Sprint(col.markBest(all)); got != tc.want {
				t.Errorf("marks(%v) = %v; want %v", tc.costs, got, tc.want)
			}
		})
	}
}

// A run whose sites knew more than is usual is there to compare with.
func TestWhoKnowsMoreIsNoRival(t *testing.T) {
	all := []history.Totals{{Policy: "auction", CostUSD: 3, ObjectiveUSD: 3}, {Policy: "auction/perfect", CostUSD: 1, ObjectiveUSD: 1}, {Policy: "random", CostUSD: 4, ObjectiveUSD: 4}}
	col := totalsColumn{value: func(t history.Totals) float64 { return t.CostUSD }, show: formatMoney, lower: true}
	if got := fmt.Sprint(col.markBest(all)); got != "[*    ]" {
		t.Errorf("marks %v", got)
	}
	d := sample()
	d.Policies = []PolicyRun{{Totals: all[1]}, {Totals: all[0]}, {Totals: all[2]}}
	if got := ComparisonText(d); !strings.Contains(got, "lowest objective is that of auction, $3.00") || !strings.Contains(got, "no rival") {
		t.Errorf("ComparisonText() = %q", got)
	}
	if got := ComparisonText(d); strings.Contains(got, "below") {
		t.Errorf("the lowest of all rivals is held against one that is none: %q", got)
	}
	d.Policies = []PolicyRun{{Totals: all[1]}, {Totals: history.Totals{Policy: "auction/none"}}}
	if got := ComparisonText(d); strings.Contains(got, "lowest") || !strings.HasSuffix(got, "no rival.") {
		t.Errorf("of such alone: %q", got)
	}
}

// Rows that differ in their signals alone stay distinguishable, however narrow the
// column is.
func TestLongNamesKeepWhatSitesKnew(t *testing.T) {
	seen := make(map[string]string)
	for _, policy := range []string{"auction", "k8s-least-allocated", "k8s-most-allocated", "wait-awhile", "wait-awhile-interrupting", "carbon-threshold", "priority-order", "greenest-now"} {
		for _, knows := range []string{"", "/own", "/perfect", "/wrong", "/none", "/learned", "/runtimes"} {
			name := shortPolicyName(policy + knows)
			if other, dup := seen[name]; dup || utf8.RuneCountInString(name) > 20 || !strings.HasSuffix(name, knows) {
				t.Errorf("%s is %q in a table, %q is too", policy+knows, name, other)
			}
			seen[name] = policy + knows
		}
	}
	for name, want := range map[string]string{"a name that nobody gave it": "a name that nobody …", "a/slash in a name that is none of ours": "a/slash in a name t…"} {
		if got := shortPolicyName(name); got != want {
			t.Errorf("%q is %q; want %q", name, got, want)
		}
	}
}

func TestJSONIsAlwaysAnArray(t *testing.T) {
	for n, all := range map[int][]history.Totals{0: nil, 2: {{Policy: "a"}, {Policy: "b"}}} {
		var raw bytes.Buffer
		if err := WriteJSON(&raw, all); err != nil {
			t.Fatal(err)
		}
		var got []map[string]any
		if err := json.Unmarshal(raw.Bytes(), &got); err != nil || got == nil || len(got) != n {
			t.Errorf("JSON of %d totals = %s (%v)", n, raw.Bytes(), err)
		}
	}
}

func TestCompared(t *testing.T) {
	got := ComparisonText(sample())
	for _, want := range []string{"9 policies replayed the same day: 2,000 jobs", "6 sites with 384 GPUs", "auction, $596.03", "10.5 % below home-fifo"} {
		if !strings.Contains(got, want) {
			t.Errorf("ComparisonText() = %q; want %q in it", got, want)
		}
	}
}

// The value at the end of a bar is the figure that the chart's title names.
func TestChartsShowTheFiguresThatTheyName(t *testing.T) {
	d := sample()
	d.Policies = d.Policies[:1]
	x := d.Policies[0].Totals
	want := map[string]string{
		"objective": formatMoney(x.CostUSD + x.CarbonUSD + x.TransferUSD + x.DelayUSD + x.LateUSD), "cost": formatMoney(x.CostUSD), "emissions": formatOneDecimal(x.CarbonKg),
		"energy": formatOneDecimal(x.EnergyKWh), "wait": formatOneDecimal(x.WaitS.P95 / 60), "late": formatWhole(float64(x.Late + x.Unplaced)),
	}
	for _, c := range allCharts(d) {
		if figure, ok := want[c.name]; ok && !strings.Contains(string(c.layout.InlineSVG()), ">"+figure+"</text>") {
			t.Errorf("the chart %s does not show %s:\n%s", c.name, figure, c.layout.Label)
		}
		delete(want, c.name)
	}
	if len(want) != 0 {
		t.Errorf("no charts of %v", want)
	}
}

func TestThePageShowsWarningsAboveItsFigures(t *testing.T) {
	d := sample()
	if html := pageOf(t, d); strings.Contains(html, "Warning:") {
		t.Error("a page without warnings shows one")
	}
	d.Warnings = []string{"5 jobs are worth 2 by GPU-hours", "the fleets are too small"}
	html := pageOf(t, d)
	for _, w := range d.Warnings {
		if i := strings.Index(html, "<b>Warning:</b> "+w+"."); i < 0 || i > strings.Index(html, "<table>") {
			t.Errorf("the page does not show %q above its table", w)
		}
	}
}
