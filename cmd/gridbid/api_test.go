package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/history"
)

// serveAPI serves answers of a coordinator's API and returns its address.
func serveAPI(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// Control characters in a site's notes do not reach the operator's terminal.
func TestWhatSitesSayMovesNoCursor(t *testing.T) {
	at := serveAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"train-7","state":"done","why":"a\u001b]52;c;bHM=\u0007b","note":"c\u009b2Jd\nXe","failed":"f\u202eg"}`)
	})
	for _, args := range [][]string{{"train-7"}, {"train-7", "--json"}} {
		out, _, err := execute(newJobCommand(), append(args, "--api", at)...)
		if err != nil || !strings.Contains(out, "train-7") || strings.ContainsAny(out, "\x1b\a\u009b\u202e") || strings.Contains(out, "\nX") {
			t.Errorf("job %v: %v: %q", args, err, out)
		}
	}
}

// A name with tabs stays in its own column.
func TestANameWithTabsStaysInItsColumn(t *testing.T) {
	at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		said := `{"id":"train-7","tenant":"vision\tdone\toslo","state":"pending"}`
		if r.URL.Path == "/v1/jobs" {
			said = "[" + said + "]"
		}
		_, _ = io.WriteString(w, said)
	})
	out, _, err := execute(newJobsCommand(), "--api", at)
	lines := strings.Split(strings.ReplaceAll(out, "·", "."), "\n")
	if err != nil || len(lines) != 3 || strings.Index(lines[1], "pending") != strings.Index(lines[0], "STATE") {
		t.Errorf("jobs: %v:\n%s\nwant the state in its column", err, out)
	}
	if out, _, err := execute(newJobCommand(), "train-7", "--api", at); err != nil || !strings.Contains(out, "vision·done·oslo\n") || !strings.HasPrefix(out, "train-7  ") {
		t.Errorf("job: %v:\n%s", err, out)
	}
}

func TestAWaitingWishIsSecondedWhereItWaits(t *testing.T) {
	at := serveAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `[{"waiting":"w-1","by":"ada"}]`)
	})
	if out, _, err := execute(newPolicyCommand(), "second", "--api", at); err != nil || !strings.Contains(out, "gridbid policy second w-1 --api "+at) {
		t.Errorf("policy second: %v:\n%s", err, out)
	}
}

func TestColumnsStandBelowEachOther(t *testing.T) {
	var out bytes.Buffer
	writeColumns(&out, "JOB\tSTATE", func(row func(string, ...any)) { row("%s\t%s", "train-7", history.Done) })
	if want := fmt.Sprintf("%-9s%s\n%-9s%s\n", "JOB", "STATE", "train-7", history.Done); out.String() != want {
		t.Errorf("columns: %q; want %q", out.String(), want)
	}
}

// A job that was to run somewhere and was refused in the end is nowhere.
func TestSubmitWaitsForWhatIsSoInTheEnd(t *testing.T) {
	at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		said := `{"id":"train-7","state":"refused"}`
		if r.Method == http.MethodPost {
			said = `{"id":"train-7","state":"planned","site":"oslo","why":"held","plan_saves_usd":3}`
		}
		_, _ = io.WriteString(w, said)
	})
	cmd := newSubmitCommand()
	cmd.SetIn(strings.NewReader("id: train-7\ngpus: 1\nrun: 10m\n"))
	out, _, err := execute(cmd, "-f", "-", "--wait", "--json", "--api", at)
	if err == nil || strings.Contains(out, "oslo") || strings.Contains(out, "held") || strings.Contains(out, "plan_saves_usd") {
		t.Errorf("submit --wait: %v:\n%s\nwant what was said last alone", err, out)
	}
}

func TestAnAnswerOfAnotherServerIsAnError(t *testing.T) {
	at := serveAPI(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>welcome</html>") })
	if _, _, err := execute(newSitesCommand(), "--api", at); err == nil || !strings.Contains(err.Error(), "not in the form of a coordinator's API") {
		t.Errorf("sites of some web server: %v", err)
	}
}

// An operator who pastes the URL of the page gets an error that names the form of the flag.
func TestTheAPIAddressHasNoPlainScheme(t *testing.T) {
	at := serveAPI(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") })
	if _, _, err := execute(newSitesCommand(), "--api", "http://"+at); !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), "want HOST:PORT") {
		t.Errorf("the API by its URL: %v", err)
	}
}

// Watching ends well by ctrl-C, whether it waits or asks just then.
func TestWatchingEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	at := serveAPI(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	cmd := newSitesCommand()
	cmd.SetContext(ctx)
	if _, _, err := execute(cmd, "--watch", "--api", at); err != nil {
		t.Errorf("sites --watch, ended while it asks: %v", err)
	}
	for _, every := range []string{"0s", "-1s"} {
		if _, _, err := execute(newSitesCommand(), "--watch", "--every", every, "--api", at); !errors.As(err, new(usageError)) {
			t.Errorf("sites --watch --every %s: %v; want bad input", every, err)
		}
	}
}

// Jobs that were submitted before an error are printed.
func TestSubmitPrintsJobsSubmittedBeforeAnError(t *testing.T) {
	taken := 0
	at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if taken++; taken > 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":"no answer in time"}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"id":%q,"state":"pending"}`, r.FormValue("id"))
	})
	file := filepath.Join(t.TempDir(), "job.yaml")
	if err := os.WriteFile(file, []byte("gpus: 1\nrun: 10m\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, stderr, err := execute(newSubmitCommand(), "-f", file, "-f", file, "--json", "--api", at)
	if err == nil || !strings.Contains(stderr, "--id job-") || !strings.Contains(out, `"id": "job-`) {
		t.Errorf("submit of two, of which one is taken: %v, %s:\n%s", err, stderr, out)
	}
}

// Also after ctrl-C: a user who does not know the id would submit the job twice.
func TestSubmitPrintsSubmittedJobsWhenInterrupted(t *testing.T) {
	for text, want := range map[string]string{
		"gpus: 1\nrun: 10m\n":              "--id job-",       // its answer does not come
		"id: train-7\ngpus: 1\nrun: 10m\n": `"id": "train-7"`, // its end does not come
	} {
		ctx, cancel := context.WithCancel(t.Context())
		at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.FormValue("id") == "" {
				_, _ = io.WriteString(w, `{"id":"train-7","state":"pending"}`)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			cancel()
			<-r.Context().Done()
		})
		cmd := newSubmitCommand()
		cmd.SetContext(ctx)
		cmd.SetIn(strings.NewReader(text))
		out, stderr, err := execute(cmd, "-f", "-", "--wait", "--json", "--api", at)
		if !errors.Is(err, context.Canceled) || !strings.Contains(out+stderr, want) {
			t.Errorf("submit of %q, given up: %v: %s%s; want %s", text, err, out, stderr, want)
		}
	}
}

// A script that waits for a job needs an exit code: a job that ran and failed ends the wait
// with an error.
func TestSubmitWaitFailsForAFailedJob(t *testing.T) {
	for said, want := range map[string]string{
		`{"id":"train-7","state":"failed","site":"oslo","failed":"exit code 137"}`:                    "failed: exit code 137",
		`{"id":"train-7","state":"done","site":"oslo","why":"least-cost"}`:                            "done",
		`{"id":"train-7","state":"cancelled","site":"oslo","why":"cancelled","note":"asked to stop"}`: "cancelled",
		`{"id":"train-7","state":"refused","why":"no-feasible-site","note":"no site has 8 GPUs"}`:     "no-feasible-site no site has 8 GPUs",
	} {
		at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && r.URL.Path == "/v1/jobs" {
				_, _ = io.WriteString(w, "["+said+"]")
				return
			}
			_, _ = io.WriteString(w, said)
		})
		submit := newSubmitCommand()
		submit.SetIn(strings.NewReader("id: train-7\ngpus: 1\nrun: 10m\n"))
		for _, cmd := range []*cobra.Command{submit, newJobsCommand()} {
			args := []string{"--api", at}
			if cmd == submit {
				args = append(args, "-f", "-", "--wait")
			}
			out, _, err := execute(cmd, args...)
			ill := cmd == submit && want != "done"
			if (err != nil) != ill || ill && !strings.Contains(err.Error(), "train-7") {
				t.Errorf("%s of %s ends with %v", cmd.Name(), said, err)
			}
			if !strings.Contains(out, want) || cmd == submit && strings.Contains(out, "least-cost") {
				t.Errorf("%s of %s: %v:\n%s", cmd.Name(), said, err, out)
			}
		}
	}
}

// Who waits for a job waits for the coordinator that takes over, too.
func TestSubmitWaitsForAnotherCoordinator(t *testing.T) {
	asked := 0
	at := serveAPI(t, func(w http.ResponseWriter, r *http.Request) {
		switch asked++; {
		case r.Method == http.MethodPost:
			_, _ = io.WriteString(w, `{"id":"train-7","state":"pending"}`)
		case asked < 4:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"error":"this coordinator stands by"}`)
		default:
			_, _ = io.WriteString(w, `{"id":"train-7","state":"done","site":"oslo"}`)
		}
	})
	cmd := newSubmitCommand()
	cmd.SetIn(strings.NewReader("id: train-7\ngpus: 1\nrun: 10m\n"))
	out, stderr, err := execute(cmd, "-f", "-", "--wait", "--api", at)
	if err != nil || !strings.Contains(out, "train-7  done oslo") || strings.Count(stderr, "stands by; retrying") != 1 {
		t.Errorf("submit --wait: %v:\n%s%s", err, out, stderr)
	}
}
