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
	"github.com/gridbid/gridbid/explain/format"
	"github.com/gridbid/gridbid/explain/query"
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
)

// pendingPolicyFolder is where what was said waits for somebody to confirm it.
const pendingPolicyFolder = ".gridbid/policy"

// newPolicyCommand is `gridbid policy`: what operators want, in words.
func newPolicyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "say in words what the market is to prefer or to forbid",
		Long: `Say a wish in words; read what it would change, told back by code, and what it
would have done on a day; then confirm it, and it is in force.

  gridbid policy say "prefer hydro sites this weekend, never move EU data" --place EU=lyon,oslo
  gridbid policy apply p-1f0c2a --by ada
  gridbid policy show`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicySentenceCommand(), newPolicyApplyCommand(), newPolicyApproveCommand(), newPolicyPersonCommand(), newPolicyShowCommand())
	return cmd
}

// policySentenceFlags is what `gridbid policy say` was told.
type policySentenceFlags struct {
	ledger   ledgerSelector
	at       string
	places   []string
	noImpact bool
	asJSON   bool
}

func newPolicySentenceCommand() *cobra.Command {
	var f policySentenceFlags
	cmd := &cobra.Command{
		Use:   "say SENTENCE",
		Short: "read a wish in words, and say what it would do; nothing changes",
		Long: `Read a sentence as a change of the policy in force: prefer or avoid sites, forbid
them to tenants or to data of other places, cap the price or carbon of hours or
the power of a site, or remove a rule by its id. A part with one word that is not known is not understood
as a whole, and is named.

Sites are named by their names, by a part of one ("hydro" is hydro-north), or by
a place that --place gives. The change is told back in words that code wrote, and
the day of the run is replayed with it and without. It is kept for "gridbid
policy apply"; until then nothing changes.`,
		Example: `  gridbid policy say "avoid coal at night"
  gridbid policy say "never move EU data" --place EU=hydro-north,wind-coast
  gridbid policy say "cap hydro-north at 200 kW until friday"
  gridbid policy say "remove R-1" --at 127.0.0.1:7480`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.proposePolicy(cmd.Context(), strings.Join(args, " "), cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("policy: %w", err)
			}
			return nil
		},
	}
	f.ledger.registerFlags(cmd, "folder of a run, whose sites and tenants may be named, and whose day is replayed")
	fl := cmd.Flags()
	fl.StringVar(&f.at, "at", os.Getenv("GRIDBID_DESK"), "`ADDRESS` of a live coordinator's desk: the change is made against its policy, and its sites may be named; also $GRIDBID_DESK")
	fl.StringArrayVar(&f.places, "place", nil, "`NAME=SITE,SITE` that may be named; again for more")
	fl.BoolVar(&f.noImpact, "no-impact", false, "do not replay the day")
	fl.BoolVar(&f.asJSON, "json", false, "write the change as JSON: docs/policy.md")
	return cmd
}

// A policyProposal is a wish that waits, and `gridbid policy say --json`, schema version 1.
type policyProposal struct {
	Schema   int           `json:"schema"`
	ID       string        `json:"id"`
	Sentence string        `json:"said"`
	Change   policy.Change `json:"change"`
	Diff     *policy.Diff  `json:"diff"` // the same in the words of operators; null if nothing changes
	Effects  []string      `json:"told"` // by code, an op each, with its class
	Impact   *policyImpact `json:"impact,omitempty"`
	Why      string        `json:"note,omitempty"` // of the impact, or why there is none
}

// An policyImpact is the day of a run under a change, against the day without it.
type policyImpact struct {
	Jobs, Changed int
	Was, Now      history.Totals
}

func (f *policySentenceFlags) proposePolicy(ctx context.Context, sentence string, out, talk io.Writer) error {
	was, known, err := f.policyContext(ctx, talk)
	if err != nil {
		return err
	}
	s := policyProposal{Schema: 1, Sentence: sentence, Change: policy.ParseSentence(sentence, was, known), Effects: []string{}}
	s.Diff = s.Change.AsDiff()
	for _, o := range s.Change.Ops {
		s.Effects = append(s.Effects, policy.OpEffect(was, o)+": "+policy.DescribeOp(was, o))
	}
	if len(s.Change.Ops) > 0 {
		if err := ensureWritableFolder(pendingPolicyFolder); err != nil { // before the day is replayed twice
			return err
		}
		if err := f.replayImpact(ctx, &s, was, talk); err != nil {
			return err
		}
		if err := s.saveProposal(); err != nil {
			return err
		}
	}
	if f.asJSON {
		err = writeJSON(out, s)
	} else {
		err = writeBuffered(out, func(out io.Writer) { s.writeProposal(out, f.at) })
	}
	if err == nil && len(s.Change.Ops) == 0 {
		return usageError{errors.New("no rule that there is was asked for; `gridbid policy say --help` has examples")}
	}
	return err
}

// policyContext returns the policy in force and what may be named.
func (f *policySentenceFlags) policyContext(ctx context.Context, talk io.Writer) (was protocol.Policy, k policy.Vocabulary, err error) {
	k.Places = make(map[string][]string)
	sites, tenants := make(map[string]bool), make(map[string]bool)
	if f.at != "" {
		live := apiFlags{at: f.at}
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
	if path, err := f.ledger.ledgerPath(); err == nil {
		log := query.New(nil) // it knows when the record ends, whatever the clocks of sites say
		err := readLedger(path, nil, talk, func(m protocol.Message) error {
			switch b := m.Body.(type) {
			case protocol.RegisterSite:
				sites[b.Site] = true
			case protocol.Submit:
				tenants[b.Job.Tenant] = true
			case protocol.Policy:
				if f.at == "" && m.From == protocol.Coordinator {
					was = b
				}
			}
			if f.at == "" {
				log.Add(m)
				_, k.Now = log.Span()
			}
			return nil
		})
		if err != nil {
			return was, k, err
		}
	} else if f.at == "" {
		return was, k, err
	}
	for name := range sites {
		k.Sites = append(k.Sites, name)
	}
	for name := range tenants {
		k.Tenants = append(k.Tenants, name)
	}
	slices.Sort(k.Sites)
	slices.Sort(k.Tenants)
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

// replayImpact replays the day of the run under the change and without.
func (f *policySentenceFlags) replayImpact(ctx context.Context, s *policyProposal, was protocol.Policy, talk io.Writer) error {
	now, err := policy.ApplyChange(was, s.Change, "impact", "replay", s.Sentence)
	if err != nil {
		s.Why = err.Error()
		return nil
	}
	path, err := f.ledger.ledgerPath()
	if f.noImpact || err != nil {
		s.Why = "it was not asked for, or there is no run to replay"
		return nil
	}
	sc, rule, err := scenarioOf(path)
	if err != nil {
		s.Why = err.Error()
		return nil
	}
	fmt.Fprintf(talk, "Replaying %s with the change and without ...\n", sc.Name)
	for i := range now.Rules { // a rule of next weekend would do nothing to a day that is past
		if r := &now.Rules[i]; !slices.ContainsFunc(was.Rules, func(x protocol.Rule) bool { return x.ID == r.ID }) && (r.From != 0 || r.To != 0) {
			r.From, r.To = 0, 0
			s.Why = "rules with a beginning or an end were replayed as if in force all that time"
		}
	}
	var res [2]scenarios.ReplayResult
	for i, p := range []protocol.Policy{was, now} {
		if res[i], err = scenarios.Replay(ctx, sc, rule, new(membus.Bus), scenarios.Options{Policy: p}); err != nil {
			return err
		}
	}
	s.Impact = &policyImpact{Was: res[0].Totals, Now: res[1].Totals}
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

// saveProposal writes the wish where apply finds it.
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

func (s policyProposal) writeProposal(out io.Writer, at string) {
	for i, t := range s.Effects {
		fmt.Fprintf(out, "%d  %s\n", i+1, t)
	}
	for _, t := range s.Change.NotUnderstood {
		fmt.Fprintf(out, "not understood, and left out: %s\n", format.CleanText(t))
	}
	if i := s.Impact; i != nil {
		change := func(now, was float64) string {
			if was <= 0 { // of nothing, or of a cost below it, there are no parts
				return fmt.Sprintf("%.2f → %.2f", was, now)
			}
			return fmt.Sprintf("%+.1f %%", 100*(now/was-1))
		}
		fmt.Fprintf(out, "that day again: %d of %d jobs run elsewhere or at another time, carbon %s, cost %s, late %d → %d, without a site %d → %d\n",
			i.Changed, i.Jobs, change(i.Now.CarbonKg, i.Was.CarbonKg), change(i.Now.CostUSD, i.Was.CostUSD), i.Was.Late, i.Now.Late, i.Was.Unplaced, i.Now.Unplaced)
		if s.Why != "" {
			fmt.Fprintf(out, "  (%s)\n", s.Why)
		}
	} else if s.Why != "" {
		fmt.Fprintf(out, "what it would have done is not told: %s\n", format.CleanText(s.Why))
	}
	if s.ID == "" {
		return
	}
	second, where := "", ""
	if slices.ContainsFunc(s.Effects, func(t string) bool { return strings.HasPrefix(t, "loosens") }) {
		second = " --second NAME"
	}
	if at != "" {
		where = " --at " + at
	}
	fmt.Fprintf(out, "nothing has changed yet.   apply: gridbid policy apply %s --by NAME%s%s\n", s.ID, second, where)
}

func newPolicyApplyCommand() *cobra.Command {
	var f apiFlags
	var by, second string
	cmd := &cobra.Command{
		Use:   "apply p-ID",
		Short: "put a wish that was said in force at a live coordinator",
		Long: `Confirm a change that "gridbid policy say" told back, at the desk of a live
coordinator. It is void if another policy came into force since. Removing or
changing a hard rule takes a second person, and stands alone.

What is in force is an entry of the ledger, with the words and who confirmed
them. A coordinator with people_file asks for your token, in $GRIDBID_TOKEN; then
a loosening waits until another person says "gridbid policy second" with his own.
One without serves its own machine alone, and believes the names it is given.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !strings.HasPrefix(args[0], "p-") || strings.ContainsAny(args[0], `/\.`) {
				return usageError{fmt.Errorf("policy: %q: want the id that `gridbid policy say` printed", args[0])}
			}
			raw, err := os.ReadFile(filepath.Join(pendingPolicyFolder, args[0]+".json"))
			if err != nil {
				return usageError{fmt.Errorf("policy: %w: say it first with `gridbid policy say`", err)}
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
	cmd.Flags().StringVar(&by, "by", "", "who confirms it; a token tells by itself")
	cmd.Flags().StringVar(&second, "second", "", "who agrees, where a hard rule is loosened and no tokens are asked for")
	return cmd
}

func newPolicyShowCommand() *cobra.Command {
	var f apiFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "show the policy in force at a live coordinator",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var p protocol.Policy
			if err := f.sendRequest(cmd.Context(), http.MethodGet, "/v1/policy", "", nil, &p); err != nil {
				return fmt.Errorf("policy: %w", err)
			}
			return showPolicy(cmd.OutOrStdout(), p, f)
		},
	}
	f.registerFlags(cmd, false)
	return cmd
}

func showPolicy(out io.Writer, p protocol.Policy, f apiFlags) error {
	if f.json {
		return writeJSON(out, p)
	}
	if p.Version == 0 {
		_, err := fmt.Fprintln(out, "no policy is in force")
		return err
	}
	by := format.CleanText(p.By)
	if p.Second != "" {
		by += " and " + format.CleanText(p.Second)
	}
	how := "names as given; nobody checked them"
	if p.Proved {
		how = "by tokens of their own"
	}
	if _, err := fmt.Fprintf(out, "version %d, by %s (%s)\n", p.Version, by, how); err != nil {
		return err
	}
	for _, r := range p.Rules {
		over := ""
		if r.To != 0 && !f.now.IsZero() && r.To <= protocol.FromStdTime(f.now) {
			over = " (over)"
		}
		if _, err := fmt.Fprintf(out, "%-5s %s%s\n", format.CleanText(r.ID), policy.DescribeOp(p, policy.Op{Op: "add", Rule: &r}), over); err != nil {
			return err
		}
	}
	return nil
}
