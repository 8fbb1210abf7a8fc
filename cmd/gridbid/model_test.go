package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/llm/faultyserver"
	"github.com/gridbid/gridbid/protocol"
)

// replayed plays a short day under the auction and returns its ledger and totals.
func replayed(t *testing.T, flags ...string) (ledger []byte, totals history.Totals, stderr string) {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{"--policy", "auction", "--bus", "mem", "--no-bound", "--max-jobs", "300", "--run", dir}, flags...)
	_, stderr, err := execute(newReplayCommand(), args...)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err = os.ReadFile(filepath.Join(dir, "auction.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "totals.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []history.Totals
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	all[0].Messages, all[0].WallS = 0, 0
	return ledger, all[0], stderr
}

// byNote follows the notes: it chooses the handle that the first note is
// about.
func byNote(body []byte) string {
	_, after, _ := bytes.Cut(body, []byte("- about "))
	handle, _, _ := bytes.Cut(after, []byte(":"))
	return `{"choice":"` + string(handle) + `","reason":"operator_note"}`
}

// A user's whole way: a model on loopback, notes, a ledger that holds the
// verdicts, and the same day from that ledger with the model gone.
func TestReplayAsksAModelAndReplaysItsVerdicts(t *testing.T) {
	s, err := faultyserver.StartServer(faultyserver.AnswerWith(byNote))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	notes := filepath.Join(t.TempDir(), "notes.json")
	sites, rows := sitesOf(t), []map[string]string(nil)
	for _, site := range sites {
		rows = append(rows, map[string]string{"site": site, "text": "prefer it"})
	}
	raw, _ := json.Marshal(rows)
	if err := os.WriteFile(notes, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(modelKeyVariable, "sk-of-the-environment")
	with := []string{"--notes", notes, "--leeway", "10"}
	_, plain, _ := replayed(t)
	ledger, moved, stderr := replayed(t, append(with, "--model", s.BaseURL(), "--model-name", "m", "--model-wait", "20s")...)
	if !strings.Contains(stderr, "model m: ") || len(s.RequestBodies()) == 0 || reflect.DeepEqual(moved, plain) {
		t.Fatalf("nobody was asked, or no award was moved:\n%s", stderr)
	}
	for _, body := range s.RequestBodies() {
		if bytes.Contains(body, []byte("sk-of-the")) || slices.ContainsFunc(sites, func(name string) bool { return bytes.Contains(body, []byte(name)) }) || bytes.Contains(body, []byte("job-")) {
			t.Fatalf("the model is told too much: %s", body)
		}
	}
	if bytes.Contains(ledger, []byte("sk-of-the")) {
		t.Error("the key is on the ledger")
	}

	path := filepath.Join(t.TempDir(), "auction.ledger")
	if err := os.WriteFile(path, ledger, 0o600); err != nil {
		t.Fatal(err)
	}
	// What-ifs make the recorded rounds again, those that a verdict moved too.
	if out, _, err := execute(newAskCommand(), "what if the carbon price were 100 for job-0100", "--run", filepath.Dir(path)); err != nil || strings.Contains(out, "cannot") {
		t.Errorf("a what-if of a run with verdicts: %v\n%s", err, out)
	}
	asked := len(s.RequestBodies())
	again, _, _ := replayed(t, "--verdicts", path)
	if !bytes.Equal(ledger, again) || len(s.RequestBodies()) != asked {
		t.Errorf("from its verdicts the run has %d bytes, not the same %d, and %d questions", len(again), len(ledger), len(s.RequestBodies())-asked)
	}
	// They may have been paid for: a replay into their own folder, given up, would lose them.
	if _, _, err := execute(newReplayCommand(), "--policy", "auction", "--bus", "mem", "--no-bound", "--max-jobs", "1", "--run", filepath.Dir(path), "--verdicts", path); !errors.As(err, new(usageError)) {
		t.Errorf("a replay in place of the run whose verdicts it takes: %v; want bad input", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the ledger with the verdicts is gone: %v", err)
	}
	s.Close()
	_, closed, stderr := replayed(t, append(with, "--model", s.BaseURL(), "--model-name", "m")...)
	if !reflect.DeepEqual(closed, plain) || !strings.Contains(stderr, "decided without the model: error") {
		t.Errorf("with the port closed the totals are\n%+v; want\n%+v\n%s", closed, plain, stderr)
	}
}

// sitesOf returns the sites of the default day.
func sitesOf(t *testing.T) (names []string) {
	t.Helper()
	ledger := t.TempDir()
	if _, _, err := execute(newReplayCommand(), "--policy", "auction", "--bus", "mem", "--no-bound", "--max-jobs", "1", "--run", ledger); err != nil {
		t.Fatal(err)
	}
	err := recordSource{path: filepath.Join(ledger, "auction.ledger")}.readMessages(nil, nil, func(m protocol.Message) error {
		if h, ok := m.Body.(protocol.RegisterSite); ok {
			names = append(names, h.Site)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestModelFlagsThatMakeNoSense(t *testing.T) {
	secret, empty := filepath.Join(t.TempDir(), "none"), filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--model-name", "m"}, {"--model", "http://127.0.0.1:1/v1"}, {"--model", "ftp://x", "--model-name", "m"},
		{"--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--model-key-file", secret}, {"--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--model-key-file", empty},
		{"--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--leeway", "50"},
		{"--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--model-calls", "0"}, {"--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--model-tariff", "0.4"}, {"--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--model-tariff", "-1,2"}, {"--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--model-tokens", "-1"},
		{"--model", "http://127.0.0.1:1/v1", "--model-name", "m", "--verdicts", "x.ledger", "--policy", "auction"},
		{"--notes", secret}, {"--verdicts", secret}, {"--verdicts", secret, "--policy", "auction"},
		{"--verdicts", filepath.Join(ledgerOf(t, "auction"), "auction.ledger"), "--policy", "auction"},
	} {
		_, _, err := execute(newReplayCommand(), append(args, "--max-jobs", "1", "--run", t.TempDir())...)
		if !errors.As(err, new(usageError)) {
			t.Errorf("replay %q = %v; want bad input", args, err)
		}
	}
}

func TestAModelNarratesWithinTheFacts(t *testing.T) {
	s, err := faultyserver.StartServer(faultyserver.FixedText(`{"sentences":[2,1]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := ledgerOf(t, "auction")
	model := []string{"--model", s.BaseURL(), "--model-name", "m"}
	out, stderr, err := execute(newWhyCommand(), append(model, "train-1", "--run", dir, "--narrator", "select")...)
	if err != nil || stderr != "" || !strings.HasPrefix(out, "At oslo it begins") || !strings.Contains(out, "the job goes to oslo") {
		t.Errorf("why --narrator select = %q, %q, %v", out, stderr, err)
	}
	s.SetBehaviour(faultyserver.FixedText(`{"sentences":[{"text":"It costs twelve dollars.","cites":[]}]}`))
	out, stderr, err = execute(newWhyCommand(), append(model, "train-1", "--run", dir, "--narrator", "prose")...)
	if err != nil || strings.Contains(out, "twelve") || !strings.Contains(stderr, "worded by template") {
		t.Errorf("why --narrator prose = %q, %q, %v", out, stderr, err)
	}
	out, _, err = execute(newWhyCommand(), "train-1", "--run", dir, "--narrator", "template", "--json")
	if err != nil || !strings.Contains(out, `"by": "template"`) {
		t.Errorf("why --narrator template = %q, %v", out, err)
	}
	for _, args := range [][]string{{"--narrator", "select"}, {"--narrator", "poem"}} {
		if _, _, err := execute(newWhyCommand(), append(args, "train-1", "--run", dir)...); !errors.As(err, new(usageError)) {
			t.Errorf("why %q = %v; want bad input", args, err)
		}
	}
}

// Nor does why a model was not followed move a cursor, by the name of a site.
func TestWhyAModelIsNotFollowedIsShownAsText(t *testing.T) {
	fact := regexp.MustCompile(`(\{\{F\d+\}\}) site`)
	s, err := faultyserver.StartServer(faultyserver.AnswerWith(func(body []byte) string {
		if of := fact.FindSubmatch(body); of != nil { // without the name of its site
			return `{"sentences":[{"text":"It costs ` + string(of[1]) + `.","cites":[]}]}`
		}
		return `{"sentences":[1]}`
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir, odd := t.TempDir(), protocol.AgentParty("o\x1b[2Jslo")
	w, err := wal.CreateFile(filepath.Join(dir, "auction.ledger"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range smallRun() {
		if m.From == protocol.AgentParty("oslo") {
			m.From = odd
		}
		if m.To == protocol.AgentParty("oslo") {
			m.To = odd
		}
		if _, ok := m.Body.(protocol.RegisterSite); ok {
			m.Body = protocol.RegisterSite{Site: odd.SiteName()}
		}
		err = errors.Join(err, w.AppendMessage(m))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	out, stderr, err := execute(newWhyCommand(), "train-1", "--run", dir, "--narrator", "prose", "--model", s.BaseURL(), "--model-name", "m")
	if err != nil || !strings.Contains(stderr, "worded by select: ") || !strings.Contains(stderr, "which the sentence does not name") || strings.Contains(out+stderr, "\x1b") {
		t.Errorf("why = %q, %q, %v", out, stderr, err)
	}
}
