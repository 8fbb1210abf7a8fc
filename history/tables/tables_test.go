package tables_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/history/tables"
	"github.com/gridbid/gridbid/protocol"
)

const noon protocol.Time = 1_649_851_200_000 // 2022-04-13T12:00:00Z

// smallRun is a run of a job that ended and of one, named like a formula, that found no place.
func smallRun() tables.Run {
	submitter, market := protocol.Sender{Party: protocol.Submitter}, protocol.Sender{Party: protocol.Coordinator}
	oslo, hands, feed := protocol.Sender{Party: protocol.AgentParty("oslo")}, protocol.Sender{Party: protocol.ExecutorParty("oslo")}, protocol.Sender{Party: protocol.SignalParty("oslo")}
	j := protocol.Job{ID: "train-1", Tenant: "=HYPERLINK(1)", GPUs: 1, Share: 500, Models: []string{"V100", "A100"}, Arrival: noon, Run: time.Hour, Deadline: noon.Add(3 * time.Hour)}
	k := j
	k.ID = "train,\"2"
	o := protocol.BidOption{Start: noon, Finish: noon.Add(time.Hour), Model: "V100", Energy: 3_600_000_000, Carbon: 200_000, Money: 50_000}
	b := history.New(history.Config{All: true})
	for _, m := range []protocol.Message{
		oslo.NewMessage(noon, protocol.Coordinator, protocol.RegisterSite{Site: "oslo"}),
		feed.NewMessage(noon, protocol.AgentParty("oslo"), protocol.Signal{What: protocol.GridPrice, Points: []protocol.Point{{At: noon, Value: 55_800}, {At: noon.Add(time.Hour), Value: -1_000}}}),
		submitter.NewMessage(noon, protocol.Coordinator, protocol.Submit{Job: j}),
		submitter.NewMessage(noon, protocol.Coordinator, protocol.Submit{Job: k}),
		market.NewMessage(noon, "", protocol.CallForBids{Round: 1, Closes: noon.Add(time.Second), Jobs: []protocol.Job{j, k}, Weights: protocol.DefaultWeights()}),
		oslo.NewMessage(noon, protocol.Coordinator, protocol.Bids{Round: 1, Jobs: []protocol.JobBids{{Job: j.ID, Options: []protocol.BidOption{o}}, {Job: k.ID, Why: protocol.Reason{Code: "no-such-gpu"}}}}),
		market.NewMessage(noon, protocol.AgentParty("oslo"), protocol.Award{Round: 1, Job: j.ID, Epoch: 1, Option: o, Why: protocol.Reason{Code: protocol.Cheapest}}),
		oslo.NewMessage(noon, protocol.Coordinator, protocol.Accept{Job: j.ID, Epoch: 1, Start: noon}),
		oslo.NewMessage(noon, protocol.ExecutorParty("oslo"), protocol.Launch{Job: j, Epoch: 1, Node: "n1", Model: "V100", Devices: []int{0}}),
		hands.NewMessage(noon.Add(time.Minute), protocol.AgentParty("oslo"), protocol.Started{Job: j.ID, Epoch: 1}),
		oslo.NewMessage(noon.Add(time.Hour), protocol.Coordinator, protocol.UsageReport{Job: j.ID, Epoch: 1, Node: "n1", Started: noon.Add(time.Minute), Ended: noon.Add(time.Hour), IT: 3_600_000, Energy: 7_200_000, Carbon: 1_500_000, Money: 250_000}),
	} {
		b.AddMessage(m)
	}
	return tables.Run{History: b, Meta: history.Meta{Scenario: "day", Policy: "auction", End: noon.Add(24 * time.Hour), Weights: protocol.DefaultWeights()}}
}

// written returns the rows of a table in a format.
func written(t *testing.T, name, format string) []byte {
	t.Helper()
	table, err := tables.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := tables.NewWriter(&out, format, table)
	if err != nil {
		t.Fatal(err)
	}
	for row := range table.Rows(smallRun()) {
		if err := w.WriteRow(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// fromCSV returns the rows of a CSV by column.
func fromCSV(t *testing.T, text []byte) (rows []map[string]string) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range all[1:] {
		cells := make(map[string]string)
		for i, name := range all[0] {
			cells[name] = row[i]
		}
		rows = append(rows, cells)
	}
	return rows
}

func TestAJobIsARow(t *testing.T) {
	rows := fromCSV(t, written(t, "jobs", "csv"))
	if len(rows) != 2 {
		t.Fatalf("%d rows; want 2", len(rows))
	}
	for column, want := range map[string]string{
		"scenario": "day", "policy": "auction", "job_id": "train-1", "gpu_share": "0.5", "models": "V100|A100", "arrival_time": "2022-04-13T12:00:00.000Z",
		"site": "oslo", "node": "n1", "start_time": "2022-04-13T12:01:00.000Z", "wait_s": "60", "is_late": "false", "carbon_kg": "1.5", "energy_kwh": "0.002", "energy_usd": "0.25", "gpu_cap_w": "",
	} {
		if rows[0][column] != want {
			t.Errorf("%s is %q; want %q", column, rows[0][column], want)
		}
	}
	// Names come from others: they stay one cell, and no spreadsheet runs them.
	if rows[0]["tenant"] != "'=HYPERLINK(1)" || rows[1]["job_id"] != `train,"2` {
		t.Errorf("names are %q and %q", rows[0]["tenant"], rows[1]["job_id"])
	}
	if rows[1]["site"] != "" || rows[1]["end_time"] != "" || rows[1]["delay_usd"] == "0" {
		t.Errorf("the job without a place: %v", rows[1])
	}
}

func TestBidsRoundsAndSignalsAreRows(t *testing.T) {
	bids := fromCSV(t, written(t, "bids", "csv"))
	if len(bids) != 2 || bids[1]["is_awarded"] != "true" || bids[1]["option"] != "1" || bids[0]["refusal"] != "no-such-gpu" || bids[0]["option"] != "" {
		t.Errorf("bids: %v", bids)
	}
	rounds := fromCSV(t, written(t, "rounds", "csv"))
	if len(rounds) != 1 || rounds[0]["jobs"] != "2" || rounds[0]["awards"] != "1" || rounds[0]["sites_answered"] != "1" {
		t.Errorf("rounds: %v", rounds)
	}
	signals := fromCSV(t, written(t, "signals", "csv"))
	if len(signals) != 2 || signals[1]["price_usd_per_mwh"] != "-1" || signals[1]["hour_time"] != "2022-04-13T13:00:00.000Z" || signals[0]["source"] != "published" || signals[0]["carbon_g_per_kwh"] != "" {
		t.Errorf("signals: %v", signals)
	}
}

// All formats hold the same values.
func TestTheFormatsAgree(t *testing.T) {
	for _, table := range tables.All() {
		rows := fromCSV(t, written(t, table.Name, "csv"))
		var objects []map[string]any
		if err := json.Unmarshal(written(t, table.Name, "json"), &objects); err != nil || len(objects) != len(rows) {
			t.Fatalf("%s: %d objects, %v; want %d", table.Name, len(objects), err, len(rows))
		}
		data := written(t, table.Name, "parquet")
		file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		reader := parquet.NewReader(file)
		for i := range rows {
			packed := make(map[string]any)
			if err := reader.Read(&packed); err != nil {
				t.Fatal(err)
			}
			for _, c := range table.Columns {
				want := rows[i][c.Name]
				inJSON, inParquet := fmt.Sprint(objects[i][c.Name]), packed[c.Name]
				switch {
				case objects[i][c.Name] == nil:
					inJSON = ""
				case c.Kind == tables.Number || c.Kind == tables.Integer:
					inJSON = strings.TrimSuffix(fmt.Sprintf("%.9f", objects[i][c.Name]), ".000000000")
					want = inJSON // JSON numbers are floats here; sums of the CSV are compared elsewhere
				case c.Kind == tables.Text:
					want = strings.TrimPrefix(want, "'")
				}
				if inJSON != want || (inParquet == nil) != (rows[i][c.Name] == "") {
					t.Errorf("%s row %d, %s: CSV %q, JSON %q, Parquet %v", table.Name, i, c.Name, rows[i][c.Name], inJSON, inParquet)
				}
			}
		}
	}
}

// A table without rows is a table all the same.
func TestAnEmptyTableCanBeRead(t *testing.T) {
	table, _ := tables.Named("bids")
	for _, format := range tables.Formats() {
		var out bytes.Buffer
		w, err := tables.NewWriter(&out, format, table)
		if err != nil || w.Close() != nil || out.Len() == 0 {
			t.Errorf("%s: %v, %q", format, err, out.String())
		}
	}
}

// docs/export.md names each column, and every quantity has its unit in its name.
func TestTheColumnsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/export.md")
	if err != nil {
		t.Fatal(err)
	}
	ratios := []string{"gpu_share", "pue", "cpu_cores"}
	unit := regexp.MustCompile(`_(kwh|kg|usd|s|w|gib|usd_per_mwh|g_per_kwh)$`)
	for _, table := range tables.All() {
		for _, c := range table.Columns {
			if !strings.Contains(string(page), "`"+c.Name+"`") {
				t.Errorf("docs/export.md lacks `%s` of %s", c.Name, table.Name)
			}
			if c.Kind == tables.Number && !unit.MatchString(c.Name) && !slices.Contains(ratios, c.Name) {
				t.Errorf("%s of %s has no unit", c.Name, table.Name)
			}
		}
	}
}
