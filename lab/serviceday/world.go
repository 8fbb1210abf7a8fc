package serviceday

import (
	"fmt"
	"math"

	"github.com/gridbid/gridbid/agents/serving"
	"github.com/gridbid/gridbid/scenarios/spec"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// A point is a place on Earth, in degrees.
type point struct{ lat, lon float64 }

// zonePlaces are where the sites of the recorded days are taken to be: a data center city in the zone of
// their grid.
var zonePlaces = map[string]point{
	"AU-NSW": {-33.9, 151.2}, "DE": {50.1, 8.7}, "ES": {40.4, -3.7}, "FR": {48.9, 2.4}, "GB": {51.5, -0.1},
	"US-CAL-CISO": {37.3, -121.9}, "US-MIDA-PJM": {39.0, -77.5}, "US-TEX-ERCO": {32.8, -96.8},
}

// An origin is where requests come from: with its share, and by how far its clock is ahead of UTC. No
// public trace says it, so shares are assumed.
type origin struct {
	trace.Origin
	at point
}

var origins = []origin{
	{trace.Origin{Name: "europe", Share: 0.35, Hours: 1}, point{50.1, 8.7}},
	{trace.Origin{Name: "america-east", Share: 0.30, Hours: -5}, point{40.7, -74.0}},
	{trace.Origin{Name: "america-west", Share: 0.20, Hours: -8}, point{34.1, -118.2}},
	{trace.Origin{Name: "australia", Share: 0.15, Hours: 10}, point{-33.9, 151.2}},
}

// RTT between two places, in ms: 10 of the last mile, and light in fibre on a way 1.6 times as long as
// the great circle.
const (
	rttFixed = 10.0
	rttPerKm = 2 * 1.6 / 200
	earthKm  = 6371.0
)

// rtt returns the way there and back between two places, in ms.
func rtt(a, b point) float64 {
	rad := math.Pi / 180
	cos := float64(math.Sin(a.lat*rad)*math.Sin(b.lat*rad)) + float64(math.Cos(a.lat*rad)*math.Cos(b.lat*rad)*math.Cos((a.lon-b.lon)*rad))
	return rttFixed + float64(rttPerKm*earthKm*math.Acos(max(min(cos, 1), -1)))
}

// rttTable returns the RTT of each origin to each site of a scenario.
func rttTable(s spec.Scenario) (out [][]float64, err error) {
	out = make([][]float64, len(origins))
	for o := range origins {
		for _, site := range s.Sites {
			at, known := zonePlaces[site.Zone]
			if !known {
				return nil, fmt.Errorf("serviceday: site %s is in zone %q, of which no place is known: use a recorded day", site.Name, site.Zone)
			}
			out[o] = append(out[o], rtt(origins[o].at, at))
		}
	}
	return out, nil
}

// servingNodes is how many nodes of eight H100s a site has for services and jobs alike, by its zone.
var servingNodes = map[string]int{"US-MIDA-PJM": 4, "US-TEX-ERCO": 3, "US-CAL-CISO": 2, "DE": 2, "GB": 2, "ES": 2, "FR": 2, "AU-NSW": 1}

// addServingNodes adds these nodes to the sites of a scenario.
func addServingNodes(s *spec.Scenario) {
	sites := make([]spec.Site, len(s.Sites))
	copy(sites, s.Sites)
	for i := range sites {
		nodes := append([]spec.Node(nil), sites[i].Nodes...)
		for n := range servingNodes[sites[i].Zone] {
			nodes = append(nodes, spec.Node{Name: fmt.Sprintf("%s-serving-%d", sites[i].Name, n+1), CPU: 128_000, Memory: 1 << 20, GPUs: gpusOfNode, Model: "H100", GPUMemory: 80 * 1024})
		}
		sites[i].Nodes = nodes
	}
	s.Sites = sites
}

// placesAt returns how many replicas a site could hold, were it empty.
func placesAt(site spec.Site) int { return gpusOfNode * servingNodes[site.Zone] }

// What a replica has beside its GPU, and its part of the host's idle draw: that of an awake node of eight
// GPUs (power.DefaultHost).
const (
	gpusOfNode   = 8
	replicaCores = 4
	hostWatts    = (300.0+80*gpusOfNode)/gpusOfNode + 4*replicaCores
	idleGPUWatts = 70.0 // of an H100 of an awake node without a job, which the node draws anyway (agents/power)
)

// startSeconds is from when its node is awake until a replica serves: the model is held at the site, and
// not in the GPU (SERVING.md: digest only).
const startSeconds = 120

// drainSeconds is for how long a replica that is taken away still holds its GPU.
const drainSeconds = 60

// A World is what all days have in common: the trace and the table of the replica.
type World struct {
	Table   serving.Table
	Minutes []int // requests of the trace in each minute
}

// sizedLoad is the part of its limit up to which a replica is loaded by the schedule: with the class kept
// for those who are farthest away.
func (w *World) sizedLoad() float64 { return w.Table.Goodput(farthestRTT) / w.Table.Limit }

// farthestRTT is from Frankfurt to Sydney, and a little more.
const farthestRTT = 300.0

// NewWorld tabulates the replica of the bench with the requests of a trace: an 8B model on one H100, and 95 %
// of the requests within a second to the first token and 50 ms a token.
func NewWorld(pairs []serving.Tokens, minutes []int) (*World, error) {
	table, err := serving.Tabulate(serving.Profiles()[0], pairs, serving.Class{TTFT: 1000, TPOT: 50, Percentile: 95}, 20_000, 1)
	if err != nil {
		return nil, err
	}
	return &World{Table: table, Minutes: minutes}, nil
}
