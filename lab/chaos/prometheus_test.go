package chaos

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/internal/ports"
)

// A prometheusServer is a Prometheus that scrapes coordinators every second and evaluates the
// rules of deploy/prometheus, in which `for` is shortened: a cause need not hold for minutes.
type prometheusServer struct {
	*testbed
	at     string          // HOST:PORT of its API
	rules  string          // as shipped
	caused map[string]bool // alerts whose cause was made, as firing returns them
}

var holdTime = regexp.MustCompile(`(?m)^(\s+for:) \S+$`)

// startPrometheus starts a Prometheus with these targets, and waits until it has scraped a leader:
// before that there is none for it.
func (f *writtenFederation) startPrometheus(path string, targets ...string) *prometheusServer {
	f.Helper()
	free, err := ports.FreePorts(1)
	f.must(err)
	p := &prometheusServer{testbed: f.testbed, at: fmt.Sprint("127.0.0.1:", free[0]), caused: map[string]bool{"GridbidNoLeader": true}}
	dir := filepath.Join(f.dir, "prometheus")
	f.must(os.MkdirAll(dir, 0o700))
	rules, err := os.ReadFile("../../deploy/prometheus/alerts.yaml")
	f.must(err)
	p.rules = string(rules)
	f.must(os.WriteFile(filepath.Join(dir, "alerts.yaml"), []byte(holdTime.ReplaceAllString(p.rules, "${1} 3s")), 0o600))
	config := filepath.Join(dir, "prometheus.yaml")
	f.must(os.WriteFile(config, fmt.Appendf(nil, `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [alerts.yaml]
scrape_configs:
  - job_name: gridbid
    static_configs: [{targets: ["%s"]}]
`, strings.Join(targets, `", "`)), 0o600))
	x := f.processOf("prometheus", path, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+p.at, "--log.level=warn")
	f.others = append(f.others, x)
	x.start()
	p.wait("Prometheus has scraped a leader", patience, func() bool {
		var answer struct {
			Data struct {
				Result []struct {
					Value [2]any `json:"value"`
				} `json:"result"`
			} `json:"data"`
		}
		code, err := ask(p.at, http.MethodGet, "/api/v1/query?"+url.Values{"query": {"max(gridbid_leader)"}}.Encode(), nil, &answer)
		return err == nil && code == http.StatusOK && len(answer.Data.Result) == 1 && answer.Data.Result[0].Value[1] == "1"
	})
	p.awaitResolved("GridbidNoLeader")
	return p
}

// get reads from Prometheus' API, which answers for as long as the test runs.
func (p *prometheusServer) get(path string, out any) {
	p.Helper()
	code, err := within(patience, p.at, http.MethodGet, path, nil, out)
	if err != nil || code != http.StatusOK {
		p.Fatalf("Prometheus: %s: %d, %v", path, code, err)
	}
}

// firing returns the alerts that fire, each by its name and the site or sender that it is about. One
// that fires without a cause ends the test.
func (p *prometheusServer) firing() map[string]bool {
	p.Helper()
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string `json:"labels"`
				State  string            `json:"state"`
			} `json:"alerts"`
		} `json:"data"`
	}
	p.get("/api/v1/alerts", &answer)
	out := make(map[string]bool)
	for _, a := range answer.Data.Alerts {
		if a.State != "firing" { // it may be pending, as a leader is before its first scrape
			continue
		}
		name := strings.TrimSpace(a.Labels["alertname"] + " " + cmp.Or(a.Labels["site"], a.Labels["speaker"]))
		if out[name] = true; !p.caused[name] {
			p.Fatalf("%s fires without its cause: %v", name, a.Labels)
		}
	}
	return out
}

// awaitFiring waits until an alert fires whose cause was just made.
func (p *prometheusServer) awaitFiring(alert string) {
	p.Helper()
	p.caused[alert] = true
	p.wait(alert+" fires", patience, func() bool { return p.firing()[alert] })
	p.Logf("%s fires", alert)
}

// awaitResolved waits until an alert fires no more; from then on it has no cause.
func (p *prometheusServer) awaitResolved(alert string) {
	p.Helper()
	p.wait(alert+" fires no more", patience, func() bool { return !p.firing()[alert] })
	delete(p.caused, alert)
}

// staysQuiet lets the rules be evaluated six times, twice as often as an alert is pending, without an
// alert that has no cause.
func (p *prometheusServer) staysQuiet() {
	p.Helper()
	seen := make(map[string]bool) // times of evaluations
	p.wait("the rules are evaluated six times", patience, func() bool {
		var answer struct {
			Data struct {
				Groups []struct {
					Last string `json:"lastEvaluation"`
				} `json:"groups"`
			} `json:"data"`
		}
		p.get("/api/v1/rules", &answer)
		for _, g := range answer.Data.Groups {
			seen[g.Last] = true
		}
		p.firing()
		return len(seen) > 6
	})
}

// unseen returns the shipped alerts of which no cause was made.
func (p *prometheusServer) unseen(made map[string]bool) (names []string) {
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(p.rules, -1) {
		if !made[m[1]] {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return names
}
