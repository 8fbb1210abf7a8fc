package adversary

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/coordinator/leader"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/llm/faultyserver"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/report"
)

// A lockedLog is a log buffer for concurrent writers.
type lockedLog struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (s *lockedLog) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

// inspectCoordinatorLogs runs a real coordinator over a NATS server with its process's logging: with
// jobs and rejections that contain the hostile text, and a model that echoes its key
// and prompt. Then it checks every logged line.
func (s *attackFindings) inspectCoordinatorLogs(ctx context.Context, text string) error {
	for _, form := range []string{"text", "json"} {
		out := new(lockedLog)
		log, err := daemon.NewLogger(out, "debug", form)
		if err != nil {
			return err
		}
		if err := runCoordinator(ctx, log, text); err != nil {
			return err
		}
		log.Error("ended", "err", errors.New("what failed: "+text)) // as main logs its error at the end
		lines := strings.Split(strings.TrimSpace(out.all.String()), "\n")
		for i, line := range lines {
			s.inspectText(surfaceLog, line)
			// The last line is main's own error, which contains the text on purpose.
			if i < len(lines)-1 && containsHostileText(line, text) {
				s.addFinding(surfaceLog, "it holds the text")
			}
		}
		if len(lines) < 3 {
			s.addFinding(surfaceLog, "only %d lines were logged, so nothing was shown", len(lines))
		}
	}
	return nil
}

// runCoordinator runs a coordinator until it has decided about the hostile jobs.
func runCoordinator(ctx context.Context, log *slog.Logger, text string) error {
	folder, err := os.MkdirTemp("", "gridbid-attack")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	server, err := natsbus.StartServer(natsbus.Config{Store: filepath.Join(folder, "nats")})
	if err != nil {
		return err
	}
	defer server.Close()
	server.Log = log
	echoes, err := faultyserver.StartServer(echoRequest)
	if err != nil {
		return err
	}
	defer echoes.Close()
	model, err := llm.OpenModel(llm.Config{URL: echoes.BaseURL(), Model: "m", Key: modelKey})
	if err != nil {
		return err
	}
	judge, clock := advisor.NewJudge(model, time.Now).LogTo(log), bus.Clock{}
	var done sync.WaitGroup
	// Deferred so that ctx ends first, and the goroutines have ended before servers and folder go.
	defer done.Wait()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	// shown has a token for each decision; more than two are not read.
	shown, front := make(chan struct{}, 64), api.New()
	done.Go(func() {
		_ = leader.RunWhenElected(ctx, leader.Config{
			Bus: &server.Bus, Clock: clock, API: front, Log: log, Market: askingMarketConfig(),
			Rule: func() auction.ClearingRule { return auction.New(auction.Config{Steps: 4}) },
			Judge: func(ctx context.Context, port bus.Conn, life uint32) error {
				return judge.ServeRequests(ctx, port, clock, life)
			},
			OnSent: func(_, said []protocol.Message) {
				for _, m := range said {
					switch m.Body.(type) {
					case protocol.Award, protocol.Reject: // a name may be too long for a job id
						select {
						case shown <- struct{}{}:
						default:
						}
					}
				}
			},
		})
	})
	for !front.IsLeading() { // messages sent before that are lost
		select {
		case <-ctx.Done():
			return errors.New("adversary: the coordinator was not elected within two minutes")
		case <-time.After(5 * time.Millisecond):
		}
	}
	for who, machine := range tradingParties(text) {
		port := bus.NewReconnectingConn(ctx, server, who, log)
		done.Go(func() { _ = bus.RunMachine(ctx, port, machine) }) // ends with ctx
	}
	for range 2 {
		select {
		case <-shown:
		case <-ctx.Done():
			return errors.New("adversary: the coordinator decided none of the hostile jobs within two minutes")
		}
	}
	return nil
}

// inspectReport writes the report of a replay whose scenario, sites, policies and notes are
// named by the hostile text, and checks all its files.
func (s *attackFindings) inspectReport(text string) {
	folder, err := os.MkdirTemp("", "gridbid-attack")
	if err != nil {
		s.addFinding(surfaceReport, "%v", err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	day := report.ReplayReport{Scenario: text, About: text, Start: startTime, End: startTime.Add(24 * time.Hour), Notes: []string{text}}
	for i := range 3 {
		// Zero-width spaces make the names differ without changing what is seen.
		name := text + strings.Repeat("\u200b", i)
		day.Sites = append(day.Sites, report.SiteSignals{Name: name, GPUs: 8000, Price: []protocol.Microdollars{50_000, 60_000}, Carbon: []protocol.Milligrams{300_000, 200_000}})
		p := report.PolicyRun{Busy: [][]protocol.Milli{{1000, 2000}, {0, 0}, {500, 500}}}
		p.Totals.Policy, p.Totals.Scenario, p.Totals.Jobs, p.Totals.CostUSD = name, text, 10+i, float64(i+1)
		day.Policies = append(day.Policies, p)
	}
	if _, err := report.WriteReport(folder, day); err != nil {
		s.addFinding(surfaceReport, "%v", err)
		return
	}
	_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		// Pixels hold no text to search.
		if err != nil || d.IsDir() || filepath.Ext(path) == ".png" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			s.addFinding(surfaceReport, "%v", err)
			return nil
		}
		s.inspectText(surfaceReport, string(raw))
		if filepath.Ext(path) != ".txt" { // text files need no escaping
			s.checkMarkup(surfaceReport, string(raw))
		}
		return nil
	})
}
