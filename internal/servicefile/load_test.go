package servicefile_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gridbid/gridbid/internal/servicefile"
	"github.com/gridbid/gridbid/protocol"
)

func TestALoadAndItsClassesAreReadInTheirUnits(t *testing.T) {
	got, err := servicefile.Parse("chat.yaml", []byte(`
id: chat
load: 62.5
failover: 0.7
gpus: 1
classes:
  - {name: chat, percentile: 95, ttft: 450ms, tpot: 0.06s}
  - {name: bulk, percentile: 99.9, total: 10m, output_tokens: 211}
rtt: {oslo: 30ms, lyon: 95ms}
variants:
  - {gpu: H100, rates: [{rate: 7, percentile: 95, ttft: 300ms, tpot: 17.5ms}]}
`))
	want := protocol.Service{
		ID: "chat", Load: 62_500, Failover: 700, GPUs: 1, Share: 1000,
		Classes: []protocol.ServiceClass{
			{Name: "chat", Percentile: 950, TTFT: 450 * time.Millisecond, TPOT: 60 * time.Millisecond},
			{Name: "bulk", Percentile: 999, Total: 10 * time.Minute, Output: 211},
		},
		RTT:      []protocol.SiteRTT{{Site: "lyon", RTT: 95 * time.Millisecond}, {Site: "oslo", RTT: 30 * time.Millisecond}},
		Variants: []protocol.Variant{{Model: "H100", Rates: []protocol.ServedRate{{Rate: 7000, Percentile: 950, TTFT: 300 * time.Millisecond, TPOT: 17_500 * time.Microsecond}}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v, %v; want %+v", got, err, want)
	}
}

func TestABadLoadIsRefusedWithItsLine(t *testing.T) {
	const load = "id: a\nload: 60\ngpus: 1\nvariants: [{gpu: H100, goodput: 10}]\n"
	for text, want := range map[string]string{
		"id: a\nload: -1\n":                           "chat.yaml:2: load",
		load + "failover: 1.5\n":                      "chat.yaml:5: failover",
		load + "replicas: 3\n":                        "leave replicas and min out",
		load + "min: 3\n":                             "leave replicas and min out",
		load + "division: dynamic\n":                  "load: it is divided by cost",
		load + "tiers: [[a], [b]]\n":                  "load: it is divided by cost",
		load + "min_sites: 2\n":                       "failover spreads it",
		"id: a\nreplicas: 1\ncpu: 1\nfailover: 0.5\n": "failover: it is a part of the load",
		"id: a\nload: 60\ncpu: 1\n":                   "load: what a replica serves is known by its GPU model",
		"id: a\nload: 60\ngpus: 1\n":                  "load: no variant says what a replica serves",
		"id: a\nload: 1000000\ngpus: 1\nvariants: [{gpu: H100, goodput: 10}]\n":                        "more than 10000 replicas",
		load + "classes: [{name: chat, percentile: 95, ttft: 450}]\n":                                  "chat.yaml:5: classes/0/ttft",
		load + "classes: [{name: chat, percentile: 95, ttft: 4h}]\n":                                   "want a time such as 450ms, 1.5s or 2m",
		load + "classes: [{name: chat, percentile: 101, ttft: 4s}]\n":                                  "chat.yaml:5: classes/0/percentile",
		load + "classes: [{name: chat, percentile: 95}]\n":                                             "classes: chat: bounds nothing",
		load + "classes: [{name: chat, percentile: 95, ttft: 4s, output_tokens: 3}]\n":                 "output_tokens without total",
		load + "classes: [{name: c, percentile: 95, ttft: 4s}, {name: c, percentile: 99, ttft: 4s}]\n": "classes: no name, or one twice",
		load + "rtt: {oslo: fast}\n":                                                                   "chat.yaml:5: rtt/oslo",
		load + "rtt: {oslo: 25000s}\n":                                                                 "",
		load + "rtt: {oslo: 90000s}\n":                                                                 "rtt: no site, one twice, or a time outside of 0..24h",
		"id: a\nload: 60\ngpus: 1\nvariants: [{gpu: H100, rates: [{rate: 7}]}]\n":                      "chat.yaml:4: variants/0/rates/0",
		"id: a\nload: 60\ngpus: 1\nvariants: [{gpu: H100, rates: [{rate: 0, percentile: 95}]}]\n":      "chat.yaml:4: variants/0/rates/0/rate",
		"id: a\nreplicas: 1\ncpu: 1\nclasses: [{name: chat, percentile: 95, ttft: 4s}]\n":              "classes: no variant says how fast",
	} {
		if _, err := servicefile.Parse("chat.yaml", []byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v; want it to name %q", text, err, want)
		}
	}
}

// The strictest class says what a replica serves, the way to its site included.
func TestClassesSayWhatAReplicaServesAtASite(t *testing.T) {
	s := protocol.Service{Models: []string{"H100", "V100"}, Load: 1,
		Classes: []protocol.ServiceClass{{Name: "chat", Percentile: 950, TTFT: 450 * time.Millisecond}, {Name: "bulk", Percentile: 900, Total: 10 * time.Second, Output: 100}},
		RTT:     []protocol.SiteRTT{{Site: "far", RTT: 95 * time.Millisecond}, {Site: "near", RTT: 30 * time.Millisecond}, {Site: "nowhere", RTT: time.Second}},
		Variants: []protocol.Variant{
			{Model: "H100", Rates: []protocol.ServedRate{
				{Rate: 7000, Percentile: 950, TTFT: 300 * time.Millisecond, TPOT: 20 * time.Millisecond},
				{Rate: 9000, Percentile: 990, TTFT: 420 * time.Millisecond, TPOT: 30 * time.Millisecond},
				{Rate: 10_000, Percentile: 950, TTFT: 420 * time.Millisecond, TPOT: 200 * time.Millisecond}, // too slow for bulk
				{Rate: 11_000, Percentile: 900, TTFT: 420 * time.Millisecond, TPOT: 250 * time.Millisecond}, // and of too few requests for chat
			}},
			{Model: "A100", Goodput: 5000}, {Model: "V100", Goodput: 2000},
		}}
	for site, want := range map[string]protocol.Milli{"near": 9000, "far": 7000, "nowhere": 0, "": 9000} {
		if got := s.GoodputAt(site, "H100"); got != want {
			t.Errorf("at %q a replica serves %d; want %d", site, got, want)
		}
	}
	if j, ok := s.ReplicaAt("nowhere"); !ok || !reflect.DeepEqual(j.Models, []string{"V100"}) {
		t.Errorf("where H100s are too far, models %v, %v; want V100 alone", j.Models, ok)
	}
	if s.Models = []string{"H100"}; true {
		if _, ok := s.ReplicaAt("nowhere"); ok {
			t.Error("a replica may be where its classes are not kept")
		}
	}
}
