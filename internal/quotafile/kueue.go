package quotafile

import (
	"maps"
	"slices"
	"strconv"

	"github.com/gridbid/gridbid/internal/yamlschema"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
)

// A kueueObject is a Cohort, ClusterQueue, LocalQueue or ResourceFlavor (kueue.x-k8s.io, v1beta1 and
// v1beta2).
type kueueObject struct {
	Kind     string `yaml:"kind"`
	Metadata struct {
		Name      string `yaml:"name"`
		Namespace string `yaml:"namespace"`
	} `yaml:"metadata"`
	Spec struct {
		Cohort         string                    `yaml:"cohort"`     // of a ClusterQueue, v1beta1
		CohortName     string                    `yaml:"cohortName"` // of a ClusterQueue, v1beta2
		Parent         string                    `yaml:"parent"`     // of a Cohort, v1alpha1
		ParentName     string                    `yaml:"parentName"` // of a Cohort
		ClusterQueue   string                    `yaml:"clusterQueue"`
		ResourceGroups []resourceGroup           `yaml:"resourceGroups"`
		Queueing       protocol.QueueingStrategy `yaml:"queueingStrategy"` // of a ClusterQueue
		FairSharing    struct {
			Weight *string `yaml:"weight"`
		} `yaml:"fairSharing"`
	} `yaml:"spec"`
	page *yamlschema.Page
}

type resourceGroup struct {
	Flavors []struct {
		Resources []struct {
			Name           string  `yaml:"name"`
			NominalQuota   string  `yaml:"nominalQuota"`
			BorrowingLimit *string `yaml:"borrowingLimit"`
			LendingLimit   *string `yaml:"lendingLimit"`
		} `yaml:"resources"`
	} `yaml:"flavors"`
}

// kueueObjects are the objects of a file, in its order.
type kueueObjects struct {
	cohorts, queues, locals []kueueObject
}

// notHonoured are the fields that have no effect here, by their key in spec.
var notHonoured = []string{"namespaceSelector", "preemption", "flavorFungibility", "admissionChecks", "admissionChecksStrategy", "admissionScope", "stopPolicy", "nodeLabels", "nodeTaints", "tolerations", "topologyName"}

// readObject reads one object, and notes its fields that have no effect.
func (k *kueueObjects) readObject(r *reader, page *yamlschema.Page) error {
	o := kueueObject{page: page}
	if err := page.DecodeInto(&o); err != nil {
		return err
	}
	var fields struct {
		Spec map[string]any `yaml:"spec"`
	}
	if err := page.DecodeInto(&fields); err != nil {
		return err
	}
	for _, key := range notHonoured {
		if _, set := fields.Spec[key]; set {
			r.note(page, []string{"spec", key}, "is not honoured: of Kueue's objects only the tree, its quotas and weights are read")
		}
	}
	switch o.Kind {
	case "Cohort":
		k.cohorts = append(k.cohorts, o)
	case "ClusterQueue":
		k.queues = append(k.queues, o)
	case "LocalQueue":
		if o.Metadata.Namespace == "" {
			return page.FaultAt([]string{"metadata"}, "has no namespace: it is the tenant; add it")
		}
		if o.Spec.ClusterQueue == "" {
			return page.FaultAt([]string{"spec"}, "has no clusterQueue: add it")
		}
		k.locals = append(k.locals, o)
	}
	return nil
}

// amounts are the GPUs of an object, over all its flavors. borrow and lend are nil where a flavor has
// no limit.
type amounts struct {
	nominal      float64
	borrow, lend *float64
}

func (o *kueueObject) amounts(r *reader) (a amounts, err error) {
	unlimited := make(map[string]bool)
	for g, group := range o.Spec.ResourceGroups {
		for f, flavor := range group.Flavors {
			for i, x := range flavor.Resources {
				path := []string{"spec", "resourceGroups", strconv.Itoa(g), "flavors", strconv.Itoa(f), "resources", strconv.Itoa(i)}
				if !isGPU(x.Name) {
					r.note(o.page, path, "%s is not honoured: quotas limit GPUs", strconv.Quote(x.Name))
					continue
				}
				for _, q := range []struct {
					key  string
					text *string
					add  func(float64)
				}{
					{"nominalQuota", &x.NominalQuota, func(v float64) { a.nominal += v }},
					{"borrowingLimit", x.BorrowingLimit, func(v float64) { a.borrow = sum(a.borrow, v) }},
					{"lendingLimit", x.LendingLimit, func(v float64) { a.lend = sum(a.lend, v) }},
				} {
					if q.text == nil {
						unlimited[q.key] = true
						continue
					}
					v, ok := parseQuantity(*q.text)
					if !ok {
						return a, o.page.FaultAt(append(path, q.key), "is %q: want a number of GPUs, such as 8 or 500m", *q.text)
					}
					q.add(v)
				}
			}
		}
	}
	if unlimited["borrowingLimit"] {
		a.borrow = nil
	}
	if unlimited["lendingLimit"] {
		a.lend = nil
	}
	return a, nil
}

// fileQuota returns the quota of an object, without its name and parent.
func (o *kueueObject) fileQuota(r *reader) (q quota.FileQuota, a amounts, err error) {
	if a, err = o.amounts(r); err != nil {
		return q, a, err
	}
	if w := o.Spec.FairSharing.Weight; w != nil {
		v, ok := parseQuantity(*w)
		if !ok {
			return q, a, o.page.FaultAt([]string{"spec", "fairSharing", "weight"}, "is %q: want a number, such as 2 or 500m", *w)
		}
		q.Weight = &v
	}
	q.Queueing = o.Spec.Queueing
	return q, a, nil
}

// keysOfKueue are where an object of Kueue has the fields of a quota.
var keysOfKueue = map[string]string{"name": "metadata/name", "parent": "spec", "min": "spec/resourceGroups", "max": "spec/resourceGroups", "lend": "spec/resourceGroups", "weight": "spec/fairSharing/weight"}

// addKueue adds the tree of the file's objects of Kueue. There, a cohort's own quota comes on top of
// its members', and who is in no cohort borrows from nobody.
func (r *reader) addKueue() error {
	k := &r.kueue
	own := make(map[string]float64)        // GPUs of a cohort beside its members'
	members := make(map[string][]string)   // of a cohort
	guaranteed := make(map[string]float64) // of a ClusterQueue
	index := make(map[string]int)          // of a cohort in r.quotas
	addCohort := func(q quota.FileQuota, from origin) { index[q.Name] = len(r.quotas); r.add(q, from) }
	for _, o := range k.cohorts {
		q, a, err := o.fileQuota(r)
		if err != nil {
			return err
		}
		q.Name, q.Parent, q.Lend = o.Metadata.Name, o.Spec.ParentName+o.Spec.Parent, a.lend
		own[q.Name], members[q.Parent] = a.nominal, append(members[q.Parent], q.Name)
		addCohort(q, origin{o.page, nil, keysOfKueue})
	}
	for _, o := range k.queues {
		q, a, err := o.fileQuota(r)
		if err != nil {
			return err
		}
		q.Name, q.Parent, q.Min, q.Lend = o.Metadata.Name, o.Spec.CohortName+o.Spec.Cohort, &a.nominal, a.lend
		if q.Parent == "" {
			a.borrow, q.Lend = new(float64), nil
		}
		if a.borrow != nil {
			most := a.nominal + *a.borrow
			q.Max = &most
		}
		guaranteed[q.Name], members[q.Parent] = a.nominal, append(members[q.Parent], q.Name)
		r.add(q, origin{o.page, nil, keysOfKueue})
		if _, named := index[q.Parent]; !named && q.Parent != "" { // a cohort needs no object
			members[""] = append(members[""], q.Parent)
			addCohort(quota.FileQuota{Name: q.Parent}, origin{o.page, nil, keysOfKueue})
		}
	}
	var total func(name string, depth int) float64
	total = func(name string, depth int) float64 {
		v := own[name] + guaranteed[name]
		for _, m := range members[name] {
			if depth < 32 { // more is a cycle, which the tree's check names
				v += total(m, depth+1)
			}
		}
		return v
	}
	for _, name := range slices.Sorted(maps.Keys(index)) {
		q, least := &r.quotas[index[name]], total(name, 0)
		if q.Min = &least; q.Parent == "" {
			q.Max, q.Lend = &least, nil
		}
	}
	return r.addLocalQueues()
}

// addLocalQueues adds the tenants: the namespaces of LocalQueues, each a leaf of its ClusterQueue. A
// namespace that has the name of its ClusterQueue is that leaf.
func (r *reader) addLocalQueues() error {
	in, alone := make(map[string]string), make(map[string]int)
	for _, o := range r.kueue.locals {
		alone[o.Spec.ClusterQueue]++
	}
	for _, o := range r.kueue.locals {
		namespace, queue := o.Metadata.Namespace, o.Spec.ClusterQueue
		was, again := in[namespace]
		switch {
		case again && was != queue:
			return o.page.FaultAt([]string{"spec", "clusterQueue"}, "namespace %s is in %s, too: a tenant has one quota; leave one out", namespace, was)
		case again || namespace == queue && alone[queue] == 1:
			in[namespace] = queue
			continue
		case !slices.ContainsFunc(r.kueue.queues, func(c kueueObject) bool { return c.Metadata.Name == queue }):
			return o.page.FaultAt([]string{"spec", "clusterQueue"}, "no ClusterQueue of the file is named %s: add it", queue)
		}
		in[namespace] = queue
		q, _, err := o.fileQuota(r)
		if err != nil {
			return err
		}
		q.Name, q.Parent = namespace, queue
		r.add(q, origin{o.page, nil, map[string]string{"name": "metadata/namespace", "parent": "spec/clusterQueue", "weight": "spec/fairSharing/weight"}})
	}
	return nil
}
