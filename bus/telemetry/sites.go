package telemetry

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// A SiteStatus is how one site of a coordinator stands now.
type SiteStatus struct {
	Site, State           string
	Up                    bool    // it is heard, and takes part
	LastSeenAge           float64 // seconds since the coordinator heard it; negative: not since it leads
	GPUs, Held, Free      float64
	Running, Planned      int     // jobs
	Price, Carbon         float64 // dollars per MWh and grams per kWh of this hour
	GridKnown             bool    // a bid of the site tells both
	Power, JobsPower, Cap float64 // watts; JobsPower with the facility's share
	PowerKnown            bool    // an hour was metered
}

// RegisterSites exports the state of a coordinator's sites, and whether it leads; a standby has no
// sites. states are all states that a site can have. read must be safe for concurrent use.
func (t *Telemetry) RegisterSites(states []string, read func() (leads bool, all []SiteStatus)) {
	t.registry.MustRegister(siteCollector{states, read})
}

type siteCollector struct {
	states []string
	read   func() (bool, []SiteStatus)
}

func siteDesc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc("gridbid_"+name, help, append([]string{"site"}, more...), nil)
}

var (
	leaderDesc     = prometheus.NewDesc("gridbid_leader", "1 if this coordinator leads, 0 if it stands by.", nil, nil)
	upDesc         = siteDesc("site_up", "1 if the site takes part; 0 if it is silent, revoked or gone.")
	stateDesc      = siteDesc("site_state", "1 for the state that the site is in, 0 for the others.", "state")
	heardDesc      = siteDesc("site_heard_age_seconds", "Time since the coordinator heard the site's agent, heartbeats included, by the coordinator's clock.")
	siteGPUsDesc   = siteDesc("site_gpus", "GPUs of the site.")
	heldDesc       = siteDesc("site_gpus_held", "GPUs that running jobs hold.")
	freeDesc       = siteDesc("site_gpus_free", "GPUs that no job of the market holds.")
	siteJobsDesc   = siteDesc("site_jobs", "Jobs that the site runs, and those that it has and has not started.", "state")
	sitePriceDesc  = siteDesc("site_price_dollars_per_mwh", "Price of energy in this hour, as the site bids.")
	siteCarbonDesc = siteDesc("site_carbon_grams_per_kwh", "CO2-equivalent of energy in this hour, as the site bids.")
	sitePowerDesc  = siteDesc("site_power_watts", "Mean draw of the last metered hour, before the facility's share.")
	jobsPowerDesc  = siteDesc("site_jobs_power_watts", "Of that, the draw of jobs, with the facility's share: what a power cap counts.")
	capDesc        = siteDesc("site_power_cap_watts", "The least power cap of the operators' policy that covers the site now; absent without one.")
)

// Describe implements prometheus.Collector.
func (c siteCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{leaderDesc, upDesc, stateDesc, heardDesc, siteGPUsDesc, heldDesc, freeDesc, siteJobsDesc, sitePriceDesc, siteCarbonDesc, sitePowerDesc, jobsPowerDesc, capDesc} {
		out <- d
	}
}

// Collect implements prometheus.Collector. Sites beyond the first maxSites are left out: a gauge of
// several sites would be of none.
func (c siteCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	leads, all := c.read()
	gauge(leaderDesc, oneIf(leads))
	seen := make(map[string]bool)
	for _, s := range all[:min(len(all), maxSites)] {
		site := strings.ToValidUTF8(s.Site, "\uFFFD")
		if seen[site] {
			continue
		}
		seen[site] = true
		gauge(upDesc, oneIf(s.Up), site)
		for _, state := range c.states {
			gauge(stateDesc, oneIf(state == s.State), site, state)
		}
		if s.LastSeenAge >= 0 {
			gauge(heardDesc, s.LastSeenAge, site)
		}
		gauge(siteGPUsDesc, s.GPUs, site)
		gauge(heldDesc, s.Held, site)
		gauge(freeDesc, s.Free, site)
		gauge(siteJobsDesc, float64(s.Running), site, "running")
		gauge(siteJobsDesc, float64(s.Planned), site, "planned")
		if s.GridKnown {
			gauge(sitePriceDesc, s.Price, site)
			gauge(siteCarbonDesc, s.Carbon, site)
		}
		if s.PowerKnown {
			gauge(sitePowerDesc, s.Power, site)
			gauge(jobsPowerDesc, s.JobsPower, site)
		}
		if s.Cap > 0 {
			gauge(capDesc, s.Cap, site)
		}
	}
}

// oneIf returns 1 for true, and else 0.
func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
