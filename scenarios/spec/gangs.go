package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/generate"
	"github.com/gridbid/gridbid/scenarios/trace"
)

// A gangsSpec lets jobs of 8 GPUs grow to gangs.
type gangsSpec struct {
	Share float64  `yaml:"share"`
	Mean  *float64 `yaml:"mean"`
}

const (
	grownFrom    = trace.MaxGPUs // GPUs of a job that may grow, and of each pod of what it becomes
	largestGrown = 1024          // GPUs: the largest job of Acme's trace

	// kalosMean is the mean of the GPUs of a job on Kalos, a cluster of Acme, in 2023: Q. Hu et al.,
	// "Characterization of Large Language Model Development in the Datacenter", NSDI '24.
	kalosMean = 26.77
)

// growGangs lets a share of the jobs of 8 GPUs grow to gangs of pods of 8 GPUs. The sizes are quantiles of
// a distribution in which each power of two is as much rarer than the one before as the mean asks for;
// the seed says which job gets which. All else of a job stays, its run time, too: so it does more work.
func (out *Scenario) growGangs(g gangsSpec) {
	var at []int
	large, rest := 0, 0 // jobs of 8 GPUs or more, and the GPUs of those that do not grow
	for i := range out.Jobs {
		switch j := &out.Jobs[i]; {
		case j.GPUs == grownFrom && !j.IsGang():
			at = append(at, i)
			large++
		case j.GPUs >= grownFrom:
			rest += j.GPUs
			large++
		}
	}
	if len(at) == 0 {
		out.addNote("gangs: no job of %d GPUs could grow", grownFrom)
		return
	}
	count := min(max(int(g.Share*float64(len(at))+0.5), 1), len(at))
	mean := kalosMean
	if g.Mean != nil {
		mean = *g.Mean
	}
	rest += grownFrom * (len(at) - count)
	sizes := gangSizes(count, int(mean*float64(large))-rest)
	generate.SeededRand(out.Seed, "gangs").Shuffle(len(at), func(i, k int) { at[i], at[k] = at[k], at[i] })
	sum := rest
	for k, gpus := range sizes {
		j := &out.Jobs[at[k]]
		*j = j.WithPods([]protocol.Component{{
			Role: "worker", Pods: gpus / grownFrom, GPUs: grownFrom, Share: 1000, GPUMemory: j.GPUMemory, CPU: j.CPU, Memory: j.Memory,
		}})
		sum += gpus
	}
	out.addNote("%d of %d jobs of %d GPUs have grown to gangs of pods of %d (%s), so that the jobs of %d GPUs or more have %.1f on the mean; it should be %.2f",
		count, len(at), grownFrom, grownFrom, countsText(sizes), grownFrom, float64(sum)/float64(large), mean)
}

// gangSizes returns count powers of two from 16 to 1024, the largest first, whose sum comes as near to
// total as it can without passing it. Ratios that are products, and no powers or logarithms, are the
// same on every machine.
func gangSizes(count, total int) []int {
	low, high := 0.0, 64.0
	best := quantileSizes(count, 0)
	for range 50 {
		middle := (low + high) / 2
		if sizes := quantileSizes(count, middle); sumOf(sizes) <= total {
			low, best = middle, sizes
		} else {
			high = middle
		}
	}
	// Many sizes change at once with the ratio; single ones fill what is left.
	left := total - sumOf(best)
	for i := range best {
		for best[i] <= left && 2*best[i] <= largestGrown {
			left -= best[i]
			best[i] *= 2
		}
	}
	slices.SortFunc(best, func(x, y int) int { return cmp.Compare(y, x) })
	return best
}

// quantileSizes returns the quantiles of a distribution of sizes in which each is ratio times as likely
// as half of it, the largest first.
func quantileSizes(count int, ratio float64) []int {
	var weights []float64
	sum, weight := 0.0, 1.0
	for size := 2 * grownFrom; size <= largestGrown; size *= 2 {
		weights = append(weights, weight)
		sum += weight
		weight = float64(weight * ratio)
	}
	out := make([]int, 0, count)
	for i := count - 1; i >= 0; i-- {
		level := (float64(i) + 0.5) / float64(count) * sum
		k, below := 0, weights[0]
		for k+1 < len(weights) && below < level {
			k++
			below += weights[k]
		}
		out = append(out, 2*grownFrom<<k)
	}
	return out
}

// sumOf returns the sum of integers.
func sumOf(all []int) (sum int) {
	for _, n := range all {
		sum += n
	}
	return sum
}

// countsText returns how often each of some sizes in descending order comes, as "1 of 64, 3 of 16".
func countsText(sizes []int) string {
	var words []string
	for i := 0; i < len(sizes); {
		n := i
		for n < len(sizes) && sizes[n] == sizes[i] {
			n++
		}
		words = append(words, fmt.Sprintf("%d of %d", n-i, sizes[i]))
		i = n
	}
	return strings.Join(words, ", ")
}

// scaleForGangs returns the least part of a list of nodes, from scale on in steps of a tenth, of which as
// many sites can hold each gang as if the whole list were dealt, and the GPUs of the widest that any can. A
// gang that a single site barely held would wait for all that runs there.
func (out *Scenario) scaleForGangs(nodes []trace.TraceNode, scale float64, sites []int) (least float64, widest int) {
	dealt := func(scale float64) []Site {
		trial := Scenario{Seed: out.Seed, Sites: make([]Site, len(out.Sites))}
		for i := range out.Sites {
			trial.Sites[i].Nodes = slices.Clone(out.Sites[i].Nodes)
		}
		trial.distributeNodes(sampleNodes(nodes, scale, len(sites), out.Seed), sites)
		return trial.Sites
	}
	type need struct {
		job   protocol.Job
		sites int
	}
	var needs []need
	whole := dealt(1)
	for _, j := range out.Jobs {
		if !j.IsGang() {
			continue
		}
		n := need{job: j}
		if n.sites = countFunc(whole, func(s Site) bool { return s.holds(j) }); n.sites > 0 {
			needs, widest = append(needs, n), max(widest, j.GPUs)
		}
	}
	for ; scale < 1; scale = min(1.1*scale, 1) {
		trial := dealt(scale)
		if !slices.ContainsFunc(needs, func(n need) bool {
			return n.sites > countFunc(trial, func(s Site) bool { return s.holds(n.job) })
		}) {
			break
		}
	}
	return scale, widest
}

// countFunc returns how many sites a function is true of.
func countFunc(sites []Site, is func(Site) bool) (n int) {
	for _, s := range sites {
		if is(s) {
			n++
		}
	}
	return n
}

// noteGangsThatFitNowhere notes how many gangs no site holds even when it is empty. Every policy refuses
// them, and says so.
func (out *Scenario) noteGangsThatFitNowhere() {
	n, first := 0, protocol.Job{}
	for _, j := range out.Jobs {
		if j.IsGang() && !out.SomeSiteFits(j) {
			if n++; n == 1 {
				first = j
			}
		}
	}
	if n > 0 {
		out.addNote("%d gangs, such as %s of %d GPUs, fit no site even when it is empty: they stay, and every policy refuses them", n, first.ID, first.GPUs)
	}
}
