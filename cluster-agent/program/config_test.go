package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// written writes a configuration with sources, and returns its file.
func written(t *testing.T, sources string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent.yaml")
	text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nkubernetes: {sharing: dra}\ngrid:\n  price: 70\n  carbon: 400\n  sources:\n" + sources
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestSourcesAreCheckedWithTheirLine(t *testing.T) {
	t.Setenv("SIGNALS_KEY", "hush")
	for _, tc := range []struct{ source, want string }{
		{"    - {tells: carbon, from: electricity-maps, zone: NO-NO1, key_env: SIGNALS_KEY}\n", ""},
		{"    - {tells: price, from: uk-carbon}\n", "agent.yaml:9: grid/sources/0/tells: is \"price\"; uk-carbon provides carbon"},
		{"    - {tells: carbon, from: uk-carbon}\n    - {tells: carbon, from: eia, zone: PJM, key_file: none}\n", "agent.yaml:10: grid/sources/1/key_file"},
		{"    - {tells: carbon, from: uk-carbon}\n    - {tells: carbon, from: watttime, zone: UK, user: me, key_env: SIGNALS_KEY}\n", "agent.yaml:10: grid/sources/1/from: watttime reports marginal carbon"},
		{"    - {tells: carbon, from: watttime, zone: UK, user: me, key_env: SIGNALS_KEY}\n", ""},
		{"    - {tells: carbon, from: tarot}\n", "agent.yaml:9: grid/sources/0/from"},
		{"    - {tells: carbon, from: uk-carbon, rite: 2}\n", "agent.yaml:9: grid/sources/0/rite: unknown key"},
	} {
		_, err := LoadConfig("cluster-agent", written(t, tc.source))
		if (err == nil) != (tc.want == "") || err != nil && (!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hush")) {
			t.Errorf("Load of %q = %v; want %q", tc.source, err, tc.want)
		}
	}
}

// Sections that do not go together are refused with their line, not passed over: a hub
// has no energy, a cluster has, and a scenario has no queue.
func TestConflictingSectionsAreReportedWithTheirLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	for sections, want := range map[string]string{
		"queue: {kueue: {}}\n":                                            "",
		"queue: {kueue: {}}\ngrid: {price: 70, carbon: 400}\n":            "agent.yaml:5: grid: a hub with only a queue",
		"kubernetes: {sharing: dra}\n":                                    "agent.yaml:4: kubernetes: needs a section grid",
		"simulate: {scenario: six-regions, as: hydro-north}\nqueue: {}\n": "agent.yaml:5: queue: a queue needs a real cluster",
	} {
		text := "site: hub\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\n" + sections
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadConfig("cluster-agent", file); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", sections, err, want)
		}
	}
}

// What a queue beside a cluster would not heed is refused, not passed over.
func TestQueueUsesTheSitesCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	for queue, want := range map[string]string{
		"{}": "", "{namespaces: [inbox]}": "agent.yaml:6: queue: kubeconfig and namespaces are for a hub", "{kubeconfig: other}": "agent.yaml:6: queue: kubeconfig and namespaces are for a hub",
	} {
		text := "site: oslo\nfolder: state\nnats: {url: \"nats://127.0.0.1:1\"}\nkubernetes: {sharing: dra}\ngrid: {price: 70, carbon: 400}\nqueue: " + queue + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadConfig("cluster-agent", file); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("queue: %s: %v; want %q", queue, err, want)
		}
	}
}
