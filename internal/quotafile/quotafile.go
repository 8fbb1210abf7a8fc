// Package quotafile reads quota trees and priority classes as people have them: Gridbid's own lists
// (docs/quotas.md, docs/preemption.md), ACK's ElasticQuotaTree, Kueue's Cohort, ClusterQueue, LocalQueue
// and ResourceFlavor, and the PriorityClass of Kubernetes.
package quotafile

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/internal/quantity"
	"github.com/gridbid/gridbid/internal/yamlschema"
	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
)

//go:embed own.schema.json
var ownSchema []byte

//go:embed elasticquotatree.schema.json
var treeSchema []byte

//go:embed kueue.schema.json
var kueueSchema []byte

//go:embed priorityclass.schema.json
var classSchema []byte

func schemaKind(what string, schema []byte) *yamlschema.SchemaKind {
	return &yamlschema.SchemaKind{Reader: "quotas", FileKind: what, Docs: "docs/quotas.md", Schema: schema}
}

// kinds are the kinds of documents, by the value of their key kind.
var kinds = func() map[string]*yamlschema.SchemaKind {
	kueue := schemaKind("Kueue object", kueueSchema)
	return map[string]*yamlschema.SchemaKind{
		"": schemaKind("list of quotas", ownSchema), "ElasticQuotaTree": schemaKind("ElasticQuotaTree", treeSchema),
		"PriorityClass": schemaKind("PriorityClass", classSchema),
		"Cohort":        kueue, "ClusterQueue": kueue, "LocalQueue": kueue, "ResourceFlavor": kueue,
	}
}()

// A reader collects the quotas of a file, and of each where it is.
type reader struct {
	file   string
	quotas []quota.FileQuota
	origin []origin
	kueue  kueueObjects
	notes  []string

	classes     []protocol.PriorityClass
	classOrigin []origin

	listsQuotas, listsClasses bool // the file has a list of them, perhaps an empty one
}

// A File is what a file states.
type File struct {
	Quotas                []protocol.Quota
	Classes               []protocol.PriorityClass
	HasQuotas, HasClasses bool     // it states them, perhaps that there are none
	Notes                 []string // what of it is not honoured
}

// An origin is where a quota is written, and the keys of those of its fields that have others there.
type origin struct {
	page *yamlschema.Page
	path []string
	keys map[string]string
}

func (o origin) fault(field, format string, args ...any) error {
	path := slices.Clone(o.path)
	if key, ok := o.keys[field]; ok {
		field = key
	}
	if field != "" {
		path = append(path, strings.Split(field, "/")...)
	}
	return o.page.FaultAt(path, format, args...)
}

// Parse reads a file of one or more documents. Errors name file, line, field and what to do.
func Parse(file string, text []byte) (out File, err error) {
	r := &reader{file: file}
	documents, err := yamlschema.SplitDocuments(text)
	if err != nil {
		return File{}, fmt.Errorf("quotas: %s: %w", file, err)
	}
	for _, d := range documents {
		if err := r.readDocument(d); err != nil {
			return File{}, err
		}
	}
	if err := r.addKueue(); err != nil {
		return File{}, err
	}
	out = File{Classes: r.classes, HasQuotas: r.listsQuotas || len(r.quotas) > 0, HasClasses: r.listsClasses || len(r.classes) > 0, Notes: r.notes}
	if !out.HasQuotas && !out.HasClasses {
		return File{}, fmt.Errorf("quotas: %s: has no quotas and no priority classes: want a list of either, an ElasticQuotaTree, objects of Kueue or PriorityClasses (docs/quotas.md, docs/preemption.md)", file)
	}
	if i, key, problem := protocol.InvalidPriorityClass(r.classes); problem != "" {
		return File{}, r.classOrigin[i].fault(key, "%s", problem)
	}
	out.Quotas, err = quota.QuotasOf(r.quotas)
	if f, ok := err.(quota.Fault); ok && f.Index < len(r.origin) {
		return File{}, r.origin[f.Index].fault(f.Field, "%s", f.Problem)
	}
	return out, err
}

// readDocument reads one document by its kind.
func (r *reader) readDocument(text []byte) error {
	var head struct {
		Kind string `yaml:"kind"`
	}
	_ = yaml.Unmarshal(text, &head) // what is wrong with it, ParsePage says with its line
	kind := kinds[head.Kind]
	if head.Kind == "List" {
		return fmt.Errorf("quotas: %s: is a List: write its items as documents separated by ---, as `kubectl get clusterqueue NAME -o yaml` prints each", r.file)
	}
	if kind == nil {
		known := slices.Sorted(maps.Keys(kinds))[1:]
		return fmt.Errorf("quotas: %s: has a document of kind %q%s: want %s, or no kind for a list of quotas; remove it", r.file, head.Kind, nearest.DidYouMean(head.Kind, known), strings.Join(known, ", "))
	}
	page, err := kind.ParsePage(r.file, text)
	if err != nil {
		return err
	}
	switch head.Kind {
	case "":
		var own struct {
			Quotas  []quota.FileQuota        `yaml:"quotas"`
			Classes []protocol.PriorityClass `yaml:"priority_classes"`
		}
		if err := page.DecodeInto(&own); err != nil {
			return err
		}
		r.listsQuotas, r.listsClasses = r.listsQuotas || own.Quotas != nil, r.listsClasses || own.Classes != nil
		for i, c := range own.Classes {
			r.addClass(c, origin{page: page, path: []string{"priority_classes", strconv.Itoa(i)}})
		}
		for i, q := range own.Quotas {
			r.add(q, origin{page: page, path: []string{"quotas", strconv.Itoa(i)}})
		}
		return nil
	case "PriorityClass":
		var o struct {
			Metadata struct {
				Name string `yaml:"name"`
			} `yaml:"metadata"`
			Value         int                       `yaml:"value"`
			GlobalDefault bool                      `yaml:"globalDefault"`
			Preemption    protocol.PreemptionPolicy `yaml:"preemptionPolicy"`
		}
		if err := page.DecodeInto(&o); err != nil {
			return err
		}
		r.addClass(protocol.PriorityClass{Name: o.Metadata.Name, Value: o.Value, Default: o.GlobalDefault, Preemption: o.Preemption},
			origin{page: page, keys: map[string]string{"name": "metadata/name", "global_default": "globalDefault", "preemption_policy": "preemptionPolicy"}})
		return nil
	case "ElasticQuotaTree":
		var tree struct {
			Spec struct {
				Root elasticQuota `yaml:"root"`
			} `yaml:"spec"`
		}
		if err := page.DecodeInto(&tree); err != nil {
			return err
		}
		return r.addElasticQuota(page, tree.Spec.Root, "", []string{"spec", "root"})
	}
	return r.kueue.readObject(r, page)
}

func (r *reader) addClass(c protocol.PriorityClass, from origin) {
	r.classes, r.classOrigin = append(r.classes, c), append(r.classOrigin, from)
}

func (r *reader) add(q quota.FileQuota, from origin) {
	r.quotas, r.origin = append(r.quotas, q), append(r.origin, from)
}

// note records that something of the file has no effect.
func (r *reader) note(page *yamlschema.Page, path []string, format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf("%s:%d: %s: %s", r.file, page.LineOf(path), strings.Join(path, "/"), fmt.Sprintf(format, args...)))
}

// An elasticQuota is a node of an ElasticQuotaTree (scheduling.sigs.k8s.io/v1beta1).
type elasticQuota struct {
	Name       string            `yaml:"name"`
	Min        map[string]string `yaml:"min"`
	Max        map[string]string `yaml:"max"`
	Namespaces []string          `yaml:"namespaces"`
	Children   []elasticQuota    `yaml:"children"`
}

// addElasticQuota adds a node and its children. A namespace is a tenant: it is the node itself if it
// has the node's name, otherwise a leaf of it.
func (r *reader) addElasticQuota(page *yamlschema.Page, n elasticQuota, parent string, path []string) error {
	q := quota.FileQuota{Name: n.Name, Parent: parent}
	at := func(keys ...string) []string { return slices.Concat(path, keys) }
	for _, x := range []struct {
		key  string
		from map[string]string
		to   **float64
	}{{"min", n.Min, &q.Min}, {"max", n.Max, &q.Max}} {
		for _, resource := range slices.Sorted(maps.Keys(x.from)) {
			if !isGPU(resource) {
				r.note(page, at(x.key, resource), "is not honoured: quotas limit GPUs")
				continue
			}
			v, ok := parseQuantity(x.from[resource])
			if !ok {
				return page.FaultAt(at(x.key, resource), "is %q: want a number of GPUs, such as 8 or 500m", x.from[resource])
			}
			*x.to = sum(*x.to, v)
		}
	}
	r.add(q, origin{page: page, path: path})
	for i, namespace := range n.Namespaces {
		switch {
		case len(n.Children) > 0:
			return page.FaultAt(at("namespaces"), "%s has children and namespaces: give the namespaces a child of their own", n.Name)
		case namespace != n.Name:
			r.add(quota.FileQuota{Name: namespace, Parent: n.Name}, origin{page: page, path: at("namespaces", strconv.Itoa(i)), keys: map[string]string{"name": "", "parent": ""}})
		case len(n.Namespaces) > 1:
			return page.FaultAt(at("namespaces", strconv.Itoa(i)), "a quota of several namespaces has the name of one: rename the quota")
		}
	}
	for i, c := range n.Children {
		if err := r.addElasticQuota(page, c, n.Name, at("children", strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}

// isGPU reports whether a resource counts whole GPUs, as nvidia.com/gpu does.
func isGPU(resource string) bool { return strings.HasSuffix(resource, "/gpu") }

// parseQuantity reads a quantity of Kubernetes as far as it can count GPUs: "8", "0.5", "500m", "1k".
func parseQuantity(s string) (float64, bool) { return quantity.Parse(s, 1e6, "m", "k") }

// sum returns a sum, where nil is none.
func sum(to *float64, v float64) *float64 {
	if to != nil {
		v += *to
	}
	return &v
}
