package telemetry

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/gridbid/gridbid/bus/natsbus"
	"github.com/gridbid/gridbid/protocol"
)

// Bounds of labels and of stored jobs: names come from other parties.
const (
	maxSites   = 1024
	maxJobs    = 65_536
	otherSites = "others"
)

// metrics counts the messages that a party received and sent.
type metrics struct {
	messages                *prometheus.CounterVec
	round, award            prometheus.Histogram
	offer                   *prometheus.HistogramVec
	settled, energy, carbon *prometheus.CounterVec
	estimated               *prometheus.CounterVec
	paid                    *prometheus.GaugeVec
	refused                 *prometheus.Desc
	now                     func() time.Time
	mu                      sync.Mutex
	counts                  map[string]int // the market's refusals by reason code
	sites                   map[string]bool
	submitted               map[protocol.JobID]time.Time // jobs that wait, with their submission; zero time: submitted in an earlier term
	callSentAt              time.Time                    // of the round that is open; zero: none
	waiting                 prometheus.GaugeFunc
}

func newMetrics(r *prometheus.Registry, now func() time.Time) *metrics {
	buckets := prometheus.ExponentialBuckets(0.001, 2.5, 14) // 1 ms to 150 s
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		messages:  counter("gridbid_messages_total", "Messages received (heard) and sent (said), by kind.", "kind", "way"),
		round:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "gridbid_round_seconds", Help: "From the call of a round to its outcome.", Buckets: buckets}),
		award:     prometheus.NewHistogram(prometheus.HistogramOpts{Name: "gridbid_award_seconds", Help: "From the submission of a job to its first award.", Buckets: buckets}),
		offer:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "gridbid_offer_seconds", Help: "From the call of a round to a site's offer.", Buckets: buckets}, []string{"site"}),
		settled:   counter("gridbid_settled_total", "Jobs settled, by site.", "site"),
		estimated: counter("gridbid_estimated_total", "Jobs settled by an estimate of their energy, by site.", "site"),
		energy:    counter("gridbid_energy_joules_total", "Measured energy of settled jobs, including the facility's overhead.", "site"),
		carbon:    counter("gridbid_carbon_grams_total", "CO2-equivalent of settled jobs.", "site"),
		paid:      prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "gridbid_paid_dollars", Help: "Paid for settled jobs; negative after hours with negative energy prices."}, []string{"site"}),
		refused:   prometheus.NewDesc("gridbid_refused_total", "Messages and jobs that the market refused, by reason.", []string{"code"}, nil),
		now:       now, sites: make(map[string]bool), submitted: make(map[protocol.JobID]time.Time),
	}
	m.waiting = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "gridbid_waiting_jobs", Help: "Jobs submitted and not yet awarded or refused."}, func() float64 {
		m.mu.Lock()
		defer m.mu.Unlock()
		return float64(len(m.submitted))
	})
	r.MustRegister(m.messages, m.round, m.award, m.offer, m.settled, m.estimated, m.energy, m.carbon, m.paid, m.waiting, m, newBuildInfo(),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// CountMessages counts the messages that a party received and those that it sent in
// answer. It is bus.Loop.OnSent.
func (m *metrics) CountMessages(received, sent []protocol.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now() // not the time in the message, which comes from the sender's clock
	for _, x := range received {
		m.messages.WithLabelValues(x.KindName(), "heard").Inc()
		m.countReceived(now, x)
	}
	cleared, called := false, false
	for _, x := range sent {
		m.messages.WithLabelValues(x.KindName(), "said").Inc()
		cleared = m.countSent(now, x) || cleared
		_, call := x.Body.(protocol.CallForBids)
		called = called || call
	}
	if cleared && !m.callSentAt.IsZero() {
		m.round.Observe(now.Sub(m.callSentAt).Seconds())
		m.callSentAt = time.Time{}
	}
	if called {
		m.callSentAt = now
	}
}

func (m *metrics) countReceived(now time.Time, x protocol.Message) {
	switch b := x.Body.(type) {
	case protocol.Submit:
		if _, known := m.submitted[b.Job.ID]; !known && len(m.submitted) < maxJobs {
			m.submitted[b.Job.ID] = now
		}
	case protocol.RegisterSite:
		if x.IsPlausible() { // from now on at 0: Prometheus sees the increase of no series that begins at 1
			m.estimated.WithLabelValues(m.siteLabel(b.Site))
		}
	case protocol.Bids:
		if !m.callSentAt.IsZero() {
			m.offer.WithLabelValues(m.siteLabel(x.From.SiteName())).Observe(now.Sub(m.callSentAt).Seconds())
		}
	}
}

// countSent counts x by its content, and reports whether x is part of the outcome of a round.
func (m *metrics) countSent(now time.Time, x protocol.Message) bool {
	defer m.stopWaiting(x.Body)
	switch b := x.Body.(type) {
	case protocol.Award:
		if at := m.submitted[b.Job]; !at.IsZero() {
			m.award.Observe(now.Sub(at).Seconds())
		}
		return true
	case protocol.Defer, protocol.Reject:
		return true
	case protocol.Settlement:
		site := m.siteLabel(b.Site)
		m.settled.WithLabelValues(site).Inc()
		if b.Estimated {
			m.estimated.WithLabelValues(site).Inc()
		}
		m.energy.WithLabelValues(site).Add(max(0, float64(b.Counted.Energy)/1e3))
		m.carbon.WithLabelValues(site).Add(max(0, float64(b.Counted.Carbon)/1e3))
		m.paid.WithLabelValues(site).Add(float64(b.Paid) / 1e6)
	}
	return false
}

// stopWaiting removes a job from those that wait if b shows that it waits no more.
func (m *metrics) stopWaiting(b protocol.Body) {
	switch b := b.(type) {
	case protocol.Award:
		delete(m.submitted, b.Job)
	case protocol.Reject:
		if b.Why.Code != protocol.Duplicate { // refuses another job of the same id; the first still waits
			delete(m.submitted, b.Job)
		}
	case protocol.Confirm: // a second submission after the job's end
		if b.Code == protocol.JobClosed {
			delete(m.submitted, b.Job)
		}
	case protocol.JobStatus: // a second submission while a site has the job
		if b.State != protocol.Waiting {
			delete(m.submitted, b.Job)
		}
	case protocol.Settlement:
		delete(m.submitted, b.Job)
	}
}

// RestoreWaiting sets the waiting jobs from the events that a coordinator's term begins
// with, or from none when the term is over: messages received in an earlier term
// do not show which jobs wait now. It is leader.Config.OnRestore.
func (m *metrics) RestoreWaiting(events []protocol.Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.submitted)
	for _, f := range events {
		if b, ok := f.Body.(protocol.Submit); ok && len(m.submitted) < maxJobs {
			m.submitted[b.Job.ID] = time.Time{}
		}
		m.stopWaiting(f.Body)
	}
}

// siteLabel returns the label of a site, or others when there are too many: sites
// choose their names, so the number of labels needs a bound.
func (m *metrics) siteLabel(name string) string {
	if !m.sites[name] {
		if len(m.sites) >= maxSites {
			return otherSites
		}
		m.sites[name] = true
	}
	return name
}

// SetRefusalCounts stores how often a market refused until now, as Market.RefusalCounts returns it.
func (m *metrics) SetRefusalCounts(counts map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil {
		m.counts = make(map[string]int, len(counts))
	}
	for code, n := range counts {
		m.counts[code] = n
	}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) { out <- m.refused }

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for code, n := range m.counts {
		out <- prometheus.MustNewConstMetric(m.refused, prometheus.CounterValue, float64(n), code)
	}
}

// droppedCollector exports the messages that a bus dropped.
type droppedCollector struct{ bus *natsbus.Bus }

var droppedDesc = prometheus.NewDesc("gridbid_dropped_total", "Messages that were not delivered, by sender and reason.", []string{"speaker", "code"}, nil)

// Describe implements prometheus.Collector.
func (d droppedCollector) Describe(out chan<- *prometheus.Desc) { out <- droppedDesc }

// Collect implements prometheus.Collector.
func (d droppedCollector) Collect(out chan<- prometheus.Metric) {
	byLabel := make(map[[2]string]uint64)
	speakers := make(map[string]bool)
	for _, r := range d.bus.DropsBySender() {
		who := strings.ToValidUTF8(r.Sender, "\uFFFD") // Prometheus panics on a label that is not UTF-8
		if !speakers[who] && len(speakers) >= maxSites {
			who = otherSites
		}
		speakers[who] = true
		byLabel[[2]string{who, r.Code}] += r.Count
	}
	for l, n := range byLabel {
		out <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(n), l[0], l[1])
	}
}
