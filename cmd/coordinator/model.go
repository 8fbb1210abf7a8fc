package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gridbid/gridbid/bus"
	"github.com/gridbid/gridbid/coordinator/advisor"
	"github.com/gridbid/gridbid/coordinator/market"
	"github.com/gridbid/gridbid/internal/daemon"
	"github.com/gridbid/gridbid/llm"
	"github.com/gridbid/gridbid/protocol"
)

// modelConfig names a language model that may choose among bids whose costs are nearly
// equal. Without a URL there is none.
type modelConfig struct {
	URL     string         `yaml:"url"`
	Name    string         `yaml:"name"`
	API     string         `yaml:"api"`
	KeyFile string         `yaml:"key_file"`
	Wait    configDuration `yaml:"wait"`
	Leeway  float64        `yaml:"leeway"`
	Notes   string         `yaml:"notes"`
	Calls   int            `yaml:"calls"`
	Tokens  int            `yaml:"tokens"`
	Tariff  []float64      `yaml:"tariff"` // dollars per million tokens in and out
}

// modelKeyVariable is the environment variable that may hold the model's API key.
const modelKeyVariable = envPrefix + "MODEL_KEY"

// resolvePaths resolves file names relative to the configuration's folder.
func (c modelConfig) resolvePaths(dir string) modelConfig {
	c.KeyFile, c.Notes = daemon.ResolveUnder(dir, c.KeyFile), daemon.ResolveUnder(dir, c.Notes)
	return c
}

// openAdvisor returns how the market asks a model for advice, and a function that runs the
// model's party; nil without a model. Requests that the model does not answer are logged.
func (c modelConfig) openAdvisor(log *slog.Logger) (market.Advice, func(context.Context, bus.Conn, uint32) error, error) {
	if c.URL == "" {
		return market.Advice{}, nil, nil
	}
	if w := time.Duration(c.Wait); w != 0 && (w < time.Millisecond || w > 10*time.Minute) { // the market opens no round while it waits
		return market.Advice{}, nil, fmt.Errorf("model: wait: %v: want 1ms to 10m", w)
	}
	key, err := llm.ReadKey(c.KeyFile, os.Getenv(modelKeyVariable))
	if err != nil {
		return market.Advice{}, nil, fmt.Errorf("model: key_file: %w", err)
	}
	limit := llm.HourlyLimit{Calls: c.Calls, Tokens: c.Tokens}
	if limit.Calls == 0 {
		limit.Calls = 600
	}
	if limit.Tokens == 0 {
		limit.Tokens = 1_000_000
	}
	tariff, err := llm.TariffOf(c.Tariff)
	if err != nil {
		return market.Advice{}, nil, fmt.Errorf("model: tariff: %w", err)
	}
	model, err := llm.OpenModel(llm.Config{API: llm.API(c.API), URL: c.URL, Model: c.Name, Key: key, Hourly: limit, Tariff: tariff})
	if err != nil {
		return market.Advice{}, nil, fmt.Errorf("model: %w", err)
	}
	if c.Leeway == 0 {
		c.Leeway = 1
	}
	a := market.Advice{Ease: protocol.Milli(c.Leeway*10 + 0.5), Budget: time.Duration(c.Wait)}
	if c.Notes != "" {
		f, err := os.Open(filepath.Clean(c.Notes))
		if err != nil {
			return a, nil, fmt.Errorf("model: notes: %w", err)
		}
		defer f.Close()
		if a.Notes, err = advisor.ReadNotes(f, nil); err != nil {
			return a, nil, fmt.Errorf("%s: %w", c.Notes, err)
		}
		if err := advisor.CheckNotesSize(a.Notes); err != nil {
			return a, nil, fmt.Errorf("%s: %w", c.Notes, err)
		}
	}
	judge := advisor.NewJudge(model, time.Now).LogTo(log)
	return a, func(ctx context.Context, conn bus.Conn, incarnation uint32) error {
		defer func() {
			spent := model.TotalSpending()
			log.Info("model spent", "model", c.Name, "calls", spent.Calls, "failed", spent.Failed, "tokens_in", spent.In, "tokens_out", spent.Out, "dollars", float64(spent.Microdollars)/1e6)
		}()
		return judge.ServeRequests(ctx, conn, bus.Clock{}, incarnation)
	}, nil
}
