package quotafile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gridbid/gridbid/agents/power"
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
		NodeLabels     map[string]string         `yaml:"nodeLabels"`       // of a ResourceFlavor
		Queueing       protocol.QueueingStrategy `yaml:"queueingStrategy"` // of a ClusterQueue
		FairSharing    struct {
			Weight *string `yaml:"weight"`
		} `yaml:"fairSharing"`
	} `yaml:"spec"`
	page *yamlschema.Page
}

type resourceGroup struct {
	Flavors []struct {
		Name      string `yaml:"name"`
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
	models                  map[string]string // GPU model of a flavor, by its name; none if its labels name none
}

// notHonoured are the fields that have no effect here, by their key in spec.
var notHonoured = []string{"namespaceSelector", "preemption", "flavorFungibility", "admissionChecks", "admissionChecksStrategy", "admissionScope", "stopPolicy", "nodeTaints", "tolerations", "topologyName"}

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
	case "ResourceFlavor":
		k.addFlavor(r, o)
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

// addFlavor notes of which GPU model the nodes of a ResourceFlavor are, by the labels that name a
// product.
func (k *kueueObjects) addFlavor(r *reader, o kueueObject) {
	if k.models == nil {
		k.models = make(map[string]string)
	}
	known := power.ProductLabels()
	for _, label := range slices.Sorted(maps.Keys(o.Spec.NodeLabels)) {
		if !slices.Contains(known, label) {
			r.note(o.page, []string{"spec", "nodeLabels", label}, "is not honoured: of its labels a flavor has its GPU model, by %s", strings.Join(known, ", "))
		}
	}
	for _, label := range slices.Backward(known) { // the most specific one last, so that it stays
		if product := o.Spec.NodeLabels[label]; product != "" {
			k.models[o.Metadata.Name] = power.DefaultTable().ModelOfProduct(product)
		}
	}
}

// amounts are the GPUs of an object over some flavors. borrow and lend are nil where a flavor has no
// limit.
type amounts struct {
	nominal            float64
	borrow, lend       *float64
	borrowAll, lendAll bool // a flavor has no limit

	models map[string]*amounts // of all flavors: those of each GPU model, where the flavor says which it is
}

// add adds the GPUs of one flavor; borrow and lend are nil if it has no limit.
func (a *amounts) add(nominal float64, borrow, lend *float64) {
	a.nominal += nominal
	a.borrow, a.borrowAll = addLimit(a.borrow, a.borrowAll, borrow)
	a.lend, a.lendAll = addLimit(a.lend, a.lendAll, lend)
}

// addLimit returns a sum of limits, which is none if one of them is.
func addLimit(to *float64, none bool, limit *float64) (*float64, bool) {
	if none || limit == nil {
		return nil, true
	}
	return sum(to, *limit), false
}

// amounts returns the GPUs of an object over all its flavors.
func (o *kueueObject) amounts(r *reader) (all amounts, err error) {
	all.models = make(map[string]*amounts)
	for g, group := range o.Spec.ResourceGroups {
		for f, flavor := range group.Flavors {
			for i, x := range flavor.Resources {
				path := []string{"spec", "resourceGroups", strconv.Itoa(g), "flavors", strconv.Itoa(f), "resources", strconv.Itoa(i)}
				if !isGPU(x.Name) {
					r.note(o.page, path, "%s is not honoured: quotas limit GPUs", strconv.Quote(x.Name))
					continue
				}
				var nominal float64
				var borrow, lend *float64
				for _, q := range []struct {
					key  string
					text *string
					set  func(float64)
				}{
					{"nominalQuota", &x.NominalQuota, func(v float64) { nominal = v }},
					{"borrowingLimit", x.BorrowingLimit, func(v float64) { borrow = &v }},
					{"lendingLimit", x.LendingLimit, func(v float64) { lend = &v }},
				} {
					if q.text == nil {
						continue
					}
					v, ok := parseQuantity(*q.text)
					if !ok {
						return all, o.page.FaultAt(append(path, q.key), "is %q: want a number of GPUs, such as 8 or 500m", *q.text)
					}
					q.set(v)
				}
				all.add(nominal, borrow, lend)
				if model := r.kueue.models[flavor.Name]; model != "" {
					if all.models[model] == nil {
						all.models[model] = &amounts{}
					}
					all.models[model].add(nominal, borrow, lend)
				}
			}
		}
	}
	return all, nil
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

// A cohortTree is the tree of a file's objects of Kueue while it is read.
type cohortTree struct {
	own     map[modelOf]float64 // GPUs of a ClusterQueue, or of a cohort beside its members'; model "": of all
	members map[string][]string // of a cohort
	index   map[string]int      // of a cohort in the reader's quotas
	models  []string            // that are named, and ""
}

type modelOf struct{ name, model string }

// addObject adds the GPUs of an object, and returns its quota with what it says of single models.
func (t *cohortTree) addObject(q quota.FileQuota, a amounts, isQueue bool) quota.FileQuota {
	t.members[q.Parent] = append(t.members[q.Parent], q.Name)
	t.own[modelOf{q.Name, ""}] = a.nominal
	q.FileModel = limitsOf(q, a, isQueue)
	for _, model := range slices.Sorted(maps.Keys(a.models)) {
		m := a.models[model]
		if q.Models == nil {
			q.Models = make(map[string]quota.FileModel)
		}
		t.own[modelOf{q.Name, model}] = m.nominal
		if !slices.Contains(t.models, model) {
			t.models = append(t.models, model)
		}
		f := limitsOf(q, *m, isQueue)
		f.Weight = nil // that of the quota
		q.Models[model] = f
	}
	return q
}

// limitsOf returns the amounts of an object, but for the min of a cohort. Who is in no cohort borrows
// from nobody.
func limitsOf(q quota.FileQuota, a amounts, isQueue bool) quota.FileModel {
	f := q.FileModel
	f.Lend = a.lend
	if !isQueue {
		return f
	}
	if f.Min = &a.nominal; q.Parent == "" {
		a.borrow, f.Lend = new(float64), nil
	}
	if a.borrow != nil {
		most := a.nominal + *a.borrow
		f.Max = &most
	}
	return f
}

// total returns the GPUs of an object and its members together.
func (t *cohortTree) total(of modelOf, depth int) float64 {
	v := t.own[of]
	for _, m := range t.members[of.name] {
		if depth < 32 { // more is a cycle, which the tree's check names
			v += t.total(modelOf{m, of.model}, depth+1)
		}
	}
	return v
}

// addKueue adds the tree of the file's objects of Kueue. There, a cohort's own quota comes on top of
// its members', and who is in no cohort borrows from nobody.
func (r *reader) addKueue() error {
	k := &r.kueue
	t := &cohortTree{own: make(map[modelOf]float64), members: make(map[string][]string), index: make(map[string]int), models: []string{""}}
	addCohort := func(q quota.FileQuota, from origin) { t.index[q.Name] = len(r.quotas); r.add(q, from) }
	for _, o := range k.cohorts {
		q, a, err := o.fileQuota(r)
		if err != nil {
			return err
		}
		q.Name, q.Parent = o.Metadata.Name, o.Spec.ParentName+o.Spec.Parent
		addCohort(t.addObject(q, a, false), origin{o.page, nil, keysOfKueue})
	}
	for _, o := range k.queues {
		q, a, err := o.fileQuota(r)
		if err != nil {
			return err
		}
		q.Name, q.Parent = o.Metadata.Name, o.Spec.CohortName+o.Spec.Cohort
		r.add(t.addObject(q, a, true), origin{o.page, nil, keysOfKueue})
		if _, named := t.index[q.Parent]; !named && q.Parent != "" { // a cohort needs no object
			t.members[""] = append(t.members[""], q.Parent)
			addCohort(quota.FileQuota{Name: q.Parent}, origin{o.page, nil, keysOfKueue})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.index)) {
		q := &r.quotas[t.index[name]]
		for _, model := range t.models {
			least, f := t.total(modelOf{name, model}, 0), q.FileModel
			if model != "" {
				f = q.Models[model]
			}
			if f.Min = &least; q.Parent == "" {
				f.Max, f.Lend = &least, nil
			}
			switch {
			case model == "":
				q.FileModel = f
			case least > 0:
				if q.Models == nil {
					q.Models = make(map[string]quota.FileModel)
				}
				q.Models[model] = f
			}
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
