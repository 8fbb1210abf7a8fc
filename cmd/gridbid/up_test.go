package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// A whole federation, and all that can be asked of it.
func TestAFederationIsUpAndAnswers(t *testing.T) {
	dir := t.TempDir()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := socket.Addr().String()
	_ = socket.Close()
	traces, services := collector(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		up := newRootCommand()
		up.SetErr(new(bytes.Buffer))
		up.SetArgs([]string{"up", "--listen", at, "--speed", "300", "--no-jobs", "--traces", traces.URL, "--folder", filepath.Join(dir, "up")})
		ended <- up.ExecuteContext(ctx)
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("up ended with %v", err)
		}
		for _, who := range []string{"gridbid-coordinator", "gridbid-agent"} {
			if !services(who) {
				t.Errorf("%s sent no traces", who)
			}
		}
	}()
	gridbid := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := newRootCommand()
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(append(args, "--api", at))
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	var sites []jobstatus.Site
	for i := 0; len(sites) < 6; i++ {
		text, err := gridbid("sites", "--json")
		if err == nil {
			err = json.Unmarshal([]byte(text), &sites)
		}
		if i > 3000 {
			t.Fatalf("%d sites: %v", len(sites), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	job := filepath.Join(dir, "job.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("id: train-7\ntenant: vision\ngpus: 2\ncpu: 8\nrun: 10m\n")
	var js []jobstatus.Job
	text, err := gridbid("submit", "-f", job, "--wait", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(text), &js)
	}
	if err != nil || js[0].State != history.Done || js[0].Measured == nil || js[0].Measured.Energy <= 0 || js[0].Site == "" {
		t.Fatalf("submit: %v: %+v\n%s", err, js, text)
	}
	if text, err := gridbid("submit", "-f", job); err != nil || !strings.Contains(text, "train-7  done") {
		t.Errorf("the same again: %v: %s", err, text)
	}
	write("id: train-7\ngpus: 1\nrun: 10m\n")
	if _, err := gridbid("submit", "-f", job); err == nil || !strings.Contains(err.Error(), "another job") {
		t.Errorf("another of the same id: %v", err)
	}
	write("gpus: 1\ngpu: 2\nrun: 10m\n")
	if _, err := gridbid("submit", "-f", job); err == nil || !strings.Contains(err.Error(), "job.yaml:2: gpu: unknown key") {
		t.Errorf("a wrong file: %v", err)
	}
	write("gpus: 1\nrun: 100h\n")
	if _, err = gridbid("submit", "-f", job, "--id", "long"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"submit", "-f", job, "--id", "a b"}, {"submit", "-f", job, "--id", "oslo/7"}, {"jobs", "--state", "placed"}} {
		if text, err := gridbid(args...); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v: %s; want bad input", args, err, text)
		}
	}
	if text, err := gridbid("logs", string(js[0].ID)); err == nil || !strings.Contains(err.Error(), "shows no logs of jobs: its owner has not set logs: true") {
		t.Errorf("logs: %v: %s", err, text)
	}
	if text, err := gridbid("cancel", "long"); err != nil || !strings.Contains(text, "long  ") {
		t.Errorf("cancel: %v: %s", err, text)
	}
	for _, args := range [][]string{{"jobs"}, {"job", "train-7"}, {"auctions"}, {"drain", "solar-south"}, {"drain", "solar-south", "--over"}, {"sites"}, {"top", "--json"}} {
		if text, err := gridbid(args...); err != nil || len(text) < 10 {
			t.Errorf("%v: %v: %s", args, err, text)
		}
	}
	seen(t, "http://"+at, js[0].Site)
	unseen(t, "http://"+at, js[0].Site)
	quoteWithoutSubmitting(t, gridbid, job, write)
	readRecordOverAPI(t, gridbid)
	if text, err := gridbid("wait", "train-7", "--timeout", "1m"); err != nil {
		t.Errorf("wait: %v: %s", err, text)
	}
	madeAgain(t, filepath.Join(dir, "up"))
	policyInForce(t, gridbid)
	if _, err := gridbid("job", "ghost"); err == nil || !strings.Contains(err.Error(), `unknown job "ghost"`) {
		t.Errorf("an unknown job: %v", err)
	}
}

// collector takes traces, and tells whether a service sent some.
func collector(t *testing.T) (*httptest.Server, func(service string) bool) {
	var mu sync.Mutex
	var got []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/traces" { // as collectors do
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		in := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			in, _ = gzip.NewReader(r.Body)
		}
		data, _ := io.ReadAll(in)
		got = append(got, data...)
	}))
	t.Cleanup(srv.Close)
	return srv, func(service string) bool {
		mu.Lock()
		defer mu.Unlock()
		return bytes.Contains(got, []byte(service))
	}
}

// seen asks for what Prometheus and whoever restarts processes ask for.
func seen(t *testing.T, at, site string) {
	t.Helper()
	for path, want := range map[string]string{
		"/metrics":                     `gridbid_settled_total{site="` + site + `"} `,
		"/healthz":                     "ok",
		"/readyz":                      "leading",
		"/agents/" + site + "/metrics": `gridbid_messages_total{kind="award",way="heard"}`,
		"/agents/" + site + "/healthz": "ok",
		"/agents/" + site + "/readyz":  "ready",
		"/agents/nowhere/readyz":       "",
	} {
		for try := 0; ; try++ { // what was settled is counted a moment later
			r, err := http.Get(at + path)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if want == "" && r.StatusCode != http.StatusOK || want != "" && r.StatusCode == http.StatusOK && strings.Contains(string(text), want) {
				break
			}
			if try == 600 {
				t.Errorf("%s: %s: %s; want %s", path, r.Status, text, want)
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// A page elsewhere that points its name here reads none of it.
func unseen(t *testing.T, at, site string) {
	t.Helper()
	for _, path := range []string{"/", "/v1/sites", "/metrics", "/readyz", "/agents/" + site + "/metrics", "/agents/" + site + "/readyz"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "evil.example"
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode/100 != 4 {
			t.Errorf("%s is read under another name: %s", path, answer.Status)
		}
	}
}

// A coordinator that is tried hears each speaker within limits, as one in a
// process of its own does.
func TestUpKeepsTheLimitsOfACoordinator(t *testing.T) {
	usual, fast := natsbus.DefaultSiteLimits(), (&upFlags{speed: 60}).siteLimits()
	if fast.Rate != 60*usual.Rate || fast.Burst != 60*usual.Burst || fast.Bytes != 60*usual.Bytes || fast.MaxQueuedBytes != usual.MaxQueuedBytes || fast.Size != usual.Size {
		t.Errorf("at 60 times the speed: %+v", fast)
	}
}

// What is offered for all jobs that are called at a time is heard, or a site would win none
// of thousands that wait.
func TestUpCallsAsManyJobsAsAnOfferHolds(t *testing.T) {
	s, err := spec.LoadScenario("six-regions", spec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := scenarios.SimulateSite(s, "hydro-north", s.Start, s.End)
	if err != nil {
		t.Fatal(err)
	}
	site, err := x.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range x.Signals.Machine.Tick(s.Start) {
		site.Agent.Step(s.Start, m)
	}
	flags := &upFlags{speed: 60}
	call := protocol.CallForBids{Round: 1, Weights: scenarios.MarketWeights(s)}
	for i := range cmp.Or(flags.marketRules(call.Weights).Most, 4096) { // which is the market's own
		call.Jobs = append(call.Jobs, protocol.Job{
			ID: protocol.JobID(fmt.Sprintf("job-of-a-usual-name-%05d", i)), GPUs: 1, Share: 1000, CPU: 4000, Memory: 1024,
			Arrival: s.Start, Run: time.Hour, Deadline: s.Start.Add(48 * time.Hour), Urgency: protocol.UrgencyStandard,
		})
	}
	who := protocol.Sender{Party: protocol.Coordinator}
	said := site.Agent.Step(s.Start, who.NewMessage(s.Start, "", call))
	offer, ok := said[0].Body.(protocol.Bids)
	if !ok || len(offer.Jobs[0].Options) == 0 {
		t.Fatalf("it says %+v", said[0])
	}
	data, err := protocol.Encode(said[0])
	if err != nil || len(data) > flags.siteLimits().Size {
		t.Errorf("an offer for %d jobs has %d bytes, of %d that are heard: %v", len(call.Jobs), len(data), flags.siteLimits().Size, err)
	}
}

// What-ifs are answered from the ledger of the federation that still lives: a job
// that came over the desk, and not over the bus, is on it too.
func madeAgain(t *testing.T, run string) {
	t.Helper()
	var text string
	for range 100 { // the ledger is flushed once a second
		var out bytes.Buffer
		cmd := newRootCommand()
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs([]string{"ask", "would train-7 change at a carbon price of 400", "--run", run})
		err := cmd.ExecuteContext(t.Context())
		if text = out.String(); err == nil && strings.Contains(text, "Made again as recorded") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("a what-if on a live ledger: %s", text)
}

// Whoever starts a second one by mistake does not take its books from the first.
func TestUpThatCannotStartRemovesNothing(t *testing.T) {
	folder := t.TempDir()
	ledger := filepath.Join(folder, "auction.ledger")
	if err := os.WriteFile(ledger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, held := range []bool{false, true} {
		listen := socket.Addr().String()
		if held {
			release, err := lockFolder(folder)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			listen = "127.0.0.1:0"
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		up := newUpCommand()
		up.SetContext(ctx)
		if _, _, err := execute(up, "--no-jobs", "--listen", listen, "--folder", folder); !errors.As(err, new(usageError)) {
			t.Errorf("up, its folder held %v: %v; want bad input", held, err)
		}
		if _, err := os.Stat(ledger); err != nil {
			t.Errorf("up, its folder held %v: what is there is gone: %v", held, err)
		}
	}
}

func TestUpThatCannotBeReachedRemovesNothing(t *testing.T) {
	folder := t.TempDir()
	ledger := filepath.Join(folder, "auction.ledger")
	if err := os.WriteFile(ledger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, flags := range [][]string{{"--nats", socket.Addr().String()}, {"--nats", "0.0.0.0:0"}, {"--nats", "4222"}, {"--traces", "localhost:4318"}} {
		if err := started(t, append(flags, "--folder", folder)...); !errors.As(err, new(usageError)) {
			t.Errorf("up %v: %v; want bad input", flags, err)
		}
		if _, err := os.Stat(ledger); err != nil {
			t.Errorf("up %v: what is there is gone: %v", flags, err)
		}
	}
}

// A folder of a federation has sites, too: with the only keys that there are.
func TestUpRemovesNothingThatNoUpLeft(t *testing.T) {
	folder, run := t.TempDir(), t.TempDir()
	key := filepath.Join(folder, "sites", "oslo", "oslo.nk")
	ledger := filepath.Join(run, "auction.ledger")
	w, err := wal.CreateFile(ledger, map[string]string{"policy": "auction", "seed": "1"})
	if err := errors.Join(err, w.Close(), os.MkdirAll(filepath.Dir(key), 0o700), os.WriteFile(key, []byte("S"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for file, folder := range map[string]string{key: folder, ledger: run} {
		if err := started(t, "--folder", folder); !errors.As(err, new(usageError)) {
			t.Errorf("up in a folder of others: %v; want bad input", err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("what was no up's is gone: %v", err)
		}
	}
}

func TestUpReplacesWhatAnEarlierUpLeft(t *testing.T) {
	for _, mark := range []string{upFolder, "auction.ledger"} {
		f := upFlags{folder: t.TempDir()}
		journals := filepath.Join(f.folder, "sites", "oslo")
		if err := os.MkdirAll(journals, 0o700); err != nil {
			t.Fatal(err)
		}
		if mark == upFolder {
			if err := os.WriteFile(filepath.Join(f.folder, mark), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if w, err := wal.CreateFile(filepath.Join(f.folder, mark), map[string]string{"live": "up"}); err != nil || w.CloseWithoutEnd() != nil {
			t.Fatal(err)
		}
		err := f.clearFolder()
		if _, there := os.Stat(journals); err != nil || !errors.Is(there, os.ErrNotExist) {
			t.Errorf("known by %s: %v; what an earlier up left: %v", mark, err, there)
		}
	}
}

// started starts up, which ends at once if it does start.
func started(t *testing.T, flags ...string) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	up := newUpCommand()
	up.SetContext(ctx)
	_, _, err := execute(up, append([]string{"--no-jobs", "--listen", "127.0.0.1:0"}, flags...)...)
	return err
}

// Who is to listen to a federation that is tried is let in.
func TestUpWritesTheURLForReaders(t *testing.T) {
	server, err := natsbus.StartServer(natsbus.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	f := &upFlags{nats: "127.0.0.1:0", folder: t.TempDir()}
	if err := f.writeTapAccess(server); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(f.folder, tapAccessFile))
	if err != nil {
		t.Fatal(err)
	}
	port, err := natsbus.Dial(strings.TrimSpace(string(text)), nil).OpenTap(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := port.Close(); err != nil {
		t.Error(err)
	}
}
