// Package propagation reads the PropagationPolicy and ClusterPropagationPolicy of Karmada and of ACK One,
// and the Deployments and StatefulSets that they select, as services (docs/services.md). What a policy says
// that services do not honour is an error with its line, or a note where the caller allows that.
package propagation

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/gridbid/gridbid/internal/nearest"
	"github.com/gridbid/gridbid/internal/servicefile"
	"github.com/gridbid/gridbid/internal/yamlschema"
)

// ackGroup is the group of ACK One, whose clusterAffinities spill over into the next; those of Karmada do
// not.
const ackGroup = "policy.one.alibabacloud.com/"

//go:embed policy.schema.json
var policySchema []byte

//go:embed workload.schema.json
var workloadSchema []byte

var (
	policyKind   = &yamlschema.SchemaKind{Reader: "propagation", FileKind: "PropagationPolicy", Docs: "docs/services.md", Schema: policySchema}
	workloadKind = &yamlschema.SchemaKind{Reader: "propagation", FileKind: "Deployment, StatefulSet or LeaderWorkerSet", Docs: "docs/services.md", Schema: workloadSchema}
	kinds        = map[string]*yamlschema.SchemaKind{
		"PropagationPolicy": policyKind, "ClusterPropagationPolicy": policyKind, "Deployment": workloadKind, "StatefulSet": workloadKind, "LeaderWorkerSet": workloadKind,
	}
)

// A File is a file of one or more documents.
type File struct {
	Name string // for errors
	Text []byte
}

// Options say how policies are read.
type Options struct {
	Set               map[string]string // what ${NAME} in a policy stands for: a site
	IgnoreUnsupported bool              // what is not honoured is a note, and no error
}

// A Result is what files say.
type Result struct {
	Services []servicefile.Spec // in the order of their workloads
	Notes    []string
}

// IsAbout reports whether a file has a policy or a workload, by the kinds of its documents.
func IsAbout(text []byte) bool {
	documents, err := yamlschema.SplitDocuments(text)
	return err == nil && slices.ContainsFunc(documents, func(d []byte) bool { return kinds[kindOf(d)] != nil })
}

// kindOf returns the kind of a document; "" if it has none that can be read.
func kindOf(document []byte) string {
	var head struct {
		Kind string `yaml:"kind"`
	}
	_ = yaml.Unmarshal(document, &head) // what is wrong with it, ParsePage says with its line
	return head.Kind
}

// Parse reads files. A workload becomes a service by the policy that selects it. Errors name file, line,
// field and what to do.
func Parse(files []File, o Options) (out Result, err error) {
	r := &reader{options: o, used: make(map[string]bool)}
	for _, f := range files {
		documents, err := yamlschema.SplitDocuments(f.Text)
		if err != nil {
			return out, fmt.Errorf("propagation: %s: %w", f.Name, err)
		}
		for _, d := range documents {
			if err := r.readDocument(f.Name, d); err != nil {
				return out, err
			}
		}
	}
	if len(r.policies) == 0 {
		return out, errors.New("propagation: no PropagationPolicy in the files: add the one that selects the workloads")
	}
	for name := range o.Set {
		if !r.used[name] {
			return out, fmt.Errorf("propagation: --set %s=...: no policy names ${%s}", name, name)
		}
	}
	for _, w := range r.workloads {
		p, rank := r.policyOf(w)
		if rank == selectsNothing {
			r.note(w.page, []string{"metadata", "name"}, "no policy selects %s %s: it stays what it is", w.Kind, w.Metadata.Name)
			continue
		}
		p.selects = true
		s, err := w.service(p)
		if err != nil {
			return out, err
		}
		if slices.ContainsFunc(out.Services, func(x servicefile.Spec) bool { return x.ID == s.ID }) {
			return out, w.page.FaultAt([]string{"metadata", "name"}, "makes a second service %s: rename one", s.ID)
		}
		out.Services = append(out.Services, s)
	}
	for _, p := range r.policies {
		if !p.selects {
			r.note(p.page, []string{"spec", "resourceSelectors"}, "selects none of the workloads in the files: add them with -f")
		}
	}
	slices.Sort(r.notes)
	out.Notes = r.notes
	return out, nil
}

// A reader collects what files say.
type reader struct {
	options   Options
	used      map[string]bool // names of Options.Set
	policies  []*policy
	workloads []*workload
	notes     []string
}

// readDocument reads one document by its kind.
func (r *reader) readDocument(file string, text []byte) error {
	name := kindOf(text)
	kind := kinds[name]
	if kind == nil {
		known := []string{"PropagationPolicy", "ClusterPropagationPolicy", "Deployment", "StatefulSet", "LeaderWorkerSet"}
		return fmt.Errorf("propagation: %s: has a document of kind %q%s: want %s; remove it", file, name, nearest.DidYouMean(name, known), strings.Join(known, ", "))
	}
	if kind == workloadKind {
		w, err := parseWorkload(file, text)
		r.workloads = append(r.workloads, w)
		return err
	}
	page, err := kind.ParsePage(file, text)
	if err != nil {
		return err
	}
	p := &policy{page: page}
	if err := page.DecodeInto(p); err != nil {
		return err
	}
	if p.Kind == "PropagationPolicy" {
		p.Metadata.Namespace = cmp.Or(p.Metadata.Namespace, "default")
	}
	r.policies = append(r.policies, p)
	return r.readPlacement(p)
}

// note notes what is not honoured, with its line.
func (r *reader) note(page *yamlschema.Page, path []string, format string, args ...any) {
	r.notes = append(r.notes, page.FaultAt(path, format, args...).Error())
}

// unsupported returns an error about what is not honoured, or notes it.
func (r *reader) unsupported(page *yamlschema.Page, path []string, why string) error {
	err := page.FaultAt(path, "is not honoured: %s: remove it, or import with --ignore-unsupported", why)
	if !r.options.IgnoreUnsupported {
		return err
	}
	r.note(page, path, "is not honoured: %s", why)
	return nil
}

var placeholder = regexp.MustCompile(`\$\{([^{}]*)\}`)

var siteName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// sitesOf returns the sites of clusterNames at a path, with placeholders filled in.
func (r *reader) sitesOf(page *yamlschema.Page, path []string, names []string) (sites []string, err error) {
	for i, name := range names {
		at := append(slices.Clone(path), fmt.Sprint(i))
		missing := ""
		site := placeholder.ReplaceAllStringFunc(name, func(text string) string {
			key := text[2 : len(text)-1]
			v, ok := r.options.Set[key]
			if !ok {
				missing = key
			}
			r.used[key] = true
			return v
		})
		if missing != "" {
			return nil, page.FaultAt(at, "names ${%s}: say which site that is, with --set '%s=SITE'", missing, missing)
		}
		if !siteName.MatchString(site) {
			return nil, page.FaultAt(at, "is %q: want the name of a site, of lower-case letters, digits and -", site)
		}
		if !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	return sites, nil
}
