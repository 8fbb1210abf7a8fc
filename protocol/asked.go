package protocol

import "slices"

// JobsFor returns the jobs of a call for which a site is asked, in their order: all of them, unless the call
// names the sites that it asks. A position that is no site's asks nobody.
func (c *CallForBids) JobsFor(site string) []Job {
	if len(c.Sites) == 0 {
		return c.Jobs
	}
	at, known := slices.BinarySearch(c.Sites, site)
	jobs := make([]Job, 0, len(c.Jobs)/4)
	for i, j := range c.Jobs {
		positions := c.positionsOf(i)
		asked := len(positions) == 0
		if !asked && known {
			_, asked = slices.BinarySearch(positions, at)
		}
		if asked {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// positionsOf returns the positions in Sites of those that are asked for the job at i; none: all are asked.
func (c *CallForBids) positionsOf(i int) []int {
	if i >= len(c.Asked) {
		return nil
	}
	return c.Asked[i]
}

// asksAll reports whether all sites are asked for some job of the call.
func (c *CallForBids) asksAll() bool {
	if len(c.Sites) == 0 {
		return true
	}
	for i := range c.Jobs {
		if len(c.positionsOf(i)) == 0 {
			return true
		}
	}
	return false
}

// AskedSites returns the sites that are asked for some job; nil: all.
func (c *CallForBids) AskedSites() []string {
	if c.asksAll() {
		return nil
	}
	return c.Sites
}

// NameAsked leaves out of Sites all that are not asked for any job; asked says which are, by position.
func (c *CallForBids) NameAsked(asked []bool) {
	moved := make([]int, len(c.Sites)) // positions among the named
	var named []string
	for i, site := range c.Sites {
		if moved[i] = len(named); asked[i] {
			named = append(named, site)
		}
	}
	for _, positions := range c.Asked {
		for k, at := range positions {
			positions[k] = moved[at]
		}
	}
	c.Sites = named
}

// SitesAsked reports of each site whether it is asked for some job of the call.
func (c *CallForBids) SitesAsked() func(site string) bool {
	if c.asksAll() {
		return func(string) bool { return true }
	}
	asked := make([]bool, len(c.Sites))
	for _, positions := range c.Asked {
		for _, at := range positions {
			if at >= 0 && at < len(asked) {
				asked[at] = true
			}
		}
	}
	return func(site string) bool {
		at, known := slices.BinarySearch(c.Sites, site)
		return known && asked[at]
	}
}

// SitesAskedFor returns the sites that a call which names its sites asks for one of its jobs, by name.
func (c *CallForBids) SitesAskedFor(id JobID) []string {
	i := slices.IndexFunc(c.Jobs, func(j Job) bool { return j.ID == id })
	if i < 0 || len(c.positionsOf(i)) == 0 {
		return slices.Clone(c.Sites)
	}
	var names []string
	for _, at := range c.positionsOf(i) {
		if at >= 0 && at < len(c.Sites) {
			names = append(names, c.Sites[at])
		}
	}
	return names
}
