package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gridbid/gridbid/coordinator/auction"
	"github.com/gridbid/gridbid/internal/net"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/learned"
)

// learnedWeights are the weights by which greensched decides in a replay.
type learnedWeights struct {
	file    string // of --weights; "" is those in the program
	rule    func() auction.ClearingRule
	warning string // why weights were refused
}

// isGreensched reports whether a policy is greensched, whatever its sites know ahead.
func isGreensched(policy string) bool {
	policy, _, _ = strings.Cut(policy, "/")
	return policy == scenarios.PolicyGreensched
}

// readWeightsFor reads the weights, if a policy needs some. Where they are refused, the auction decides
// in place of the net, and a warning says why.
func (w *learnedWeights) readWeightsFor(policies []string) error {
	needed := false
	for _, policy := range policies {
		needed = needed || isGreensched(policy)
	}
	if !needed {
		if w.file != "" {
			return usageError{errors.New("--weights names weights, and no policy needs some: add greensched to --policy")}
		}
		return nil
	}
	f, name, err := weightsOf(w.file)
	switch {
	case errors.As(err, new(usageError)):
		return err
	case err != nil:
		w.warning = fmt.Sprintf("greensched: %s are refused, and the auction decides in its row: %s", name, legibleError(err))
		w.rule = func() auction.ClearingRule { return auction.New(auction.Config{}) }
		return nil
	}
	w.rule = func() auction.ClearingRule { return learned.New(f) }
	return nil
}

// weightsOf returns the weights of a file; of "", those in the program. The name is theirs, for messages.
// That the file cannot be read is a usageError; any other error says why the weights are refused.
func weightsOf(file string) (f net.File, name string, err error) {
	text, name := learned.ShippedBytes(), "weights in the program"
	if file != "" {
		if text, err = readWeights(file); err != nil {
			return f, file, usageError{fmt.Errorf("--weights: %w", err)}
		}
		name = file
	}
	f, err = learned.ParseWeights(text)
	return f, name, err
}

// warnings returns the warnings of a replay with what is to be said of its weights.
func (w *learnedWeights) warnings(all []string) []string {
	if w.warning == "" {
		return all
	}
	return append([]string{w.warning}, all...)
}
