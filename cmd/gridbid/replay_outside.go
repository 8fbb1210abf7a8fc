package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/lab/seat"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

// outsidePolicies are the learners of a replay: the programs that decide under its outside policies.
type outsidePolicies struct {
	command  string                   // of --outside
	learners map[string]*seat.Learner // by policy
}

// nameOutside gives the outside policies among the names of a replay the name of their program, so that
// a table says whose row it is.
func (f *outsidePolicies) nameOutside(policies []string) error {
	any := false
	for i, policy := range policies {
		program, outside := scenarios.IsOutside(policy)
		if !outside {
			continue
		}
		any = true
		if f.command == "" {
			return usageError{fmt.Errorf("--policy %s: name the program that decides with --outside CMD", policy)}
		}
		if program == "" {
			_, signals, named := strings.Cut(policy, "/")
			policies[i] = scenarios.PolicyOutside + ":" + programName(f.command)
			if named {
				policies[i] += "/" + signals
			}
		}
	}
	if !any && f.command != "" {
		return usageError{errors.New("--outside names a program, and no policy needs one: add outside to --policy")}
	}
	return nil
}

// programName returns a name for the program of a command line: that of the first word after the
// program that is no flag, as in "python3 -u my.py", or of the program. Its folder and its ending are
// left out, and so is what a file name should not hold.
func programName(command string) string {
	words := strings.Fields(command)
	file := "program"
	for i, word := range words {
		if i == 0 || !strings.HasPrefix(word, "-") {
			file = word
		}
		if i > 0 && !strings.HasPrefix(word, "-") {
			break
		}
	}
	base := filepath.Base(strings.Trim(file, `'"`))
	if stem := strings.TrimSuffix(base, filepath.Ext(base)); stem != "" {
		base = stem
	}
	name := strings.Map(func(r rune) rune {
		if _, ok := scenarios.IsOutside(scenarios.PolicyOutside + ":" + string(r)); ok {
			return r
		}
		return -1
	}, base)
	if len(name) > scenarios.MaxProgramName {
		name = name[:scenarios.MaxProgramName]
	}
	if name == "" {
		return "program"
	}
	return name
}

// startLearners starts a program for each outside policy of a day, and waits until all have taken their
// seats.
func (f *outsidePolicies) startLearners(ctx context.Context, s spec.Scenario, policies []string) error {
	f.learners = make(map[string]*seat.Learner)
	for _, policy := range policies {
		program, outside := scenarios.IsOutside(policy)
		if !outside {
			continue
		}
		l, err := seat.StartLearner(ctx, s, program, f.command, buildVersion())
		if err != nil {
			return usageError{fmt.Errorf("--outside: %w", err)}
		}
		f.learners[policy] = l
	}
	return nil
}

// closeLearners ends the programs that still run.
func (f *outsidePolicies) closeLearners(ctx context.Context) {
	for _, l := range f.learners {
		l.Close(ctx, nil)
	}
	f.learners = nil
}

// judged adds how the program of a policy answered to its figures, ends the program, and prints it. It
// does nothing under other policies.
func (f *outsidePolicies) judged(ctx context.Context, policy string, t *history.Totals, notes, stderr io.Writer) {
	l := f.learners[policy]
	if l == nil {
		return
	}
	delete(f.learners, policy)
	l.Close(ctx, t)
	r := l.Record()
	t.LateAnswers = r.Late
	if r.Late > 0 || r.Refused > 0 {
		fmt.Fprintf(stderr, "  warning: %s: %s\n", policy, r)
		return
	}
	fmt.Fprintf(notes, "  %s: %s\n", policy, r)
}
