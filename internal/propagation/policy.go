package propagation

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/internal/servicefile"
	"github.com/gridbid/gridbid/internal/yamlschema"
)

// A policy is a PropagationPolicy or a ClusterPropagationPolicy, and how it divides.
type policy struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       struct {
		ResourceSelectors           []selector     `yaml:"resourceSelectors"`
		Priority                    int            `yaml:"priority"`
		Placement                   placement      `yaml:"placement"`
		ReplicaScheduling           *scheduling    `yaml:"replicaScheduling"` // of ACK One, which has it here, too
		PreserveResourcesOnDeletion bool           `yaml:"preserveResourcesOnDeletion"`
		SchedulerName               string         `yaml:"schedulerName"`
		Rest                        map[string]any `yaml:",inline"`
	} `yaml:"spec"`
	page     *yamlschema.Page
	division servicefile.Spec // what it says of a service's sites and division
	selects  bool
}

type metadata struct {
	Name      string            `yaml:"name"`
	Namespace string            `yaml:"namespace"`
	Labels    map[string]string `yaml:"labels"`
}

type placement struct {
	ClusterAffinity    *affinity  `yaml:"clusterAffinity"`
	ClusterAffinities  []affinity `yaml:"clusterAffinities"`
	ClusterTolerations []any      `yaml:"clusterTolerations"`
	WorkloadAffinity   struct {
		Affinity     groupTerm `yaml:"affinity"`
		AntiAffinity groupTerm `yaml:"antiAffinity"`
	} `yaml:"workloadAffinity"`
	ReplicaScheduling *scheduling `yaml:"replicaScheduling"`
	SpreadConstraints []struct {
		Field     string `yaml:"spreadByField"`
		Label     string `yaml:"spreadByLabel"`
		MinGroups int    `yaml:"minGroups"`
		MaxGroups int    `yaml:"maxGroups"`
	} `yaml:"spreadConstraints"`
}

// A groupTerm puts the workloads that have the same value of a label into one group.
type groupTerm struct {
	Key string `yaml:"groupByLabelKey"`
}

// A scheduling is by which rule replicas are divided.
type scheduling struct {
	Type       string `yaml:"replicaSchedulingType"`
	Preference string `yaml:"replicaDivisionPreference"`
	Weights    struct {
		Dynamic string `yaml:"dynamicWeight"`
		Static  []struct {
			Target affinity `yaml:"targetCluster"`
			Weight int      `yaml:"weight"`
		} `yaml:"staticWeightList"`
	} `yaml:"weightPreference"`
}

type affinity struct {
	Name               string     `yaml:"affinityName"`
	ClusterNames       []string   `yaml:"clusterNames"`
	Exclude            []any      `yaml:"exclude"`
	LabelSelector      any        `yaml:"labelSelector"`
	FieldSelector      any        `yaml:"fieldSelector"`
	OverflowAffinities []affinity `yaml:"overflowAffinities"`
}

// readPlacement reads what a policy says of a service's sites and division.
func (r *reader) readPlacement(p *policy) error {
	for _, key := range slices.Sorted(maps.Keys(p.Spec.Rest)) {
		why := "services know nothing like it"
		if key == "autoScaling" {
			why = "sites do not bid stock that is not provisioned"
		}
		if err := r.unsupported(p.page, []string{"spec", key}, why); err != nil {
			return err
		}
	}
	if p.Spec.PreserveResourcesOnDeletion {
		if err := r.unsupported(p.page, []string{"spec", "preserveResourcesOnDeletion"}, "a service that is deleted leaves all sites"); err != nil {
			return err
		}
	}
	if s := p.Spec.SchedulerName; s != "" && s != "default-scheduler" {
		if err := r.unsupported(p.page, []string{"spec", "schedulerName"}, "the market divides"); err != nil {
			return err
		}
	}
	at := []string{"spec", "placement"}
	x := &p.Spec.Placement
	if len(x.ClusterTolerations) > 0 {
		if err := r.unsupported(p.page, append(at, "clusterTolerations"), "sites have no taints: name those that may run it"); err != nil {
			return err
		}
	}
	if err := r.readAffinities(p, at); err != nil {
		return err
	}
	if err := r.readSpread(p, append(at, "spreadConstraints")); err != nil {
		return err
	}
	at = append(at, "replicaScheduling")
	switch own := p.Spec.ReplicaScheduling; {
	case own != nil && x.ReplicaScheduling != nil:
		return p.page.FaultAt(at, "stands in spec, too: keep one of them")
	case own != nil:
		return r.readScheduling(p, []string{"spec", "replicaScheduling"}, own)
	case x.ReplicaScheduling == nil:
		x.ReplicaScheduling = new(scheduling)
	}
	return r.readScheduling(p, at, x.ReplicaScheduling)
}

// readAffinities reads the sites of a policy: one set, groups of which one holds all, or tiers.
func (r *reader) readAffinities(p *policy, at []string) error {
	x := &p.Spec.Placement
	if x.ClusterAffinity != nil && len(x.ClusterAffinities) > 0 {
		return p.page.FaultAt(append(at, "clusterAffinities"), "stands beside clusterAffinity: keep one of them")
	}
	if x.ClusterAffinity != nil {
		sites, err := r.clusters(p, append(at, "clusterAffinity"), *x.ClusterAffinity)
		p.division.Sites = sites
		return err
	}
	for i, a := range x.ClusterAffinities {
		here := append(slices.Clone(at), "clusterAffinities", strconv.Itoa(i))
		sites, err := r.clusters(p, here, a)
		if err != nil {
			return err
		}
		if len(sites) == 0 {
			return p.page.FaultAt(here, "names no cluster: add clusterNames")
		}
		p.division.Tiers = append(p.division.Tiers, sites)
		for k, over := range a.OverflowAffinities {
			there := append(slices.Clone(here), "overflowAffinities", strconv.Itoa(k))
			if len(x.ClusterAffinities) > 1 {
				return p.page.FaultAt(there, "overflows one of several clusterAffinities: services have tiers or groups, not both; keep one clusterAffinity")
			}
			sites, err := r.clusters(p, there, over)
			if err != nil {
				return err
			}
			if len(sites) == 0 {
				return p.page.FaultAt(there, "names no cluster: add clusterNames")
			}
			p.division.Tiers = append(p.division.Tiers, sites)
		}
	}
	// Karmada's groups are tried one after the other, and one holds all; ACK One's spill over.
	p.division.Exclusive = len(x.ClusterAffinities) > 1 && !strings.HasPrefix(p.APIVersion, ackGroup)
	return nil
}

// clusters returns the sites of an affinity.
func (r *reader) clusters(p *policy, at []string, a affinity) ([]string, error) {
	for _, x := range []struct {
		key   string
		given bool
	}{{"exclude", len(a.Exclude) > 0}, {"labelSelector", a.LabelSelector != nil}, {"fieldSelector", a.FieldSelector != nil}} {
		if x.given {
			if err := r.unsupported(p.page, append(slices.Clone(at), x.key), "sites are selected by name"); err != nil {
				return nil, err
			}
		}
	}
	return r.sitesOf(p.page, append(slices.Clone(at), "clusterNames"), a.ClusterNames)
}

// readSpread reads over how many sites, regions and providers a policy spreads.
func (r *reader) readSpread(p *policy, at []string) error {
	for i, c := range p.Spec.Placement.SpreadConstraints {
		here := append(slices.Clone(at), strconv.Itoa(i))
		d := &p.division
		low, most := &d.MinSites, &d.MaxSites
		switch field := cmp.Or(c.Field, "cluster"); {
		case c.Label != "" || field == "zone":
			if err := r.unsupported(p.page, here, "sites have no zones or labels: spread by cluster, region or provider"); err != nil {
				return err
			}
			continue
		case field == "region":
			low, most = &d.MinRegions, &d.MaxRegions
		case field == "provider":
			low, most = &d.MinProviders, &d.MaxProviders
		}
		*low, *most = c.MinGroups, c.MaxGroups
	}
	return nil
}

// readScheduling reads by which rule a policy divides. Without one it copies all replicas to each cluster.
func (r *reader) readScheduling(p *policy, at []string, x *scheduling) error {
	if x.Type != "Divided" {
		return p.page.FaultAt(at, "copies all replicas to each cluster (Duplicated, the default): a service is divided; set replicaSchedulingType: Divided, or submit a service for each site")
	}
	switch static := x.Weights.Static; {
	case x.Preference == "Aggregated":
		p.division.Division = "aggregated"
	case x.Weights.Dynamic != "":
		p.division.Division = "dynamic"
	default:
		p.division.Division = "static"
		for i, w := range static {
			sites, err := r.clusters(p, append(slices.Clone(at), "weightPreference", "staticWeightList", strconv.Itoa(i), "targetCluster"), w.Target)
			if err != nil {
				return err
			}
			for _, site := range sites {
				if p.division.Weights == nil {
					p.division.Weights = make(map[string]int)
				}
				p.division.Weights[site] = max(p.division.Weights[site], w.Weight) // Karmada takes the largest
			}
		}
		if len(p.division.Tiers) > 0 && !p.division.Exclusive {
			return p.page.FaultAt(append(slices.Clone(at), "weightPreference"), "divides by static weights, which ignore room, so that no tier would overflow: set dynamicWeight: AvailableReplicas")
		}
	}
	return nil
}
