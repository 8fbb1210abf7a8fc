package main

import (
	"encoding/json"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChartIsWrittenWhereItCannotBeShown(t *testing.T) {
	run := ledgerOf(t, "auction")
	t.Chdir(t.TempDir())
	_, stderr, err := execute(newChartCommand(), "offers", "--job", "train-1", "--run", run)
	if err != nil || !strings.Contains(stderr, "chart: offers.png") {
		t.Fatalf("chart says %q, %v", stderr, err)
	}
	f, err := os.Open("offers.png")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if im, err := png.Decode(f); err != nil || im.Bounds().Dx() != 1440 {
		t.Errorf("the picture: %v", err)
	}
	if _, _, err := execute(newChartCommand(), "day", "--run", run, "--out", "day.svg"); err != nil {
		t.Error(err)
	}
	if raw, err := os.ReadFile("day.svg"); err != nil || !strings.HasPrefix(string(raw), "<svg") {
		t.Errorf("the drawing: %v\n%.200s", err, raw)
	}
}

func TestChartInFigures(t *testing.T) {
	run := ledgerOf(t, "auction")
	out, _, err := execute(newChartCommand(), "offers", "--job", "train-1", "--run", run, "--figures")
	if err != nil || !strings.Contains(out, "oslo") || !strings.Contains(out, "0.0700") {
		t.Errorf("figures: %v\n%s\nwant oslo's total of 0.05 for energy and 0.02 for carbon", err, out)
	}
	out, _, err = execute(newChartCommand(), "offers", "--job", "train-1", "--run", run, "--json")
	var got struct {
		Schema int
		Head   []string
		Rows   [][]string
	}
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || got.Schema != 1 || len(got.Rows) != 1 {
		t.Errorf("JSON: %v\n%s", err, out)
	}
	if out, _, err := execute(newChartCommand(), "--list"); err != nil || !strings.Contains(out, "offers") {
		t.Errorf("list: %v\n%s", err, out)
	}
}

// Scripts tell by it whether to ask for something else.
func TestAChartThatThereIsNotIsBadInput(t *testing.T) {
	run := ledgerOf(t, "auction")
	for _, args := range [][]string{{"pie"}, {"price", "--at", "2036-03-11T13:45:00Z"}} {
		if _, _, err := execute(newChartCommand(), append(args, "--run", run)...); !errors.As(err, new(usageError)) {
			t.Errorf("chart %v: %v; want bad input", args, err)
		}
	}
}

func TestChartErrorsNameTheNextStep(t *testing.T) {
	run := ledgerOf(t, "auction")
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "--list"},
		{[]string{"pie", "--run", run}, "want one of offers"},
		{[]string{"day", "week", "--run", run}, "only the chart answer"},
		{[]string{"day", "--run", run, "--out", "day.gif"}, ".svg or .png"},
		{[]string{"carbon", "--run", run, "--at", "noon"}, "such as"},
		{[]string{"carbon", "--run", run, "--at", "2036-03-11T13:45:00Z", "--figures"}, "is not in the record"},
		{[]string{"offers", "--run", run}, "chart offers needs --decision, such as D-14, or --job"},
		{[]string{"job", "--run", run}, "chart job needs --job"},
		{[]string{"offers", "--run", run, "--decision", "D-77"}, "no decision D-77"},
		{[]string{"day", "--run", filepath.Join(run, "none")}, "replay"},
	} {
		if _, _, err := execute(newChartCommand(), tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("chart %v: %v; want %q in it", tc.args, err, tc.want)
		}
	}
}
