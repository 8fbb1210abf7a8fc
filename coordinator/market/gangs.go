package market

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// invalidSpread returns why a site's places for a gang under an option cannot be, or "": each pod has one
// place, no node is named twice for a component, and no more nodes and GPUs are used than the site has.
func (k *Market) invalidSpread(site string, j *protocol.Job, o *protocol.BidOption, places []protocol.Place) string {
	if why := j.InvalidPlaces(places); why != "" {
		return why
	}
	gpus := make(map[string]int)
	nodes := make(map[string]bool)
	for _, p := range places {
		nodes[p.Node] = true
		if c := &j.Pods[p.Component]; c.GPUs > 0 {
			use := p.Pods * c.GPUs
			if c.IsShare() {
				perDevice := int(1000 / c.Share)
				use = (p.Pods + perDevice - 1) / perDevice
			}
			if gpus[p.Node] += use; gpus[p.Node] > protocol.MaxGPUs {
				return fmt.Sprintf("%d GPUs on node %s", gpus[p.Node], p.Node)
			}
		}
	}
	at, have, all := j.AtPlaces(places), protocol.Pool{}, 0
	for _, p := range k.sites[site].registration.Pools {
		if all += p.Nodes; p.Model == o.Model {
			have = p
		}
	}
	switch {
	case len(nodes) > all:
		return fmt.Sprintf("%d nodes, and the site has %d", len(nodes), all)
	case len(gpus) > have.Nodes:
		return fmt.Sprintf("%d nodes with GPUs, and the site has %d of that model", len(gpus), have.Nodes)
	case at.TotalGPUMilli() > protocol.Milli(have.GPUs)*1000:
		return "more GPUs than the site has of that model"
	}
	return ""
}

// awardedJob returns the job of a lot as it was awarded last: an elastic one, and a gang that may start with
// fewer pods, on as many pods.
func (l *lot) awardedJob() *protocol.Job {
	if len(l.places) == 0 {
		return &l.job
	}
	j := l.job.AtPlaces(l.places)
	return &j
}

// placesToKeep returns the places of an award that awardedJob needs: those of a job that can run on several
// numbers of pods.
func (l *lot) placesToKeep(places []protocol.Place) []protocol.Place {
	if !l.job.HasSizes() {
		return nil
	}
	return places
}

// mayMove reports whether the site of a lot may pause it unasked, for it to go on elsewhere or with another
// number of pods.
func (l *lot) mayMove() bool { return l.job.IsGang() && l.job.Pause > 0 }

// spreadOf returns the places that a site stated for an option of a job.
func spreadOf(all []protocol.Spread, id protocol.JobID, option int) []protocol.Place {
	for i := range all {
		if all[i].Job == id && all[i].Option == option {
			return all[i].Places
		}
	}
	return nil
}

// placesOf returns the places of a lot's option as its site stated them in a round; nil if it is no gang.
func (r *round) placesOf(l *lot, site string, o protocol.BidOption) []protocol.Place {
	if r == nil || !l.job.IsGang() {
		return nil
	}
	bids := r.offers[site]
	for _, m := range bids.Jobs {
		if m.Job != l.job.ID {
			continue
		}
		if i := slices.Index(m.Options, o); i >= 0 {
			return spreadOf(bids.Spreads, m.Job, i)
		}
	}
	return nil
}

// gpusOfOptions returns what each option of an elastic job, or of a gang that may start with fewer pods,
// takes; nil of other jobs.
func (r *round) gpusOfOptions(l *lot, site string, options []protocol.BidOption) (gpus []protocol.Milli) {
	if !l.job.HasSizes() {
		return nil
	}
	for i := range options {
		if l.job.IsElastic() { // its places are as many as its pods: see invalidSpread
			gpus = append(gpus, l.job.GPUsUnder(&options[i]))
			continue
		}
		job := l.job.AtPlaces(r.placesOf(l, site, options[i]))
		gpus = append(gpus, job.TotalGPUMilli())
	}
	return gpus
}

// largestSetReason returns why no site can ever run a gang: how much of it would fit, and where. The note
// is empty if no site said so.
func (r *round) largestSetReason(l *lot) (why protocol.Reason, said bool) {
	most, at := -1, ""
	fewest, _ := l.job.PodRange()
	for _, name := range slices.Sorted(maps.Keys(r.offers)) {
		for _, x := range r.offers[name].Largest {
			if x.Job == l.job.ID && x.Pods > most && x.Pods >= 0 && x.Pods <= l.job.PodCount() {
				most, at = x.Pods, name
			}
		}
	}
	if most < 0 {
		return why, false
	}
	if level := l.job.RequiredTopology; level != "" {
		return protocol.Reason{Code: protocol.FitsNoNode, Note: fmt.Sprintf("its %d pods fit no domain of %s, even an empty one: the largest set that would fit one is %d, at %s", fewest, level, most, at)}, true
	}
	return protocol.Reason{Code: protocol.FitsNoNode, Note: fmt.Sprintf("its %d pods fit no site, even an empty one: the largest set that would fit is %d, at %s", fewest, most, at)}, true
}
