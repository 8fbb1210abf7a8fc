package telemetry

import "github.com/prometheus/client_golang/prometheus"

// An AgentStatus is what an agent knows of its site at an instant.
type AgentStatus struct {
	Site string
	// Grid has what the current hour costs by what the agent knows; nil: no source has published it.
	PriceUSDPerMWh, CarbonGramsPerKWh, PUE *float64

	GPUs, HeldGPUs           map[string]float64 // by model; shares count as parts
	IdleGPUs, FragmentedGPUs float64
	RunningJobs, CappedJobs  int
	WaitingGangs             int
	KeptGPUHours             float64 // for them
	PowerWatts               float64 // by the power model, without the facility's overhead
	CeilingWatts             float64 // that the power limits of all GPUs may sum to; 0: no ceiling is known
}

// RegisterAgent exports what an agent knows of its site. status must be safe for concurrent use;
// ok is false while there is none.
func (t *Telemetry) RegisterAgent(status func() (s AgentStatus, ok bool)) {
	t.registry.MustRegister(agentCollector(status))
}

type agentCollector func() (AgentStatus, bool)

var (
	gridPriceDesc  = prometheus.NewDesc("gridbid_grid_price_dollars_per_megawatt_hour", "Price of this hour's energy, as the agent bids by it.", []string{"site"}, nil)
	gridCarbonDesc = prometheus.NewDesc("gridbid_grid_carbon_grams_per_kilowatt_hour", "Carbon intensity of this hour's energy, as the agent bids by it.", []string{"site"}, nil)
	gridPUEDesc    = prometheus.NewDesc("gridbid_grid_pue_ratio", "Facility power over IT power in this hour, as the agent bids by it.", []string{"site"}, nil)
	gpusDesc       = prometheus.NewDesc("gridbid_agent_gpus", "GPUs that the agent sells, by model.", []string{"site", "model"}, nil)
	heldGPUsDesc   = prometheus.NewDesc("gridbid_agent_held_gpus", "GPUs that jobs of the market hold, by model.", []string{"site", "model"}, nil)
	idleGPUsDesc   = prometheus.NewDesc("gridbid_agent_idle_gpus", "GPUs that nobody uses.", []string{"site"}, nil)
	fragmentedDesc = prometheus.NewDesc("gridbid_agent_fragmented_gpus", "Idle GPUs that the usual jobs cannot use.", []string{"site"}, nil)
	runningDesc    = prometheus.NewDesc("gridbid_agent_running_jobs", "Jobs that hold capacity.", []string{"site"}, nil)
	cappedDesc     = prometheus.NewDesc("gridbid_agent_capped_jobs", "Jobs that run under a power cap.", []string{"site"}, nil)
	gangsDesc      = prometheus.NewDesc("gridbid_agent_waiting_gangs", "Jobs of several pods that wait at the site with nodes reserved.", []string{"site"}, nil)
	keptDesc       = prometheus.NewDesc("gridbid_agent_kept_gpu_hours", "GPU-hours that nodes are kept for waiting gangs before these start; jobs that end in time use them.", []string{"site"}, nil)
	ceilingDesc    = prometheus.NewDesc("gridbid_agent_power_ceiling_watts", "What the power limits of the site's GPUs may sum to.", []string{"site"}, nil)
	powerDesc      = prometheus.NewDesc("gridbid_agent_power_watts", "What nodes and jobs draw by the power model, without the facility's overhead.", []string{"site"}, nil)
)

// Describe implements prometheus.Collector.
func (a agentCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{gridPriceDesc, gridCarbonDesc, gridPUEDesc, gpusDesc, heldGPUsDesc, idleGPUsDesc, fragmentedDesc, runningDesc, cappedDesc, gangsDesc, keptDesc, powerDesc, ceilingDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (a agentCollector) Collect(out chan<- prometheus.Metric) {
	s, ok := a()
	if !ok {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{s.Site}, labels...)...)
	}
	for _, x := range []struct {
		desc  *prometheus.Desc
		value *float64
	}{{gridPriceDesc, s.PriceUSDPerMWh}, {gridCarbonDesc, s.CarbonGramsPerKWh}, {gridPUEDesc, s.PUE}} {
		if x.value != nil {
			gauge(x.desc, *x.value)
		}
	}
	for model, n := range s.GPUs {
		gauge(gpusDesc, n, model)
		gauge(heldGPUsDesc, s.HeldGPUs[model], model)
	}
	gauge(idleGPUsDesc, s.IdleGPUs)
	gauge(fragmentedDesc, s.FragmentedGPUs)
	gauge(runningDesc, float64(s.RunningJobs))
	gauge(cappedDesc, float64(s.CappedJobs))
	gauge(gangsDesc, float64(s.WaitingGangs))
	gauge(keptDesc, s.KeptGPUHours)
	gauge(powerDesc, s.PowerWatts)
	if s.CeilingWatts > 0 {
		gauge(ceilingDesc, s.CeilingWatts)
	}
}
