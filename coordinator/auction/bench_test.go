package auction

import (
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/gridbid/gridbid/protocol"
)

// crowd draws a full round of jobs that all sites can run: each offers so many
// starts, spread over a day, under each of so many power caps. A GPU-hour costs what
// the hour and the site make of it. There is room for the jobs at two thirds of
// the GPUs, were they spread over all sites and hours, and they want the same
// few of both.
func crowd(jobs, sites, starts, caps int) Round {
	rng := rand.New(rand.NewPCG(7, uint64(jobs)<<32|uint64(sites)))
	r := round(nil)
	work := 0.0
	for i := range jobs {
		l := lot(protocol.JobID(fmt.Sprintf("job-%05d", i)), []int{1, 1, 1, 1, 1, 1, 1, 1, 2, 8}[rng.IntN(10)])
		run := min(12, math.Exp(rng.NormFloat64()-0.5))
		l.Job.Run = time.Duration(run * float64(time.Hour)).Round(time.Second)
		work += run * float64(l.Job.GPUs)
		r.Lots = append(r.Lots, l)
	}
	gpus := max(8, int(math.Ceil(work/24/float64(sites)*1.5)))
	for s := range sites {
		site := Site{Name: fmt.Sprintf("site-%03d", s), Trust: 1000}
		site.Capacity = []protocol.CapacityProfile{hourly("V100", protocol.Milli(gpus)*1000, protocol.Milli(gpus)*1000)}
		r.Sites = append(r.Sites, site)
		level, swing, peak := 0.5+rng.Float64(), 0.4*rng.Float64(), 24*rng.Float64()
		price := func(h float64) float64 { return level * (1 + swing*math.Cos((h-peak)*math.Pi/12)) }
		for i := range r.Lots {
			j := r.Lots[i].Job
			m := SiteBids{Site: site.Name}
			own := 1 + 0.1*rng.Float64() // the node that it would get
			for k := range starts {
				h := k * 24 / starts
				for c := range caps {
					slow, saves := 1+0.12*float64(c), 1-0.13*float64(c)
					hours := j.Run.Hours() * slow
					o := option("V100", float64(h), float64(h)+hours, 0)
					o.Cap = protocol.Milliwatts(250-50*c) * 1000 * protocol.Milliwatts(min(c, 1))
					o.Money = protocol.Microdollars(20_000 * own * saves * float64(j.GPUs) * hours * price(float64(h)+hours/2))
					m.Options = append(m.Options, o)
				}
			}
			r.Lots[i].Bids = append(r.Lots[i].Bids, m)
		}
	}
	return r
}

// greedy awards the jobs of a round one after the other in order of arrival, each its cheapest
// option that still fits: a market without rounds.
func greedy(p *problem) (choice []int) {
	left := p.newRemainingCapacity()
	for i := range p.lots {
		c := p.chooseOption(i, left, priceOfFreeCapacity)
		choice = append(choice, c)
		if c >= 0 {
			left.takeOption(p.lots[i], c, 1)
		}
	}
	return choice
}

func cost(p *problem, choice []int) (sum float64, without int) {
	for i, c := range choice {
		if c < 0 {
			without++
			continue
		}
		sum += p.lots[i].candidateAt(c).cost.InDollars()
	}
	return sum, without
}

// spent returns the CPU time of this process: on a busy machine wall-clock time says little.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of ourselves it does not fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A whole full round: prices, assignment, certificate. Sites offer starts and caps
// of each job: eight of them, as ours do, or all 72 there are. Beside it what the
// same round costs if its jobs are sold one after the other.
func BenchmarkClearing(b *testing.B) {
	for _, n := range []struct{ jobs, sites, starts, caps int }{
		{1000, 64, 4, 2}, {1000, 64, 24, 3},
		{250, 64, 4, 2}, {500, 64, 4, 2}, {2000, 64, 4, 2},
		{1000, 8, 4, 2}, {1000, 16, 4, 2}, {1000, 32, 4, 2}, {1000, 128, 4, 2},
	} {
		r := crowd(n.jobs, n.sites, n.starts, n.caps)
		name := fmt.Sprintf("jobs=%d/sites=%d/options=%d", n.jobs, n.sites, n.starts*n.caps)
		b.Run("auction/"+name, func(b *testing.B) {
			began := spent()
			for b.Loop() {
				out := New(Config{}).Clear(r)
				b.ReportMetric(100*(float64(out.Proof.Primal)/float64(out.Proof.Bound)-1), "%gap")
				b.ReportMetric(out.Proof.Primal.InDollars(), "usd")
				b.ReportMetric(float64(n.jobs-out.Proof.Jobs), "unplaced")
			}
			b.ReportMetric((spent()-began).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
		b.Run("greedy/"+name, func(b *testing.B) {
			began := spent()
			for b.Loop() {
				p := newProblem(r, nil, &priceMemory{})
				sum, without := cost(p, greedy(p))
				b.ReportMetric(sum, "usd")
				b.ReportMetric(float64(without), "unplaced")
			}
			b.ReportMetric((spent()-began).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}
