package quotafile

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/protocol/quota"
)

const elasticTree = `apiVersion: scheduling.sigs.k8s.io/v1beta1
kind: ElasticQuotaTree
metadata: {name: elasticquotatree, namespace: kube-system}
spec:
  root:
    name: root
    min: {cpu: 100, nvidia.com/gpu: 16}
    max: {nvidia.com/gpu: 16}
    children:
    - name: root.a
      min: {nvidia.com/gpu: "4"}
      max: {nvidia.com/gpu: "6"}
      namespaces: [team-a, team-b]
    - name: vision
      min: {nvidia.com/gpu: 6}
      namespaces: [vision]
`

const kueue = `apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: a100}
spec: {nodeLabels: {gpu: a100}}
---
kind: Cohort
metadata: {name: research}
spec:
  parentName: all
  resourceGroups:
  - {coveredResources: [nvidia.com/gpu], flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 2}]}]}
---
kind: Cohort
metadata: {name: all}
---
kind: ClusterQueue
metadata: {name: vision}
spec:
  cohort: research
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, nvidia.com/gpu]
    flavors:
    - name: a100
      resources:
      - {name: cpu, nominalQuota: 9}
      - {name: nvidia.com/gpu, nominalQuota: 4, borrowingLimit: 2, lendingLimit: 1}
    - name: t4
      resources:
      - {name: nvidia.com/gpu, nominalQuota: 3, borrowingLimit: 0, lendingLimit: 0}
  fairSharing: {weight: 500m}
---
kind: ClusterQueue
metadata: {name: alone}
spec:
  resourceGroups: [{flavors: [{name: t4, resources: [{name: nvidia.com/gpu, nominalQuota: "8"}]}]}]
---
kind: LocalQueue
metadata: {name: default, namespace: vision}
spec: {clusterQueue: vision}
---
kind: LocalQueue
metadata: {name: default, namespace: lab-1}
spec: {clusterQueue: alone}
---
kind: LocalQueue
metadata: {name: default, namespace: lab-2}
spec: {clusterQueue: alone, fairSharing: {weight: 3}}
`

// classes are some of Gridbid's own and one of Kubernetes.
const classes = `priority_classes:
  - {name: a, value: 100}
  - {name: b, value: 0}
---
kind: PriorityClass
metadata: {name: c}
globalDefault: true
preemptionPolicy: Never
value: -5
description: who waits
`

// Gridbid's own classes and those of Kubernetes are read alike, also without quotas, which stay as they are
// then.
func TestPriorityClassesAreRead(t *testing.T) {
	got, err := Parse("f.yaml", []byte(classes))
	want := File{HasClasses: true, Classes: []protocol.PriorityClass{{Name: "a", Value: 100}, {Name: "b"}, {Name: "c", Value: -5, Default: true, Preemption: protocol.PreemptNever}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	if got, err = Parse("f.yaml", []byte("priority_classes: []\n")); err != nil || !got.HasClasses || got.HasQuotas {
		t.Errorf("an empty list is %+v, %v", got, err)
	}
}

// Each format is read as the tree that it means.
func TestFormatsAreReadAsTrees(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		notes      []string
	}{
		{"own", "quotas:\n  - {name: lab, max: 10}\n  - {name: a, parent: lab, min: 2.5, lend: 1, weight: 2, band: -1}\n",
			[]string{"lab min 2.5 max 10 weight 1", "a of lab min 2.5 weight 2 lends 1 band -1"}, nil},
		{"ElasticQuotaTree", elasticTree, []string{
			"root min 16 max 16 weight 1", "root.a of root min 4 max 6 weight 1", "team-a of root.a min 0 weight 1", "team-b of root.a min 0 weight 1", "vision of root min 6 weight 1",
		}, []string{"f.yaml:7: spec/root/min/cpu: is not honoured"}},
		{"Kueue", kueue, []string{
			"research of all min 9 weight 1", "all min 9 max 9 weight 1", "vision of research min 7 max 9 weight 0.5 lends 1", "alone min 8 max 8 weight 1", "lab-1 of alone min 0 weight 1", "lab-2 of alone min 0 weight 3",
		}, []string{"f.yaml:4: spec/nodeLabels/gpu", "f.yaml:20: spec/namespaceSelector", `f.yaml:26: spec/resourceGroups/0/flavors/0/resources/0: "cpu" is not honoured`}},
		{"own, by model, and budgets", "quotas:\n  - {name: lab, models: {H100: {max: 6}}, budget: 500.5, carbon_budget: 20}\n  - {name: a, parent: lab, weight: 2, models: {H100: {min: 4, lend: 1}, A100: {weight: 3, band: 1}}}\n",
			[]string{"lab min 4 weight 1, of H100 min 4 max 6 weight 1, budget $500.5 a month, carbon budget 20 kg CO2e a month", "a of lab min 4 weight 2, of A100 min 0 weight 3 band 1, of H100 min 4 weight 2 lends 1"}, nil},
		{"Kueue, flavors of models", strings.Replace(kueue, "{gpu: a100}", "{nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}", 1), []string{
			"research of all min 9 weight 1, of A100 min 6 weight 1", "all min 9 max 9 weight 1, of A100 min 6 max 6 weight 1", "vision of research min 7 max 9 weight 0.5 lends 1, of A100 min 4 max 6 weight 0.5 lends 1", "alone min 8 max 8 weight 1", "lab-1 of alone min 0 weight 1", "lab-2 of alone min 0 weight 3",
		}, []string{"f.yaml:20: spec/namespaceSelector", `f.yaml:26: spec/resourceGroups/0/flavors/0/resources/0: "cpu" is not honoured`}},
		{"an empty list", "quotas: []\n", nil, nil},
		{"a cohort without an object", "kind: ClusterQueue\nmetadata: {name: q}\nspec: {cohortName: c, resourceGroups: [{flavors: [{resources: [{name: amd.com/gpu, nominalQuota: 2}]}]}]}\n",
			[]string{"q of c min 2 weight 1", "c min 2 max 2 weight 1"}, nil},
	} {
		file, err := Parse("f.yaml", []byte(c.text))
		got, notes := file.Quotas, file.Notes
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var words []string
		for _, q := range got {
			words = append(words, quota.Describe(q))
		}
		if !reflect.DeepEqual(words, c.want) {
			t.Errorf("%s: %q, want %q", c.name, words, c.want)
		}
		if len(notes) != len(c.notes) {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.notes)
			continue
		}
		for i, n := range notes {
			if !strings.HasPrefix(n, c.notes[i]) {
				t.Errorf("%s: note %q, want %q", c.name, n, c.notes[i])
			}
		}
	}
}

// What is wrong is refused with its file, line and field.
func TestFaultsHaveTheirLine(t *testing.T) {
	swap := func(text, from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("%q is not in the text", from)
		}
		return strings.Replace(text, from, to, 1)
	}
	for _, c := range []struct{ text, want string }{
		{"", "f.yaml: has no quotas and no priority classes"},
		{swap(classes, "value: 100", "value: 3000000000"), "f.yaml:2: priority_classes/0/value: is too large"},
		{swap(classes, "name: a,", "name: b,"), "f.yaml:3: priority_classes/1/name: is b, as that of a class before"},
		{swap(classes, "value: 0}", "value: 0, global_default: true}"), "f.yaml:7: globalDefault: is set, and b is the default already"},
		{swap(classes, "preemptionPolicy: Never", "preemptionPolicy: Nevr"), "f.yaml:8: preemptionPolicy:"},
		{swap(classes, "name: c", "nme: c"), "f.yaml:6: metadata:"},
		{"quotas: [{name: a, min: 1}, {name: b, parent: c}]", "f.yaml:1: quotas/1/parent: b: no quota is named c"},
		{"quotas:\n- {name: a, mni: 1}\n", "f.yaml:2: quotas/0/mni: unknown key (did you mean \"min\"?)"},
		{"quotas:\n- name: a\n  models:\n    A100: {min: 2, lend: 3}\n", "f.yaml:4: quotas/0/models/A100/lend: it lends more than its min of 2"},
		{"quotas:\n- name: a\n  min: 1\n  models:\n    A100: {min: 2}\n", "f.yaml:3: quotas/0/min: a is guaranteed 1 GPUs, and of single models 2 together"},
		{"quotas:\n- {name: g, min: 9, models: {A100: {min: 1}}}\n- {name: a, parent: g, models: {A100: {min: 2}}}\n", "f.yaml:2: quotas/0/models/A100/min: of A100 g is guaranteed 1 GPUs and its children 2"},
		{"quotas:\n- {name: a, budget: 0.0000001}\n", "f.yaml:2: quotas/0/budget: want more than 0"},
		{"kind: ElasticQuotaTee\n", `has a document of kind "ElasticQuotaTee" (did you mean "ElasticQuotaTree"?)`},
		{swap(elasticTree, `"6"`, "six"), `f.yaml:12: spec/root/children/0/max/nvidia.com/gpu: is "six": want a number of GPUs`},
		{swap(elasticTree, `"6"`, "2"), "f.yaml:12: spec/root/children/0/max: root.a: max is 2 GPUs, less than the min of 4"},
		{swap(elasticTree, "gpu: 16}\n    max", "gpu: 9}\n    max"), "f.yaml:7: spec/root/min: root is guaranteed 9 GPUs and its children 10"},
		{swap(elasticTree, "[team-a, team-b]", "[team-a, vision]"), "vision has two quotas"},
		{swap(elasticTree, "[team-a, team-b]", "[root.a, team-b]"), "f.yaml:13: spec/root/children/0/namespaces/0: a quota of several namespaces"},
		{swap(kueue, "{clusterQueue: vision}", "{clusterQueue: visoin}"), "f.yaml:40: spec/clusterQueue: no ClusterQueue of the file is named visoin"},
		{swap(kueue, "namespace: lab-1", "namespace: vision"), "f.yaml:44: spec/clusterQueue: namespace vision is in vision, too"},
		{swap(kueue, "nominalQuota: 2", "nominalQuota: -2"), "f.yaml:11: spec/resourceGroups/0/flavors/0/resources/0/nominalQuota"},
		{"kind: Cohort\nmetadata: {name: a}\n---\nkind: Cohort\nmetadata: {name: b}\nspec: {parentName: b}\n", "f.yaml:1: spec/resourceGroups: a max of 0"},
		{swap(swap(kueue, "parentName: all", "parentName: research"), "{name: all}\n", "{name: all}\nspec: {resourceGroups: [{flavors: [{resources: [{name: a/gpu, nominalQuota: 1}]}]}]}\n"), "f.yaml:8: spec: research has more than 16 ancestors, or is its own"},
		{swap(kueue, "lendingLimit: 0", "lendingLimit: 9"), "spec/resourceGroups: it lends more than its min"},
		{swap(kueue, "fairSharing: {weight: 500m}", "fairSharing: {weight: heavy}"), `f.yaml:31: spec/fairSharing/weight: is "heavy"`},
		{swap(kueue, "spec: {clusterQueue: vision}", "spec: {}"), "f.yaml:40: spec: has no clusterQueue"},
		{swap(kueue, "cohort: research", "cohrt: research"), "f.yaml:19: spec/cohrt: unknown key (did you mean \"cohort\"?)"},
		{swap(kueue, "nominalQuota: \"8\"", "nominalQuota: \"0\""), "max of 0"},
		{"quotas:\n- &x {name: a, min: 1}\n- *x\n", "f.yaml:3: quotas/1: an alias: write the value out"},
		{strings.Replace(strings.Replace(elasticTree, `"4"`, `&four "4"`, 1), `"6"`, "*four", 1), "f.yaml:12: spec/root/children/0/max/nvidia.com/gpu: an alias: write the value out"},
		{"quotas:\n- {name: a, min: 1} # " + strings.Repeat("x", 1<<20) + "\n", "f.yaml: over 1048576 bytes"},
		{"quotas: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n", "f.yaml:1: "},
		{strings.Repeat("kind: Cohort\nmetadata: {name: a}\n---\n", 1100), "1100 documents: split the file"},
	} {
		_, err := Parse("f.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v\nwant  %s", err, c.want)
		}
	}
}

// Gridbid's own list means the same here and in a scenario, since both have one schema.
func TestTheListIsThatOfScenarios(t *testing.T) {
	raw, err := os.ReadFile("../../scenarios/spec/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var own, scenario struct {
		Properties struct {
			Quotas  any `json:"quotas"`
			Classes any `json:"priority_classes"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(raw, &scenario); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(ownSchema, &own); err != nil {
		t.Fatal(err)
	}
	if own.Properties.Quotas == nil || own.Properties.Classes == nil || !reflect.DeepEqual(own, scenario) {
		t.Error("own.schema.json and scenarios/spec/schema.json have other quotas or classes: copy one to the other")
	}
}

// FuzzParse reads hostile files: whatever is read is a tree.
func FuzzParse(f *testing.F) {
	f.Add([]byte(elasticTree))
	f.Add([]byte(kueue))
	f.Add([]byte("quotas: [{name: a, min: 1e300}]"))
	f.Add([]byte(classes))
	f.Add([]byte("---\n---\nkind: Cohort\nmetadata: {name: a}\nspec: {parentName: a}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("f.yaml", text)
		if err != nil {
			return
		}
		if _, err := quota.NewTree(file.Quotas); err != nil {
			t.Errorf("%+v is no tree: %v", file.Quotas, err)
		}
		if i, _, problem := protocol.InvalidPriorityClass(file.Classes); problem != "" {
			t.Errorf("class %d of %+v: %s", i, file.Classes, problem)
		}
	})
}
