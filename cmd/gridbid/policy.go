package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gridbid/gridbid/bus/membus"
	"github.com/gridbid/gridbid/coordinator/api"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/coordinator/policy"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
	"github.com/gridbid/gridbid/scenarios"
)

// pendingPolicyFolder holds proposed changes until an operator applies them.
const pendingPolicyFolder = ".gridbid/policy"

// newPolicyCommand is `gridbid policy`: operators change the rules of the market in plain
// words, with a preview before the change takes effect.
func newPolicyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "change the rules of the market in plain words",
		Long: `Propose a change in plain words, and check the preview: the change as code words it,
and its effect on a replayed day. Then apply it; from then on it is in force.

  gridbid policy say "prefer hydro sites this weekend, never move EU data" \
    --place EU=hydro-north,wind-coast
  gridbid policy apply p-1f0c2a --by ada
  gridbid policy show`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicySentenceCommand(), newPolicyApplyCommand(), newPolicyApproveCommand(), newPolicyShowCommand())
	return cmd
}

// policySentenceFlags are the flags of `gridbid policy say`.
type policySentenceFlags struct {
	ledger   ledgerSelector
	api      string
	places   []string
	noImpact bool
	outputFlags
}

// newPolicySentenceCommand is `gridbid policy say`: it proposes a change and stores it, and applies
// none.
func newPolicySentenceCommand() *cobra.Command {
	var f policySentenceFlags
	cmd := &cobra.Command{
		Use:   "say SENTENCE",
		Short: "propose a change in plain words and preview its effect",
		Long: `Read a sentence as a change of the policy in force: prefer or avoid sites, forbid
them to tenants or to data of other places, cap the price or carbon of hours or the
power of a site, or remove a rule by its id. A part of the sentence with an unknown
word is left out as a whole, and the command names it.

A site can be named by its name, by a part of it ("hydro" is hydro-north), or by a
place that --place defines. The command prints the change as code words it, and
replays the day of the run with and without it. The proposal is stored for "gridbid
policy apply"; until then nothing changes.`,
		Example: `  gridbid policy say "avoid coal at night"
  gridbid policy say "never move EU data" --place EU=hydro-north,wind-coast
  gridbid policy say "cap hydro-north at 200 kW until friday"
  gridbid policy say "remove R-1" --api 127.0.0.1:7480`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.proposePolicy(cmd, strings.Join(args, " "))
		},
	}
	f.ledger.registerRun(cmd, "folder of a run: its sites and tenants can be named, and its day is replayed")
	fl := cmd.Flags()
	fl.StringVar(&f.api, "api", os.Getenv("GRIDBID_API"), "`ADDRESS` (HOST:PORT) of a live coordinator's API: the change is made against its policy, and its sites can be named; also $GRIDBID_API")
	fl.StringArrayVar(&f.places, "place", nil, "`NAME=SITE,SITE`: a name for several sites; repeatable")
	fl.BoolVar(&f.noImpact, "no-impact", false, "do not replay the day")
	f.registerOutput(cmd)
	return cmd
}

// A policyProposal is a change that waits to be applied, and the output of `gridbid policy
// say --json`, schema version 1.
type policyProposal struct {
	Schema   int           `json:"schema"`
	ID       string        `json:"id"`
	Sentence string        `json:"said"`
	Change   policy.Change `json:"change"`
	Diff     *policy.Diff  `json:"diff"` // Change without the parser's details; null if nothing changes
	Effects  []string      `json:"told"` // one sentence per op, worded by code, with its effect before the colon
	Impact   *policyImpact `json:"impact,omitempty"`
	Why      string        `json:"note,omitempty"` // a caveat on Impact, or why there is none
}

// A policyImpact compares the replayed day of a run with and without a change. Changed counts
// the jobs that ran elsewhere or at another time.
type policyImpact struct {
	Jobs, Changed int
	Was, Now      history.Totals
}

// proposePolicy parses a sentence into a change, previews its effect, stores the proposal and
// prints it. A sentence without any known rule is printed too, then it is a usageError.
func (f *policySentenceFlags) proposePolicy(cmd *cobra.Command, sentence string) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	was, known, err := f.policyContext(ctx, stderr)
	if err != nil {
		return err
	}
	c := policy.ParseSentence(sentence, was, known)
	if err := f.proposeChange(cmd, was, policyProposal{Sentence: sentence, Change: c, Diff: c.AsDiff()}); err != nil {
		return err
	}
	if len(c.Ops) == 0 {
		return usageError{errors.New("the sentence asks for no known kind of rule: `gridbid policy say --help` has examples")}
	}
	return nil
}

// proposeChange previews the effect of a change, stores it as a proposal and prints that.
func (f *policySentenceFlags) proposeChange(cmd *cobra.Command, was protocol.Policy, s policyProposal) error {
	s.Schema, s.Effects = 1, []string{}
	for _, o := range s.Change.Ops {
		s.Effects = append(s.Effects, policy.OpEffect(was, o)+": "+policy.DescribeOp(was, o))
	}
	if len(s.Change.Ops) > 0 {
		if err := ensureWritableFolder(pendingPolicyFolder); err != nil { // checked before the replays, which take minutes
			return err
		}
		if err := f.replayImpact(cmd.Context(), &s, was, cmd.ErrOrStderr()); err != nil {
			return err
		}
		if err := s.saveProposal(); err != nil {
			return err
		}
	}
	return f.printValue(cmd, s, func(out io.Writer) { s.writeProposal(out, f.api) })
}

// policyContext returns the policy in force and the vocabulary of a sentence: sites, tenants,
// places, and the instant from which times such as "tomorrow" count. With --api the policy
// and the clock are the coordinator's, otherwise they are those of the ledger.
func (f *policySentenceFlags) policyContext(ctx context.Context, stderr io.Writer) (was protocol.Policy, k policy.Vocabulary, err error) {
	k.Places = make(map[string][]string)
	sites, tenants := make(map[string]bool), make(map[string]bool)
	if f.api != "" {
		live := apiFlags{api: f.api}
		var all []jobstatus.Site
		if err := live.sendRequest(ctx, http.MethodGet, "/v1/policy", "", nil, &was); err != nil {
			return was, k, err
		}
		if err := live.sendRequest(ctx, http.MethodGet, "/v1/sites", "", nil, &all); err != nil {
			return was, k, err
		}
		for _, s := range all {
			sites[s.Name] = true
		}
		if k.Now = protocol.FromStdTime(live.now); live.now.IsZero() {
			k.Now = protocol.FromStdTime(time.Now())
		}
	}
	// A ledger adds the names of its sites and tenants; without --api it is required, as it holds
	// the policy and the clock.
	if from, err := f.ledger.source(); err == nil {
		log := query.NewDataset(nil) // its span ends where the ledger does, even if the clock of a site is wrong
		err := from.readMessages(nil, stderr, func(m protocol.Message) error {
			switch b := m.Body.(type) {
			case protocol.RegisterSite:
				sites[b.Site] = true
			case protocol.Submit:
				tenants[b.Job.Tenant] = true
			case protocol.Policy:
				if f.api == "" && m.From == protocol.Coordinator {
					was = b
				}
			}
			if f.api == "" {
				log.AddMessage(m)
				_, k.Now = log.TimeSpan()
			}
			return nil
		})
		if err != nil {
			return was, k, err
		}
	} else if f.api == "" {
		return was, k, err
	}
	// Sorted, so that the same input parses the same way whatever the order of the maps.
	for name := range sites {
		k.Sites = append(k.Sites, name)
	}
	for name := range tenants {
		k.Tenants = append(k.Tenants, name)
	}
	slices.Sort(k.Sites)
	slices.Sort(k.Tenants)
	// Places are matched in lower case, as the parser reads sentences.
	for _, p := range f.places {
		name, list, ok := strings.Cut(p, "=")
		all := strings.Split(list, ",")
		for _, s := range all {
			ok = ok && slices.Contains(k.Sites, s)
		}
		if !ok {
			return was, k, usageError{fmt.Errorf("--place %q: want NAME=SITE,SITE of %s", p, format.JoinWithAnd(k.Sites))}
		}
		k.Places[strings.ToLower(name)] = all
	}
	return was, k, nil
}

// replayImpact replays the day of the run with and without the change, and sets s.Impact; or
// s.Why, if the day cannot be replayed.
func (f *policySentenceFlags) replayImpact(ctx context.Context, s *policyProposal, was protocol.Policy, stderr io.Writer) error {
	now, err := policy.ApplyChange(was, s.Change, "impact", "replay", s.Sentence)
	if err != nil {
		s.Why = err.Error()
		return nil
	}
	path, err := f.ledger.ledgerPath()
	if f.noImpact || err != nil {
		s.Why = "--no-impact is set, or there is no run to replay"
		return nil
	}
	sc, rule, err := scenarioOf(path)
	if err != nil {
		s.Why = err.Error()
		return nil
	}
	fmt.Fprintf(stderr, "Replaying %s with the change and without ...\n", sc.Name)
	for i := range now.Rules { // a rule of next weekend has no effect on a past day
		if r := &now.Rules[i]; !slices.ContainsFunc(was.Rules, func(x protocol.Rule) bool { return x.ID == r.ID }) && (r.From != 0 || r.To != 0) {
			r.From, r.To = 0, 0
			s.Why = "rules with a beginning or an end were replayed as if in force all day"
		}
	}
	// Both days are replayed: the run's own result may have been under other rules.
	var res [2]scenarios.ReplayResult
	for i, p := range []protocol.Policy{was, now} {
		if res[i], err = scenarios.Replay(ctx, sc, rule, new(membus.Bus), scenarios.Options{Policy: p, NoBids: true}); err != nil {
			return err
		}
	}
	s.Impact = &policyImpact{Was: res[0].Totals, Now: res[1].Totals}
	// Jobs are those of the scenario, so both replays have the same ids.
	for _, id := range res[0].History.JobIDs() {
		x, _ := res[0].History.LatestJob(id)
		y, _ := res[1].History.LatestJob(id)
		s.Impact.Jobs++
		if (x.Run == nil) != (y.Run == nil) || x.Run != nil && (x.Run.Site != y.Run.Site || x.Run.Started != y.Run.Started) {
			s.Impact.Changed++
		}
	}
	return nil
}

// saveProposal stores the proposal for `gridbid policy apply`, under an id that is a hash of
// its content.
func (s *policyProposal) saveProposal() error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(raw)
	s.ID = "p-" + hex.EncodeToString(sum[:3])
	if raw, err = json.MarshalIndent(s, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(pendingPolicyFolder, s.ID+".json"), append(raw, '\n'), 0o600)
}

// writeProposal prints the preview, and the command that applies the proposal.
func (s policyProposal) writeProposal(out io.Writer, api string) {
	for i, t := range s.Effects {
		fmt.Fprintf(out, "%d  %s\n", i+1, t)
	}
	for _, t := range s.Change.NotUnderstood {
		fmt.Fprintf(out, "not understood and left out: %s\n", format.CleanText(t))
	}
	if i := s.Impact; i != nil {
		change := func(now, was float64) string {
			if was <= 0 { // a change from zero or a negative cost has no percentage
				return fmt.Sprintf("%.2f → %.2f", was, now)
			}
			return fmt.Sprintf("%+.1f %%", 100*(now/was-1))
		}
		fmt.Fprintf(out, "effect on that day: %d of %d jobs run elsewhere or at another time, carbon %s, cost %s, late %d → %d, unplaced %d → %d\n",
			i.Changed, i.Jobs, change(i.Now.CarbonKg, i.Was.CarbonKg), change(i.Now.CostUSD, i.Was.CostUSD), i.Was.Late, i.Now.Late, i.Was.Unplaced, i.Now.Unplaced)
		if s.Why != "" {
			fmt.Fprintf(out, "  (%s)\n", s.Why)
		}
	} else if s.Why != "" {
		fmt.Fprintf(out, "no preview of its effect: %s\n", format.CleanText(s.Why))
	}
	if s.ID == "" {
		return
	}
	// Only a change that loosens a hard rule needs a second person.
	second, where := "", ""
	if slices.ContainsFunc(s.Effects, func(t string) bool { return strings.HasPrefix(t, "loosens") }) {
		second = " --second NAME"
	}
	if api != "" {
		where = " --api " + api
	}
	fmt.Fprintf(out, "nothing has changed yet.   apply: gridbid policy apply %s --by NAME%s%s\n", s.ID, second, where)
}

// newPolicyApplyCommand is `gridbid policy apply`: it sends a stored proposal to a coordinator.
func newPolicyApplyCommand() *cobra.Command {
	var f apiFlags
	var by, second string
	cmd := &cobra.Command{
		Use:   "apply p-ID",
		Short: "apply a proposed change at a live coordinator",
		Long: `Apply a change that "gridbid policy say" proposed, through the API of a live
coordinator. The coordinator refuses it if the policy has changed since the proposal.
Removing or changing a hard rule needs a second person, and must be proposed alone.

The ledger records each policy in force with its sentence and the people who
confirmed it. A coordinator with credentials requires yours, in $GRIDBID_TOKEN; a
change that loosens a rule then waits until another person approves it by "gridbid
policy second" with a credential of their own. A coordinator without credentials serves
its own machine only, and does not verify the names that it is given.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// The id becomes a file name, so it must not lead out of the folder.
			if !strings.HasPrefix(args[0], "p-") || strings.ContainsAny(args[0], `/\.`) {
				return usageError{fmt.Errorf("policy: %q is no id of a proposal: want the p-ID that `gridbid policy say` printed", args[0])}
			}
			raw, err := os.ReadFile(filepath.Join(pendingPolicyFolder, args[0]+".json"))
			if err != nil {
				return usageError{fmt.Errorf("policy: %w: propose the change first with `gridbid policy say`", err)}
			}
			var s policyProposal
			if err := json.Unmarshal(raw, &s); err != nil {
				return usageError{fmt.Errorf("policy: %s: %w", args[0], err)}
			}
			body, err := json.Marshal(api.PolicyRequest{Change: s.Change, Sentence: s.Sentence, By: by, Second: second})
			if err != nil {
				return err
			}
			return confirmPolicy(cmd, &f, "/v1/policy", body)
		},
	}
	f.registerFlags(cmd, false)
	cmd.Flags().StringVar(&by, "by", "", "`NAME` of the operator; not needed with a token")
	cmd.Flags().StringVar(&second, "second", "", "`NAME` of the second person, for a change that loosens a hard rule; not needed with tokens")
	return cmd
}

// newPolicyShowCommand is `gridbid policy show`: it prints the policy in force.
func newPolicyShowCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "show the policy in force at a live coordinator",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := fetchStatus(&f, cmd, "/v1/policy", func(v *jobstatus.View, _ protocol.Time) (protocol.Policy, error) { return v.PolicyInForce(), nil })
			if err != nil {
				return fmt.Errorf("policy: %w", err)
			}
			return f.printValue(cmd, p, func(out io.Writer) { showPolicy(out, p, f) })
		},
	}
	f.registerFlags(cmd, false)
	f.registerRecord(cmd)
	return cmd
}

// showPolicy prints the policy in force, and marks rules that have ended by the
// coordinator's clock.
func showPolicy(out io.Writer, p protocol.Policy, f apiFlags) {
	if p.Version == 0 {
		fmt.Fprintln(out, "no policy is in force")
		return
	}
	// Names are external text. Without tokens they are claims, which the output says.
	by := format.CleanText(p.By)
	if p.Second != "" {
		by += " and " + format.CleanText(p.Second)
	}
	how := "names not verified"
	if p.Proved {
		how = "verified by tokens"
	}
	fmt.Fprintf(out, "version %d, by %s (%s)\n", p.Version, by, how)
	for _, r := range p.Rules {
		over := ""
		if r.To != 0 && !f.now.IsZero() && r.To <= protocol.FromStdTime(f.now) {
			over = " (over)"
		}
		fmt.Fprintf(out, "%-5s %s%s\n", format.CleanText(r.ID), policy.DescribeOp(p, policy.Op{Op: "add", Rule: &r}), over)
	}
	for _, q := range p.Quotas {
		fmt.Fprintf(out, "quota %s\n", quota.Describe(q))
	}
	for _, c := range p.Classes {
		fmt.Fprintf(out, "class %s\n", policy.DescribeClass(c))
	}
}
