package promenergy

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// A utilizationQuery is one value of a job's usage and its query.
type utilizationQuery struct {
	metric     string
	query      string  // %s is the metric's range selector: the run's pods, over the run
	upperBound float64 // plausibility bound; a larger value has another unit
	assign     func(*protocol.Utilization, float64)
}

// utilizationQueries uses the exporters' units: per cent, MiB, degrees Celsius, cores, bytes.
// cAdvisor's series with an empty container label are sums of the pod, which would
// count twice.
var utilizationQueries = []utilizationQuery{
	{"DCGM_FI_DEV_GPU_UTIL", "avg(avg_over_time(%s))", 100, func(u *protocol.Utilization, v float64) { u.GPU = protocol.Milli(math.Round(v * 10)) }},
	{"DCGM_FI_DEV_FB_USED", "max(max_over_time(%s))", 1 << 21, func(u *protocol.Utilization, v float64) { u.GPUMemory = protocol.MiB(math.Round(v)) }},
	{"DCGM_FI_DEV_GPU_TEMP", "max(max_over_time(%s))", 150, func(u *protocol.Utilization, v float64) { u.Temperature = int(math.Round(v)) }},
	{"container_cpu_usage_seconds_total", "sum(rate(%s))", 1 << 20, func(u *protocol.Utilization, v float64) { u.CPU = protocol.Milli(math.Round(v * 1000)) }},
	{"container_memory_working_set_bytes", "sum(max_over_time(%s))", 1 << 50, func(u *protocol.Utilization, v float64) { u.Memory = bytesToMiB(v) }},
	{"container_network_receive_bytes_total", "sum(increase(%s))", 1 << 58, func(u *protocol.Utilization, v float64) { u.Received = bytesToMiB(v) }},
	{"container_network_transmit_bytes_total", "sum(increase(%s))", 1 << 58, func(u *protocol.Utilization, v float64) { u.Sent = bytesToMiB(v) }},
}

// bytesToMiB converts from bytes.
func bytesToMiB(bytes float64) protocol.MiB { return protocol.MiB(math.Round(bytes / (1 << 20))) }

// minQueryRange is the shortest range of a query: a rate needs two samples.
const minQueryRange = 2 * time.Minute

// QueryUtilization returns the resource usage of a run's pods: GPUs from DCGM-exporter, cores,
// memory and network from cAdvisor, which is part of every kubelet. A value that is
// not scraped is 0 and no error. With an error, Use returns the values read before
// it.
func (m *PrometheusMeter) QueryUtilization(ctx context.Context, r MeteredRun) (u protocol.Utilization, err error) {
	lasted := fmt.Sprintf("[%ds]", int(max(r.Until.Sub(r.Since), minQueryRange).Seconds()))
	for _, f := range utilizationQueries {
		pods := fmt.Sprintf("namespace=%q,pod=~%q", r.Namespace, r.podPattern())
		of := f.metric + "{" + pods + "}" + lasted
		switch {
		case strings.HasPrefix(f.metric, "container_network"): // network series belong to the pod and have no container label
		case strings.HasPrefix(f.metric, "container"):
			of = f.metric + "{" + pods + `,container!=""}` + lasted
		}
		query := fmt.Sprintf(f.query, of)
		if strings.HasPrefix(f.metric, "DCGM") { // see GPUEnergy
			query += " or " + fmt.Sprintf(f.query, fmt.Sprintf("%s{exported_namespace=%q,exported_pod=~%q}", f.metric, r.Namespace, r.podPattern())+lasted)
		}
		all, err := m.queryServer(ctx, "/api/v1/query", url.Values{"query": {query}, "time": {formatSeconds(r.Until)}})
		if err != nil {
			return u, err
		}
		if len(all) == 0 || len(all[0].points) == 0 {
			continue
		}
		v := all[0].points[0].value
		if len(all) > 1 || v > f.upperBound {
			return u, fmt.Errorf("promenergy: %s is %g in %d series: want one series with 0 to %g: check its unit", f.metric, v, len(all), f.upperBound)
		}
		f.assign(&u, v)
	}
	return u, nil
}
