package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/agents/forecast"
	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// learnedWeights are the weights by which greensched decides in a replay, and those by which sites that
// know ahead what was learned correct their forecasts.
type learnedWeights struct {
	files    []string // of --weights; those in the program stand for what is not named
	rule     func() auction.ClearingRule
	grid     *forecast.Learned
	warnings []string // why weights were refused
}

// shippedWeights names those that no file holds, in messages.
const shippedWeights = "weights in the program"

// isGreensched reports whether a policy is greensched, whatever its sites know ahead.
func isGreensched(policy string) bool {
	policy, _, _ = strings.Cut(policy, "/")
	return policy == scenarios.PolicyGreensched
}

// isForecastLearned reports whether the sites of a policy correct their forecasts by a net.
func isForecastLearned(policy string) bool {
	_, signals, _ := strings.Cut(policy, "/")
	return scenarios.SignalKnowledge(signals) == scenarios.SignalLearned
}

// readWeightsFor reads the weights that policies need. Where they are refused, the auction decides in
// place of the net, or the usual rules forecast, and a warning says why.
func (w *learnedWeights) readWeightsFor(policies []string) error {
	rule, grid := false, false
	for _, policy := range policies {
		rule, grid = rule || isGreensched(policy), grid || isForecastLearned(policy)
	}
	texts := map[string][]byte{learned.Name: learned.ShippedBytes(), forecast.LearnedName: forecast.ShippedBytes()}
	from := map[string]string{learned.Name: shippedWeights, forecast.LearnedName: shippedWeights}
	for _, file := range w.files {
		text, err := readWeights(file)
		if err != nil {
			return usageError{fmt.Errorf("--weights: %w", err)}
		}
		of := weightsAreOf(text)
		switch {
		case from[of] != shippedWeights:
			return usageError{fmt.Errorf("--weights: %s and %s both hold weights of %s: name one", from[of], file, of)}
		case of == learned.Name && !rule:
			return usageError{fmt.Errorf("--weights: no policy needs %s: add greensched to --policy", file)}
		case of == forecast.LearnedName && !grid:
			return usageError{fmt.Errorf("--weights: no policy needs %s: add auction/%s to --policy", file, scenarios.SignalLearned)}
		}
		texts[of], from[of] = text, file
	}
	if rule {
		f, err := learned.ParseWeights(texts[learned.Name])
		w.rule = func() auction.ClearingRule { return learned.New(f) }
		if err != nil {
			w.rule = func() auction.ClearingRule { return auction.New(auction.Config{}) }
			w.refused("greensched", from[learned.Name], "the auction decides in its row", err)
		}
	}
	if grid {
		var err error
		if w.grid, err = forecast.ParseLearned(texts[forecast.LearnedName]); err != nil {
			w.grid = forecast.NoLearned()
			w.refused("forecasts", from[forecast.LearnedName], "the usual rules forecast", err)
		}
	}
	return nil
}

// weightsOf returns the weights of a file; of "", those in the program. The name is theirs, for messages.
// That the file cannot be read is a usageError; any other error says why the weights are refused.
func weightsOf(file string) (f net.File, name string, err error) {
	text, name := learned.ShippedBytes(), shippedWeights
	if file != "" {
		if text, err = readWeights(file); err != nil {
			return f, file, usageError{fmt.Errorf("--weights: %w", err)}
		}
		name = file
	}
	f, err = learned.ParseWeights(text)
	return f, name, err
}

// refused adds the warning that weights were refused, and what is in force in their place.
func (w *learnedWeights) refused(what, from, instead string, err error) {
	w.warnings = append(w.warnings, fmt.Sprintf("%s: %s are refused, and %s: %s", what, from, instead, legibleError(err)))
}

// weightsAreOf returns what a file of weights is for, as its name says: if it says nothing that is
// known, greensched.
func weightsAreOf(text []byte) string {
	var head struct{ Name string }
	if json.Unmarshal(text, &head) == nil && head.Name == forecast.LearnedName {
		return forecast.LearnedName
	}
	return learned.Name
}

// warningsBefore returns the warnings of a replay with what is to be said of its weights.
func (w *learnedWeights) warningsBefore(all []string) []string {
	return append(w.warnings[:len(w.warnings):len(w.warnings)], all...)
}
