package main

import (
	"encoding/csv"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/coordinator/accounts"
	"github.com/gridbid/gridbid/protocol"
)

// The lines of each tenant and of each site sum to the balances that the ledger's settlements make, to
// the microdollar, and so do those of all months.
func TestStatementsSumToTheLedger(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, stderr, err := execute(newReplayCommand(), "--policy", "auction", "--max-jobs", "120", "--bus", "mem", "--no-bound"); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	var balances accounts.Balances
	tenants, sites := make(map[string]bool), make(map[string]bool)
	path, err := findLedger(lastRunFolder, "auction")
	if err == nil {
		err = recordSource{path: path}.readMessages(nil, nil, func(m protocol.Message) error {
			if s, ok := m.Body.(protocol.Settlement); ok {
				tenants[s.Payer], sites[s.Site] = true, true
				balances.Transfer(accounts.TenantAccount(s.Payer), accounts.SiteAccount(s.Site), s.Paid)
			}
			return nil
		})
	}
	if err != nil || len(tenants) < 3 || len(sites) < 3 {
		t.Fatalf("%v: %d tenants, %d sites", err, len(tenants), len(sites))
	}
	sum := func(args ...string) (micros int64) {
		t.Helper()
		out, stderr, err := execute(newStatementCommand(), append(args, "-o", "csv")...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, stderr)
		}
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || rows[0][len(rows[0])-1] != "paid_microdollars" {
			t.Fatalf("%v: %v: %v", args, err, rows[0])
		}
		for _, r := range rows[1:] {
			n, err := strconv.ParseInt(r[len(r)-1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			micros += n
		}
		return micros
	}
	for name := range tenants {
		want := -int64(balances.BalanceOf(accounts.TenantAccount(name)))
		if got := sum("--tenant", name); got != want {
			t.Errorf("%s paid %d by its lines, %d by the ledger", name, got, want)
		}
		if got := sum("--tenant", name, "--month", "2026-03"); got != want {
			t.Errorf("%s paid %d in March, the month of the run, and %d in all", name, got, want)
		}
		out, _, err := execute(newStatementCommand(), "--tenant", name)
		if paid := fmt.Sprintf("paid $%.6f\n", float64(want)/1e6); err != nil || !strings.HasSuffix(out, paid) {
			t.Errorf("the sums of %s do not end with %q: %v\n%s", name, paid, err, out)
		}
	}
	for name := range sites {
		if got, want := sum("--site", name), int64(balances.BalanceOf(accounts.SiteAccount(name))); got != want {
			t.Errorf("%s got %d by its lines, %d by the ledger", name, got, want)
		}
	}
	for args, want := range map[string]string{
		"":                            "whose? Name --tenant or --site",
		"--tenant taem-a":             `no tenant "taem-a" (did you mean "team-a"?)`,
		"--tenant team-a --month May": "want a year and a month",
	} {
		if _, _, err := execute(newStatementCommand(), strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("statement %s: %v, want %q", args, err, want)
		}
	}
}

// The lines of services sum to what the ledger's settlements of replicas pay, and those of a budget to what it was
// charged with.
func TestStatementsOfServicesSumToTheLedger(t *testing.T) {
	file, err := filepath.Abs("../../scenarios/acceptance/q-a-service-keeps-to-its-budget.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if _, stderr, err := execute(newReplayCommand(), file, "--policy", "auction", "--bus", "mem", "--no-bound"); err != nil {
		t.Fatalf("replay: %v\n%s", err, stderr)
	}
	var paid, charged protocol.Microdollars
	path, err := findLedger(lastRunFolder, "auction")
	if err == nil {
		err = recordSource{path: path}.readMessages(nil, nil, func(m protocol.Message) error {
			if s, ok := m.Body.(protocol.ServiceSettlement); ok && s.Payer == "a" {
				for paid += s.Paid; len(s.Charges) > 0; s.Charges = s.Charges[1:] {
					charged += s.Charges[0].Money
				}
			}
			return nil
		})
	}
	if err != nil || paid == 0 || charged != paid {
		t.Fatalf("%v: %d paid, %d charged", err, paid, charged)
	}
	for args, want := range map[string]string{
		"--tenant a": fmt.Sprintf("paid $%.6f\n", paid.InDollars()), "--site east --tenant a": fmt.Sprintf("paid $%.6f\n", paid.InDollars()),
		"--budget a": fmt.Sprintf("paid $%.6f", charged.InDollars()),
	} {
		out, _, err := execute(newStatementCommand(), strings.Fields(args)...)
		if err != nil || !strings.Contains(out, want) || !strings.Contains(out, "service web") {
			t.Errorf("statement %s: %v\n%s\nwant %q", args, err, out, want)
		}
	}
}
