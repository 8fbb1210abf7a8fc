package api

import (
	"fmt"
	"slices"

	"github.com/gridbid/gridbid/coordinator/jobstatus"
	"github.com/gridbid/gridbid/internal/jobfile"
	"github.com/gridbid/gridbid/internal/nearest"
)

// A namesOfKey is the names of sites under a key of a file.
type namesOfKey struct {
	key   string
	names []string
}

// checkJobNames returns an error if a job names a GPU model or a site that the federation has not.
func (d *Server) checkJobNames(o jobfile.Request) error {
	return d.checkNames("job", o.Models(), []namesOfKey{{"regions", o.Regions()}, {"home", []string{o.Home()}}})
}

// checkNames returns an error if a job or a service names a GPU model or a site that the federation has
// not: most likely a typing error, of which the market would only say a second later that no site can
// run it. While no site is known, nothing can be said.
func (d *Server) checkNames(what string, wanted []string, atSites []namesOfKey) error {
	var sites, models []string
	d.readStatus(func(b *jobstatus.View) {
		for _, s := range b.AllSites(d.clock.Now()) {
			sites = append(sites, s.Name)
			for _, p := range s.Pools {
				if p.Model != "" && !slices.Contains(models, p.Model) {
					models = append(models, p.Model)
				}
			}
		}
	})
	if len(sites) == 0 {
		return nil
	}
	slices.Sort(models)
	for _, name := range wanted {
		if !slices.Contains(models, name) {
			return fmt.Errorf("api: %s: models: no site has a GPU of model %q%s", what, name, nearest.WhatThereIs(name, models))
		}
	}
	for _, list := range atSites {
		for _, name := range list.names {
			if name != "" && !slices.Contains(sites, name) {
				return fmt.Errorf("api: %s: %s: unknown site %q%s", what, list.key, name, nearest.WhatThereIs(name, sites))
			}
		}
	}
	return nil
}
