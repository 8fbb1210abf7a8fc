package main

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/gridbid/gridbid/scenarios/spec"
)

// inHeader returns the options that change a scenario without a file, in the form in which
// the header of a ledger keeps them; options that are not set are left out. They let a
// what-if replay the run as it was. Files that flags name are not kept, as they may have
// moved by then.
func inHeader(o spec.Options) map[string]string {
	head := make(map[string]string)
	if o.MaxJobs > 0 {
		head["max-jobs"] = strconv.Itoa(o.MaxJobs)
	}
	if o.Draw > 0 {
		head["draw"] = strconv.Itoa(o.Draw)
	}
	if o.Kappa != nil {
		head["kappa"] = strconv.FormatFloat(*o.Kappa, 'g', -1, 64)
	}
	if o.Carbon != "" {
		head["carbon"] = o.Carbon
	}
	if o.FleetScale > 0 {
		head["fleet-scale"] = strconv.FormatFloat(o.FleetScale, 'g', -1, 64)
	}
	if o.Gangs > 0 {
		head["gangs"] = strconv.FormatFloat(o.Gangs, 'g', -1, 64)
	}
	if o.JobsFrom != nil {
		head["jobs-from"] = strconv.FormatInt(*o.JobsFrom, 10)
	}
	return head
}

// fromHeader returns the options that inHeader wrote into the header of a ledger.
func fromHeader(head map[string]string) (o spec.Options, err error) {
	wrong := func(key string) error {
		return fmt.Errorf("the ledger's %s %q is not a number: the header is damaged", key, head[key])
	}
	o.Carbon = head["carbon"]
	if text, ok := head["max-jobs"]; ok {
		if o.MaxJobs, err = strconv.Atoi(text); err != nil {
			return o, wrong("max-jobs")
		}
	}
	if text, ok := head["draw"]; ok {
		if o.Draw, err = strconv.Atoi(text); err != nil {
			return o, wrong("draw")
		}
	}
	if text, ok := head["kappa"]; ok {
		kappa, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return o, wrong("kappa")
		}
		o.Kappa = &kappa
	}
	if text, ok := head["fleet-scale"]; ok {
		if o.FleetScale, err = strconv.ParseFloat(text, 64); err != nil {
			return o, wrong("fleet-scale")
		}
	}
	if text, ok := head["gangs"]; ok {
		if o.Gangs, err = strconv.ParseFloat(text, 64); err != nil {
			return o, wrong("gangs")
		}
	}
	if text, ok := head["jobs-from"]; ok {
		from, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return o, wrong("jobs-from")
		}
		o.JobsFrom = &from
	}
	return o, nil
}

// mergeHeader adds the entries of more to head, and returns it.
func mergeHeader(head, more map[string]string) map[string]string {
	maps.Copy(head, more)
	return head
}
