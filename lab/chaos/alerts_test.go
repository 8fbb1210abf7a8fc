package chaos

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/cluster-agent/runtime"
	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/ports"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios"
	"github.com/gridbid/gridbid/scenarios/spec"
)

var prometheus = flag.String("prometheus", "", "scrape federations with this Prometheus, and see each alert of deploy/prometheus fire")

// A real Prometheus scrapes real coordinators, and each alert that ships fires for its cause, and
// none before.
func TestPrometheusFiresEachAlertForItsCause(t *testing.T) {
	if *prometheus == "" {
		t.Skip("no -prometheus; make test-prometheus runs it")
	}
	path, err := exec.LookPath(*prometheus)
	if err != nil {
		t.Skipf("no Prometheus: `apt-get install prometheus` has it: %v", err)
	}
	f := newWrittenFederation(t)
	oslo := f.addSite("oslo", "wind-coast")
	oslo.start()
	f.startUnmeteredSite("bern", "hydro-north")
	f.awaitSites(2)
	free, err := ports.FreePorts(1)
	f.must(err)
	fast := fmt.Sprint("127.0.0.1:", free[0]) // of a federation that is started last
	p := f.startPrometheus(path, f.api, fast)
	made := make(map[string]bool)
	fires := func(alert, about string) {
		t.Helper()
		p.awaitFiring(strings.TrimSpace(alert + " " + about))
		made[alert] = true
	}
	p.staysQuiet()

	oslo.kill()
	fires("GridbidSiteSilent", "oslo")
	oslo.start()
	p.awaitResolved("GridbidSiteSilent oslo")

	f.addSiteWithOldPrices("lyon", "solar-south").start()
	fires("GridbidSignalsStale", "lyon")

	f.sendUnreadable("bern")
	fires("GridbidMessagesDropped", "agent-bern")

	f.submitJob(f.api, "id: unmetered\ngpus: 1\ncpu: 2\nrun: 2s\nurgency: now\nregions: [bern]\n")
	fires("GridbidEstimatedSettlements", "bern")

	f.coordinators[0].kill()
	fires("GridbidNoLeader", "")

	f.startUp(fast, "hydro-north")
	p.awaitResolved("GridbidNoLeader")
	// Its hours last six seconds, and runs draw before the cap that they exceed is set.
	for i := range 4 {
		f.submitJob(fast, fmt.Sprintf("id: long-%d\ngpus: 8\nrun: 100h\nwithin: 1000h\nurgency: now\n", i))
	}
	f.wait("an hour in which jobs drew more than 1.1 kW was metered", patience, func() bool {
		var all []jobstatus.Site
		code, err := ask(fast, http.MethodGet, "/v1/sites", nil, &all)
		return err == nil && code == http.StatusOK && len(all) == 1 && all[0].DrawOfJobs > 1100
	})
	f.setPolicy(fast, "cap hydro-north at 900 kW")
	p.staysQuiet() // the cap is kept
	f.setPolicy(fast, "cap hydro-north at 1 kW")
	fires("GridbidCapNotKept", "hydro-north")

	if left := p.unseen(made); len(left) > 0 {
		t.Errorf("no cause was made of %v", left)
	}
}

// submitJob submits a job to the coordinator of an API.
func (f *writtenFederation) submitJob(api, job string) {
	f.Helper()
	file := filepath.Join(f.dir, "job.yaml")
	f.must(os.WriteFile(file, []byte(job), 0o600))
	f.operate("submit", "-f", file, "--api", api)
}

// setPolicy puts a rule into force at the coordinator of an API.
func (f *writtenFederation) setPolicy(api, sentence string) {
	f.Helper()
	var proposal struct {
		ID string `json:"id"`
	}
	f.must(json.Unmarshal([]byte(f.operate("policy", "say", sentence, "--no-impact", "--json", "--api", api)), &proposal))
	f.operate("policy", "apply", proposal.ID, "--by", "ada", "--api", api)
}

// startUp starts a federation of one site in a process, whose clock runs 600 times as fast.
func (f *writtenFederation) startUp(api, site string) {
	f.Helper()
	p := f.process("up", "gridbid", "up", "--speed", "600", "--no-jobs", "--sites", site, "--listen", api, "--folder", filepath.Join(f.dir, "up"))
	f.others = append(f.others, p)
	p.start()
	f.wait("the federation is up", 2*time.Minute, func() bool {
		var all []jobstatus.Site
		code, err := ask(api, http.MethodGet, "/v1/sites", nil, &all)
		return err == nil && code == http.StatusOK && len(all) == 1
	})
}

// addSiteWithOldPrices admits a site whose price feed ended eight hours ago.
func (f *writtenFederation) addSiteWithOldPrices(name, as string) *process {
	f.Helper()
	p := f.addSite(name, as)
	hour := time.Now().UTC().Truncate(time.Hour)
	prices := filepath.Join(f.dir, "prices.csv")
	f.must(os.WriteFile(prices, fmt.Appendf(nil, "time,value\n%s,50\n%s,60\n", hour.Add(-10*time.Hour).Format(time.RFC3339), hour.Add(-9*time.Hour).Format(time.RFC3339)), 0o600))
	config := p.args[len(p.args)-1]
	text, err := os.ReadFile(config)
	f.must(err)
	f.must(os.WriteFile(config, fmt.Appendf(text, "grid: {price: 55, carbon: 30, sources: [{tells: price, from: csv, file: %q, unit: USD/MWh}]}\n", prices), 0o600))
	return p
}

// join returns the bus of a site, with its own keys.
func (f *writtenFederation) join(site string) *natsbus.Bus {
	f.Helper()
	hub, err := natsbus.Open(natsbus.Access{URL: "tls://" + f.hubAt, CA: "ca.pem", Seed: site + ".nk"}.ResolvePaths(f.memberFile(site, "")))
	f.must(err)
	return hub
}

// sendUnreadable sends the coordinator bytes that are no message, with the keys of a site.
func (f *writtenFederation) sendUnreadable(site string) {
	f.Helper()
	conn, err := f.join(site).RawConn(protocol.AgentParty(site))
	f.must(err)
	defer conn.Close()
	f.must(conn.Publish(strings.TrimSuffix(natsbus.SubjectBetween(protocol.AgentParty(site), protocol.Coordinator), "*")+"offer", []byte("no message")))
	f.must(conn.Flush())
}

// An unmetered executor reports the energy of each run as an estimate, as that of a cluster does
// whose meters have failed.
type unmetered struct{ runtime.PersistentParty }

// Step implements bus.Machine.
func (u unmetered) Step(now protocol.Time, m protocol.Message) []protocol.Message {
	return estimated(u.PersistentParty.Step(now, m))
}

// Tick implements bus.Machine.
func (u unmetered) Tick(now protocol.Time) []protocol.Message {
	return estimated(u.PersistentParty.Tick(now))
}

// estimated marks the energy of runs that ended.
func estimated(all []protocol.Message) []protocol.Message {
	for i := range all {
		if x, ok := all[i].Body.(protocol.Finished); ok {
			x.Estimated = true
			all[i].Body = x
		}
	}
	return all
}

// startUnmeteredSite runs a site with an unmetered executor in this process until the test ends: no
// simulated site has meters that fail.
func (f *writtenFederation) startUnmeteredSite(name, as string) {
	f.Helper()
	f.federation("add-site", name, "--simulate", "six-regions", "--as", as)
	s, err := spec.LoadScenario("six-regions", spec.Options{})
	f.must(err)
	now := protocol.FromStdTime(time.Now()).Floor(time.Second)
	s = scenarios.ShiftScenario(s, now.Floor(24*time.Hour).Sub(s.Start.Floor(24*time.Hour)))
	i := slices.IndexFunc(s.Sites, func(x spec.Site) bool { return x.Name == as })
	s.Sites = slices.Clone(s.Sites[i : i+1])
	s.Sites[0].Name = name
	x, err := scenarios.SimulateSite(s, name, now, now.Add(48*time.Hour))
	f.must(err)
	x.Executor.Machine = unmetered{x.Executor.Machine.(runtime.PersistentParty)}
	cfg, err := x.Build(f.memberFile(name, "state"))
	f.must(err)
	cfg.FederationBus = f.join(name)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- runtime.RunSite(ctx, cfg) }()
	f.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			f.Errorf("site %s: %v", name, err)
		}
	})
}
