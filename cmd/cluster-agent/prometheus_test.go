package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/agents/power"
	"github.com/gridbid/gridbid/cluster-agent/kube/executor"
	"github.com/gridbid/gridbid/protocol"
)

// What the executor settles by with Prometheus: GPU energy above idle, and CPU cores.
func TestJobsAreMeteredByPrometheus(t *testing.T) {
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		seen = append(seen, r.Header.Get("Authorization"))
		q := r.Form.Get("query")
		switch {
		case strings.HasPrefix(q, "DCGM"): // 370 W for 100 s
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1767355200,"5000"],[1767355300,"37005000"]]}]}}`))
		case strings.Contains(q, "kepler"): // 20 W
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"values":[[1767355200,"5"],[1767355300,"2005"]]}]}}`))
		default:
			_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[{"value":[1767358800,"1000"]}]}}`))
		}
	}))
	defer s.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	since := protocol.Time(1_767_355_200_000)
	l := protocol.Launch{Job: protocol.Job{GPUs: 1, Share: 1000, CPU: 4000}, Model: "H100"}
	for cores, want := range map[bool]protocol.Millijoules{true: 100 * (300 + 20) * 1000, false: 100 * (300 + 16) * 1000} {
		k := executor.Config{Power: power.DefaultTable()}
		if err := (prometheus{URL: s.URL, TokenFile: token, Cards: true, Cores: cores, Site: "x"}).configureExecutor(&k); err != nil {
			t.Fatal(err)
		}
		draw, err := k.Draw(t.Context(), l, "training", []string{"a"}, since, since.Add(100*time.Second))
		if err != nil || len(draw) != 1 || draw[0].Energy != want {
			t.Errorf("cores %t: %v, %v; want %d mJ", cores, draw, err, want)
		}
		if site, err := k.Hour(t.Context(), since); err != nil || site != 3_600_000_000 {
			t.Errorf("the site's hour is %d, %v", site, err)
		}
		shared := l
		shared.Job.Share = 500
		if _, err := k.Draw(t.Context(), shared, "training", []string{"a"}, since, since.Add(time.Minute)); err == nil {
			t.Error("a shared card is taken for a whole one")
		}
	}
	for _, h := range seen {
		if h != "Bearer secret" {
			t.Errorf("asked as %q", h)
		}
	}
	if err := (prometheus{URL: "prometheus"}).configureExecutor(new(executor.Config)); err == nil {
		t.Error("an address that is none is taken")
	}
}

// What is configured is asked for, or refused.
func TestUnusedPrometheusIsRefused(t *testing.T) {
	for want, c := range map[string]prometheus{"set cards, too": {Cores: true, Use: true}, "cards, use or site": {}} {
		c.URL = "http://prometheus:9090"
		if err := c.configureExecutor(new(executor.Config)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", c, err, want)
		}
	}
	for _, c := range []prometheus{{Use: true}, {Site: "sum(x)"}, {Cards: true}} {
		c.URL = "http://prometheus:9090"
		if err := c.configureExecutor(new(executor.Config)); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
