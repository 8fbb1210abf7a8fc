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

// A scroll is a log that several write.
type scroll struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (s *scroll) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(p)
}

// logs runs a coordinator for real, over a NATS server, as its process logs it:
// jobs and refusals with the hostile text in them, beside a model that echoes its
// key and its prompt. Then it reads every line that was logged.
func (s *sights) logs(ctx context.Context, text string) error {
	for _, form := range []string{"text", "json"} {
		out := new(scroll)
		log, err := daemon.Logger(out, "debug", form)
		if err != nil {
			return err
		}
		if err := led(ctx, log, text); err != nil {
			return err
		}
		log.Error("ended", "err", errors.New("what failed: "+text)) // as a main ends
		lines := strings.Split(strings.TrimSpace(out.all.String()), "\n")
		for i, line := range lines {
			s.look(onLog, line)
			if i < len(lines)-1 && holds(line, text) {
				s.complain(onLog, "it holds the text")
			}
		}
		if len(lines) < 3 {
			s.complain(onLog, "only %d lines were logged, so nothing was shown", len(lines))
		}
	}
	return nil
}

// led leads a market until the hostile jobs are on its books.
func led(ctx context.Context, log *slog.Logger, text string) error {
	folder, err := os.MkdirTemp("", "gridbid-attack")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	server, err := natsbus.Serve(natsbus.Config{Store: filepath.Join(folder, "nats")})
	if err != nil {
		return err
	}
	defer server.Close()
	server.Log = log
	echoes, err := faultyserver.Start(echo)
	if err != nil {
		return err
	}
	defer echoes.Close()
	model, err := llm.Open(llm.Config{URL: echoes.URL(), Model: "m", Key: secret})
	if err != nil {
		return err
	}
	judge, clock := advisor.NewJudge(model, time.Now).Log(log), bus.Clock{}
	var done sync.WaitGroup
	defer done.Wait()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	shown, front := make(chan struct{}, 64), api.New()
	done.Go(func() {
		_ = leader.Run(ctx, leader.Config{
			Hub: &server.Hub, Clock: clock, Desk: front, Log: log, Market: asking(),
			Rule: func() auction.Rule { return auction.New(auction.Config{Steps: 4}) },
			Judge: func(ctx context.Context, port bus.Port, life uint32) error {
				return judge.Serve(ctx, port, clock, life)
			},
			Told: func(_, said []protocol.Message) {
				for _, m := range said {
					switch m.Body.(type) {
					case protocol.Award, protocol.Refuse: // a name may be too long to be one
						select {
						case shown <- struct{}{}:
						default:
						}
					}
				}
			},
		})
	})
	for !front.Leading() { // what is said before is heard by nobody
		select {
		case <-ctx.Done():
			return errors.New("attack: a coordinator did not lead in two minutes")
		case <-time.After(5 * time.Millisecond):
		}
	}
	for who, machine := range traders(text) {
		port := bus.Lasting(ctx, server, who, log)
		done.Go(func() { _ = bus.Live(ctx, port, machine) }) // it ends with ctx
	}
	for range 2 {
		select {
		case <-shown:
		case <-ctx.Done():
			return errors.New("attack: a coordinator beside a hostile submitter decided nothing in two minutes")
		}
	}
	return nil
}

// report writes the page of a replay whose scenario, sites, policies and notes
// are named by the hostile text, and looks at all its files.
func (s *sights) report(text string) {
	folder, err := os.MkdirTemp("", "gridbid-attack")
	if err != nil {
		s.complain(onReport, "%v", err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	day := report.Day{Scenario: text, About: text, Start: start, End: start.Add(24 * time.Hour), Notes: []string{text}}
	for i := range 3 {
		name := text + strings.Repeat("\u200b", i)
		day.Sites = append(day.Sites, report.Site{Name: name, GPUs: 8000, Price: []protocol.Microdollars{50_000, 60_000}, Carbon: []protocol.Milligrams{300_000, 200_000}})
		p := report.Policy{Busy: [][]protocol.Milli{{1000, 2000}, {0, 0}, {500, 500}}}
		p.Totals.Policy, p.Totals.Scenario, p.Totals.Jobs, p.Totals.CostUSD = name, text, 10+i, float64(i+1)
		day.Policies = append(day.Policies, p)
	}
	if _, err := report.Write(folder, day); err != nil {
		s.complain(onReport, "%v", err)
		return
	}
	_ = filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".png" {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			s.complain(onReport, "%v", err)
			return nil
		}
		s.look(onReport, string(raw))
		if filepath.Ext(path) != ".txt" { // there it is text
			s.markup(onReport, string(raw))
		}
		return nil
	})
}
