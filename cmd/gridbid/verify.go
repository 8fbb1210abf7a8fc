package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/gridbid/gridbid/bus/natsbus/federation"
	"github.com/gridbid/gridbid/bus/wal"
	"github.com/gridbid/gridbid/internal/atomicfile"
	"github.com/gridbid/gridbid/internal/format"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/proof"
	"github.com/gridbid/gridbid/verify"
)

// newVerifyCommand is `gridbid verify`.
func newVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "check the coordinator's log without trusting its coordinator",
		Long: `Check the log that a coordinator keeps of all that its market hears and says
(docs/proof.md). A site or a tenant checks its own part: that what it said and was told is
in the log unaltered, follows the rules in force, and that all sites were shown one log.
An auditor reads the whole record, with all bids, and runs the clearings again.

Exit code 1: something does not agree; each line names its check.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newVerifySite(), newVerifyTenant(), newVerifyRecord(), newVerifyKey())
	return cmd
}

// verifyFlags are the flags of all readers.
type verifyFlags struct {
	logKey    string
	others    []string // SITE=LEDGER
	cosigned  []string // SITE=FILE
	otherKeys []string // SITE=KEY
	majority  bool
}

func (f *verifyFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.logKey, "log-key", "", "`FILE` with the public key of the log (log.pub), or the key itself")
	cmd.Flags().StringArrayVar(&f.others, "other", nil, "`SITE=LEDGER`: what another site holds, file or folder; its heads are compared with yours. Repeatable")
	cmd.Flags().StringArrayVar(&f.cosigned, "cosigned", nil, "`SITE=FILE`: a head that another site cosigned (--cosign) is compared with yours. Repeatable")
	cmd.Flags().StringArrayVar(&f.otherKeys, "other-key", nil, "`SITE=KEY`: the public key of that site, from the site and not from the hub. Repeatable")
	cmd.Flags().BoolVar(&f.majority, "majority", false, "want a head that more than half of the sites cosigned: those of --other-key, and the site that verifies")
	_ = cmd.MarkFlagRequired("log-key")
}

// verifier returns the public key of the log.
func (f *verifyFlags) verifier() (note.Verifier, error) {
	text := f.logKey
	if data, err := os.ReadFile(f.logKey); err == nil {
		text = string(data)
	} else if !strings.Contains(text, "+") {
		return nil, usageError{fmt.Errorf("--log-key: %w", err)}
	}
	v, err := note.NewVerifier(strings.TrimSpace(text))
	if err != nil {
		return nil, usageError{fmt.Errorf("--log-key %q: %w: want what a site gets as log.pub: NAME+HASH+KEY", f.logKey, err)}
	}
	return v, nil
}

// readOthers reads what other sites hold.
func (f *verifyFlags) readOthers(cmd *cobra.Command) (map[string][]protocol.Message, error) {
	out := make(map[string][]protocol.Message)
	for _, one := range f.others {
		site, path, ok := strings.Cut(one, "=")
		if !ok || site == "" || path == "" {
			return nil, usageError{fmt.Errorf("--other %q: want SITE=LEDGER", one)}
		}
		all, err := readLedgers(cmd, path)
		if err != nil {
			return nil, err
		}
		out[site] = append(out[site], all...)
	}
	return out, nil
}

// A partyFlags is the flags of a site or a tenant.
type partyFlags struct {
	verifyFlags
	apiFlags
	held  string
	shown string
	keys  []string

	cosign string // file for the newest head, cosigned
}

func (f *partyFlags) register(cmd *cobra.Command, held string) {
	f.verifyFlags.register(cmd)
	f.apiFlags.registerFlags(cmd, false)
	cmd.Flags().StringVar(&f.held, "held", "", held)
	cmd.Flags().StringVar(&f.shown, "shown", "", "`FILE` that the coordinator's /v1/proof answered, in place of asking it at --api")
	cmd.Flags().StringArrayVar(&f.keys, "key", nil, "`KEY` with which it signs: a public key, which begins with U, or the file of a seed. Repeatable, for those of earlier times")
}

// readWitnesses reads the heads that other sites cosigned. Self is the site that verifies, or "".
func (f *verifyFlags) readWitnesses(log note.Verifier, self string) (verify.Witnesses, error) {
	w, keys := verify.Witnesses{Cosigned: make(map[string]proof.Head)}, make(map[string][]string)
	for _, one := range f.otherKeys {
		site, key, _ := strings.Cut(one, "=")
		public, err := publicKeys([]string{key})
		if err != nil {
			return w, err
		}
		keys[site] = append(keys[site], public...)
	}
	for _, one := range f.cosigned {
		site, path, ok := strings.Cut(one, "=")
		if !ok || site == "" || len(keys[site]) == 0 {
			return w, usageError{fmt.Errorf("--cosigned %q: want SITE=FILE, and the site's public key as --other-key SITE=KEY", one)}
		}
		text, err := os.ReadFile(path)
		if err == nil {
			w.Cosigned[site], err = proof.OpenCosigned(log, string(text), site, keys[site])
		}
		if err != nil {
			return w, usageError{fmt.Errorf("--cosigned %s: %w", one, err)}
		}
	}
	if f.majority {
		delete(keys, self)
		if len(keys) == 0 {
			return w, usageError{errors.New("--majority counts the sites of --other-key SITE=KEY: name all others of the federation")}
		}
		if w.Majority = slices.Sorted(maps.Keys(keys)); self != "" {
			w.Majority = append(w.Majority, self)
		}
	}
	return w, nil
}

// writeCosigned cosigns the newest head that the site holds, once all that it was shown agrees.
func (f *partyFlags) writeCosigned(site string, in verify.PartyInput) error {
	var key proof.PartyKey
	for _, file := range f.keys {
		if text, err := os.ReadFile(file); err == nil {
			if key, err = proof.ReadPartyKey(text); err != nil {
				return usageError{fmt.Errorf("--key %s: %w", file, err)}
			}
		}
	}
	if key.Sign == nil {
		return usageError{errors.New("--cosign signs with the site's key: name the file of its seed with --key")}
	}
	newest, size := "", uint64(0)
	for _, m := range in.Held {
		if b, ok := m.Body.(protocol.LogHead); ok {
			if h, err := proof.OpenHead(in.Log, b.Note); err == nil && h.Size >= size {
				newest, size = b.Note, h.Size
			}
		}
	}
	if newest == "" {
		return errors.New("--cosign: the site holds no head of the log")
	}
	text, err := proof.CosignHead(in.Log, newest, site, key, time.Now())
	if err != nil {
		return err
	}
	return atomicfile.ReplaceFile(f.cosign, []byte(text), 0o644)
}

// newVerifySite is `gridbid verify site`.
func newVerifySite() *cobra.Command {
	var f partyFlags
	cmd := &cobra.Command{
		Use:   "site NAME",
		Short: "check the log as a site",
		Example: `  gridbid verify site oslo --log-key log.pub --held held --key oslo.nk
  gridbid verify site oslo --log-key log.pub --held held --key oslo.nk --other lyon=lyon-held
  gridbid verify site oslo --log-key log.pub --held held --key oslo.nk --cosign oslo.head
  gridbid verify site lyon --log-key log.pub --held held --cosigned oslo=oslo.head --other-key oslo=UABC... \
      --other-key bern=UDEF... --majority`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, protocol.AgentParty(args[0]), "site="+url.QueryEscape(args[0]))
		},
	}
	f.register(cmd, "`LEDGER` of what the site said and was told, file or folder: the agent's folder held")
	cmd.Flags().StringVar(&f.cosign, "cosign", "", "`FILE` for the newest head with the site's cosignature, for other sites to compare; written only if all agrees")
	_ = cmd.MarkFlagRequired("held")
	return cmd
}

// newVerifyTenant is `gridbid verify tenant`.
func newVerifyTenant() *cobra.Command {
	var f partyFlags
	var party string
	cmd := &cobra.Command{
		Use:     "tenant NAME",
		Short:   "check the log as a tenant",
		Example: `  gridbid verify tenant vision --log-key log.pub --other oslo=oslo-held`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			query := "tenant=" + url.QueryEscape(args[0])
			if party != "" {
				query += "&party=" + url.QueryEscape(party)
			}
			return f.run(cmd, protocol.Party(party), query)
		},
	}
	f.register(cmd, "`LEDGER` of what the submitter said and was told, file or folder, if it keeps one")
	cmd.Flags().StringVar(&party, "party", "", "`PARTY` as which the tenant's jobs are submitted over NATS; without, through the API")
	return cmd
}

// run verifies the log as a party.
func (f *partyFlags) run(cmd *cobra.Command, who protocol.Party, query string) error {
	in := verify.PartyInput{Party: who}
	var err error
	if in.Log, err = f.verifier(); err != nil {
		return err
	}
	if in.Keys, err = publicKeys(f.keys); err != nil {
		return err
	}
	if f.held != "" {
		if in.Held, err = readLedgers(cmd, f.held); err != nil {
			return err
		}
	}
	if f.shown != "" {
		in.Shown, err = readLedgers(cmd, f.shown)
	} else {
		in.Shown, err = f.askProof(cmd, query)
	}
	if err != nil {
		return err
	}
	if in.Others, err = f.readOthers(cmd); err != nil {
		return err
	}
	if in.Witnesses, err = f.readWitnesses(in.Log, who.SiteName()); err != nil {
		return err
	}
	report := verify.CheckParty(in)
	if err := printReport(cmd, &f.outputFlags, report); err != nil || f.cosign == "" {
		return err
	}
	return f.writeCosigned(who.SiteName(), in)
}

// askProof asks the coordinator what it shows a party of the log.
func (f *partyFlags) askProof(cmd *cobra.Command, query string) ([]protocol.Message, error) {
	answer, err := askAPI(cmd.Context(), http.MethodGet, f.api, "/v1/proof?"+query, "", nil)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
		var fault struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(text, &fault) != nil || fault.Error == "" {
			fault.Error = fmt.Sprintf("%s answers %s: it is no coordinator, or an older one that keeps no log", f.api, answer.Status)
		}
		return nil, errors.New(fault.Error)
	}
	r, err := wal.NewReader(answer.Body, "the answer of "+f.api)
	if err != nil {
		return nil, err
	}
	var all []protocol.Message
	err = recordSource{}.readRemaining(r, cmd.ErrOrStderr(), func(m protocol.Message) error { all = append(all, m); return nil })
	return all, err
}

// newVerifyRecord is `gridbid verify record`.
func newVerifyRecord() *cobra.Command {
	var f verifyFlags
	var of apiFlags
	var live bool
	var parties []string
	cmd := &cobra.Command{
		Use:   "record [LEDGER...]",
		Short: "check the whole log as an auditor, and run the clearings again",
		Long: `Read the record of a coordinator: ledgers, folders of ledgers such as its archive, or with
--live that of a running one. If several coordinators led, give the archives of all.`,
		Example: `  gridbid verify record --live --log-key log.pub
  gridbid verify record coordinator/archive standby/archive --log-key log.pub --party agent/oslo=UABC...`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in := verify.RecordInput{Keys: make(map[protocol.Party][]string)}
			var err error
			if in.Log, err = f.verifier(); err != nil {
				return err
			}
			for _, one := range parties {
				who, key, ok := strings.Cut(one, "=")
				if !ok {
					return usageError{fmt.Errorf("--party %q: want PARTY=KEY, as agent/oslo=UABC", one)}
				}
				keys, err := publicKeys([]string{key})
				if err != nil {
					return err
				}
				in.Keys[protocol.Party(who)] = append(in.Keys[protocol.Party(who)], keys...)
			}
			if live || cmd.Flags().Changed("api") || cmd.Flags().Changed("context") {
				u, err := apiURL(of.api)
				if err != nil {
					return err
				}
				args = append(args, u.String()+recordPath)
			}
			if len(args) == 0 {
				return usageError{errors.New("verify record: which record? Name its ledgers, or read that of a running coordinator with --live")}
			}
			for _, path := range args {
				all, err := readLedgers(cmd, path)
				if err != nil {
					return err
				}
				in.Record = append(in.Record, all...)
			}
			if in.Others, err = f.readOthers(cmd); err != nil {
				return err
			}
			if in.Witnesses, err = f.readWitnesses(in.Log, ""); err != nil {
				return err
			}
			return printReport(cmd, &of.outputFlags, verify.CheckRecord(in))
		},
	}
	f.register(cmd)
	of.registerFlags(cmd, false)
	cmd.Flags().BoolVar(&live, "live", false, "read the record of the running coordinator at --api")
	cmd.Flags().StringArrayVar(&parties, "party", nil, "`PARTY=KEY`: the public key of a party, or the file of its seed, with which it must sign what binds it. Repeatable")
	return cmd
}

// newVerifyKey is `gridbid verify new-key`.
func newVerifyKey() *cobra.Command {
	name := "gridbid/log"
	cmd := &cobra.Command{
		Use:   "new-key FILE",
		Short: "make a key for the log of a federation that has none",
		Long: `Write the key of a log to FILE, and its public part beside it, with the extension .pub.
"gridbid federation init" does so for a new federation. All coordinators get FILE, as
proof: {key: FILE} in their configuration; sites, tenants and auditors the public part.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := federation.WriteLogKey(args[0], name); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  for coordinators, secret\n%s  for all others\n", args[0], federation.PublicLogKeyFile(args[0]))
			return err
		},
	}
	cmd.Flags().StringVar(&name, "name", name, "`NAME` of the log, without spaces")
	return cmd
}

// publicKeys returns public keys that are given as such, or by the file of a seed.
func publicKeys(all []string) (out []string, err error) {
	for _, k := range all {
		if proof.IsPublicKey(k) {
			out = append(out, k)
			continue
		}
		text, err := os.ReadFile(k)
		if err != nil {
			return nil, usageError{fmt.Errorf("key %q is neither a public key, which begins with U, nor a file: %w", k, err)}
		}
		key, err := proof.ReadPartyKey(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("key %s: %w", k, err)}
		}
		out = append(out, key.Public)
	}
	return out, nil
}

// readLedgers reads the messages of a ledger, or of all in a folder by their names.
func readLedgers(cmd *cobra.Command, path string) (all []protocol.Message, err error) {
	paths := []string{path}
	if is, err := os.Stat(path); err == nil && is.IsDir() {
		if paths, err = filepath.Glob(filepath.Join(path, "*.ledger")); err != nil || len(paths) == 0 {
			return nil, usageError{errors.Join(fmt.Errorf("%s has no ledgers (*.ledger)", path), err)}
		}
	}
	for _, p := range paths {
		keep := func(m protocol.Message) error { all = append(all, m); return nil }
		if err := (recordSource{path: p}).readMessages(cmd.InOrStdin(), cmd.ErrOrStderr(), keep); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// printReport prints a report, and returns an error if it has findings.
func printReport(cmd *cobra.Command, o *outputFlags, r verify.Report) error {
	err := o.printValue(cmd, r, func(out io.Writer) { showReport(out, r) })
	if err == nil && len(r.Findings) > 0 {
		err = fmt.Errorf("verify: %s: the log or what you hold is not what it should be; docs/proof.md says what each means and what to do", format.CountWithNoun(len(r.Findings), "finding", "findings"))
	}
	return err
}

// showReport prints a report for people. Texts hold names that others chose.
func showReport(out io.Writer, r verify.Report) {
	fmt.Fprintf(out, "%d entries of a log of %d, %d heads, %d receipts", r.Entries, r.Size, r.Heads, r.Receipts)
	if r.Rounds > 0 {
		fmt.Fprintf(out, ", rounds run again until %d", r.Rounds)
	}
	fmt.Fprintln(out)
	if a := r.Agreed; a != nil && a.Size > 0 {
		fmt.Fprintf(out, "%d of %d sites agree on the first %d entries: %s", len(a.By), len(a.By)+len(a.Missing), a.Size, format.CleanText(strings.Join(a.By, ", ")))
		if len(a.Missing) > 0 {
			fmt.Fprintf(out, "; no head of %s", format.CleanText(strings.Join(a.Missing, ", ")))
		}
		fmt.Fprintln(out)
	}
	for _, f := range r.Findings {
		fmt.Fprintln(out, "FOUND  "+format.CleanText(f.String()))
	}
	for _, n := range r.Notes {
		fmt.Fprintln(out, "note   "+format.CleanText(n))
	}
	if len(r.Findings) == 0 {
		fmt.Fprintln(out, "all that was checked agrees")
	}
}
