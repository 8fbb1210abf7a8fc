package propagation_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gridbid/gridbid/internal/propagation"
	"github.com/gridbid/gridbid/internal/servicefile"
)

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: web, labels: {tier: gold}}
spec:
  replicas: 12
  template:
    metadata: {labels: {app: chat}}
    spec:
      initContainers: [{name: fetch, image: x, resources: {requests: {cpu: 8}}}]
      containers:
      - name: main
        image: registry.example.com/vllm:1
        resources: {requests: {cpu: 3500m, memory: 16Gi}, limits: {nvidia.com/gpu: 2, memory: 32Gi}}
      - {name: proxy, image: y, resources: {requests: {cpu: 500m, memory: 512Mi}}}
`

// policyOf returns a policy that selects Deployments of namespace web, with a placement.
func policyOf(apiVersion, spec string) string {
	return "apiVersion: " + apiVersion + "\nkind: PropagationPolicy\nmetadata: {name: p, namespace: web}\nspec:\n  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]\n" + spec
}

func parse(t *testing.T, o propagation.Options, texts ...string) (propagation.Result, error) {
	t.Helper()
	var files []propagation.File
	for _, x := range texts {
		files = append(files, propagation.File{Name: "f.yaml", Text: []byte(x)})
	}
	return propagation.Parse(files, o)
}

const divided = "    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}\n"

func TestAPolicyAndItsDeploymentAreAService(t *testing.T) {
	const karmada, ack = "policy.karmada.io/v1alpha1", "policy.one.alibabacloud.com/v1alpha1"
	groups := "    clusterAffinities: [{affinityName: a, clusterNames: [oslo, bern]}, {affinityName: b, clusterNames: [lyon]}]\n"
	for name, c := range map[string]struct {
		policy string
		want   func(*servicefile.Spec)
	}{
		"dynamic weights": {policyOf(karmada, "  placement:\n    clusterAffinity: {clusterNames: [oslo, lyon]}\n"+divided), func(s *servicefile.Spec) {
			s.Division, s.Sites = "dynamic", []string{"oslo", "lyon"}
		}},
		"Karmada's groups hold all or nothing": {policyOf(karmada, "  placement:\n"+groups+divided), func(s *servicefile.Spec) {
			s.Division, s.Tiers, s.Exclusive = "dynamic", [][]string{{"oslo", "bern"}, {"lyon"}}, true
		}},
		"ACK One's spill over": {policyOf(ack, "  placement:\n"+groups+divided), func(s *servicefile.Spec) {
			s.Division, s.Tiers = "dynamic", [][]string{{"oslo", "bern"}, {"lyon"}}
		}},
		"as Karmada's overflowAffinities do": {policyOf(karmada, "  placement:\n    clusterAffinities: [{affinityName: a, clusterNames: [oslo], overflowAffinities: [{affinityName: b, clusterNames: [lyon]}]}]\n"+divided), func(s *servicefile.Spec) {
			s.Division, s.Tiers = "dynamic", [][]string{{"oslo"}, {"lyon"}}
		}},
		"aggregated, over two sites at least": {policyOf(karmada, "  placement:\n    spreadConstraints: [{spreadByField: cluster, minGroups: 2, maxGroups: 3}]\n    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Aggregated}\n"), func(s *servicefile.Spec) {
			s.Division, s.MinSites, s.MaxSites = "aggregated", 2, 3
		}},
		"static weights": {policyOf(karmada, "  placement:\n    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {staticWeightList: [{targetCluster: {clusterNames: [oslo]}, weight: 3}, {targetCluster: {clusterNames: [lyon, bern]}, weight: 1}]}}\n"), func(s *servicefile.Spec) {
			s.Division, s.Weights = "static", map[string]int{"oslo": 3, "lyon": 1, "bern": 1}
		}},
		"spread by region and provider": {policyOf(karmada, "  placement:\n    spreadConstraints: [{spreadByField: region, minGroups: 2, maxGroups: 3}, {spreadByField: provider, minGroups: 1, maxGroups: 1}]\n"+divided), func(s *servicefile.Spec) {
			s.Division, s.MinRegions, s.MaxRegions, s.MinProviders, s.MaxProviders = "dynamic", 2, 3, 1, 1
		}},
		"affinity by a label that it has, and by one that it has not": {policyOf(karmada, "  placement:\n    workloadAffinity: {affinity: {groupByLabelKey: tier}, antiAffinity: {groupByLabelKey: shard}}\n"+divided), func(s *servicefile.Spec) {
			s.Division, s.Affinity = "dynamic", "tier/gold"
		}},
	} {
		got, err := parse(t, propagation.Options{}, c.policy, deployment)
		if err != nil || len(got.Services) != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		want := servicefile.Spec{ID: "web.chat", Tenant: "web", Replicas: 12, GPUs: 2, CPU: 8, Memory: 16.5}
		c.want(&want)
		s := got.Services[0]
		if !strings.Contains(s.Task, `"image":"registry.example.com/vllm:1"`) {
			t.Errorf("%s: task %s", name, s.Task)
		}
		if s.Task = ""; !reflect.DeepEqual(s, want) {
			t.Errorf("%s: %+v; want %+v", name, s, want)
		}
	}
}

// Of several policies the one of the namespace counts, then the higher priority, then the more precise, then
// the first by name.
func TestOnePolicySelectsAWorkload(t *testing.T) {
	policy := func(kind, name, priority, selector, site string) string {
		return "apiVersion: policy.karmada.io/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: web}\nspec:\n  priority: " + priority + "\n  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment" + selector + "}]\n  placement:\n    clusterAffinity: {clusterNames: [" + site + "]}\n" + divided
	}
	const local, cluster = "PropagationPolicy", "ClusterPropagationPolicy"
	for want, all := range map[string][]string{
		"by-name":   {policy(local, "a", "0", "", "by-kind"), policy(local, "b", "0", ", name: chat", "by-name"), policy(local, "c", "0", ", labelSelector: {matchLabels: {tier: gold}}", "by-label")},
		"by-label":  {policy(local, "a", "0", "", "by-kind"), policy(local, "c", "0", ", labelSelector: {matchExpressions: [{key: tier, operator: In, values: [gold]}]}", "by-label")},
		"by-kind":   {policy(local, "a", "0", "", "by-kind"), policy(local, "b", "0", ", name: other", "by-name"), policy(local, "c", "0", ", labelSelector: {matchLabels: {tier: tin}}", "by-label")},
		"higher":    {policy(local, "a", "5", "", "higher"), policy(local, "b", "0", ", name: chat", "by-name")},
		"first":     {policy(local, "b", "0", "", "second"), policy(local, "a", "0", "", "first")},
		"namespace": {policy(cluster, "a", "9", ", name: chat", "cluster"), policy(local, "b", "0", "", "namespace")},
		"cluster":   {policy(cluster, "a", "0", ", namespace: web", "cluster"), policy(cluster, "b", "0", ", namespace: mail", "elsewhere")},
	} {
		got, err := parse(t, propagation.Options{}, append(all, deployment)...)
		if err != nil || len(got.Services) != 1 || !reflect.DeepEqual(got.Services[0].Sites, []string{want}) {
			t.Errorf("%s: %+v, %v", want, got.Services, err)
		}
	}
}

func TestWhatIsNotHonouredIsRefusedWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		policyOf("policy.karmada.io/v1alpha1", "  failover: {application: {}}\n  placement:\n"+divided):                                                   "f.yaml:6: spec/failover: is not honoured",
		policyOf("policy.one.alibabacloud.com/v1alpha1", "  autoScaling: {ecsProvision: true}\n  placement:\n"+divided):                                   "f.yaml:6: spec/autoScaling: is not honoured: sites do not bid stock",
		policyOf("policy.karmada.io/v1alpha1", "  preserveResourcesOnDeletion: true\n  placement:\n"+divided):                                             "f.yaml:6: spec/preserveResourcesOnDeletion",
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n    clusterAffinity: {exclude: [lyon]}\n"+divided):                                          "f.yaml:7: spec/placement/clusterAffinity/exclude",
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n    spreadConstraints:\n    - {spreadByField: zone, minGroups: 2}\n"+divided):               "f.yaml:8: spec/placement/spreadConstraints/0",
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n    clusterTolerations: [{key: a}]\n"+divided):                                              "f.yaml:7: spec/placement/clusterTolerations",
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n    replicaScheduling: {replicaSchedulingType: Duplicated}\n"):                              "set replicaSchedulingType: Divided",
		policyOf("policy.karmada.io/v1alpha1", "  placement: {}\n"):                                                                                       "Duplicated, the default",
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n    clusterAffinity:\n      clusterNames:\n      - ${Cluster 1 ID}\n"+divided):              "f.yaml:9: spec/placement/clusterAffinity/clusterNames/0: names ${Cluster 1 ID}: say which site that is, with --set 'Cluster 1 ID=SITE'",
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n    clusterAffinity: {clusterNames: [Oslo]}\n"+divided):                                     "want the name of a site",
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n    clusterAffinities: [{affinityName: a}]\n"+divided):                                      "names no cluster",
		policyOf("policy.karmada.io/v1alpha1", "  placment: {}\n"):                                                                                        "placment",
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n"+divided) + "---\n" + strings.Replace(deployment, "cpu: 3500m", "cpu: lots", 1):            `"lots": want a quantity`,
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n"+divided) + "---\n" + strings.Replace(deployment, "nvidia.com/gpu", "nvidia.com/mig-1", 1): "is not a resource that services ask for",
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n"+divided) + "---\n" + strings.Replace(deployment, "gpu: 2", "gpu: 20", 1):                  "as a service: gpus",
		policyOf("policy.karmada.io/v1alpha1", "  placement:\n"+divided) + "---\nkind: Ingress\n":                                                         `kind "Ingress"`,
		deployment: "no PropagationPolicy in the files",
	} {
		if _, err := parse(t, propagation.Options{}, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v; want %q", text, err, want)
		}
	}
	got, err := parse(t, propagation.Options{IgnoreUnsupported: true}, policyOf("policy.karmada.io/v1alpha1", "  failover: {application: {}}\n  placement:\n"+divided), deployment)
	if err != nil || len(got.Services) != 1 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "spec/failover: is not honoured") {
		t.Errorf("ignored: %+v, %v", got, err)
	}
	if _, err := parse(t, propagation.Options{Set: map[string]string{"X": "oslo"}}, policyOf("policy.karmada.io/v1alpha1", "  placement:\n"+divided), deployment); err == nil || !strings.Contains(err.Error(), "no policy names ${X}") {
		t.Errorf("a placeholder that is nowhere: %v", err)
	}
}

// The policy of ACK One's documentation, as it is published.
func TestThePublishedPolicyIsRead(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "conformance", "propagation", "vllm-deploy-pp.yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("../shared/data has no conformance/propagation: the published policy is not read")
	}
	if err != nil {
		t.Fatal(err)
	}
	workload := strings.ReplaceAll(deployment, "namespace: web", "namespace: test")
	set := map[string]string{"Cluster 1 ID": "bern", "Cluster 2 ID": "lyon", "Cluster 3 ID": "oslo"}
	if _, err := parse(t, propagation.Options{Set: set}, string(text), workload); err == nil || !strings.Contains(err.Error(), "spec/autoScaling") {
		t.Errorf("with stock: %v", err)
	}
	got, err := parse(t, propagation.Options{Set: set, IgnoreUnsupported: true}, string(text), workload)
	if err != nil || len(got.Services) != 1 || !reflect.DeepEqual(got.Services[0].Tiers, [][]string{{"bern", "lyon"}, {"oslo"}}) || got.Services[0].Exclusive || got.Services[0].Division != "dynamic" {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(policyOf("policy.karmada.io/v1alpha1", "  placement:\n    clusterAffinities: [{affinityName: a, clusterNames: [oslo, ${X}]}]\n"+divided) + "---\n" + deployment)
	f.Add(policyOf("policy.karmada.io/v1alpha1", "  placement:\n    workloadAffinity: {affinity: {groupByLabelKey: tier}}\n    spreadConstraints: [{spreadByField: region, maxGroups: 1}]\n"+divided) + "---\n" + deployment)
	f.Add(deployment)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := parse(t, propagation.Options{IgnoreUnsupported: true, Set: map[string]string{"X": "lyon"}}, text)
		if err != nil {
			return
		}
		for _, s := range got.Services {
			if _, err := s.Service(func(_, format string, _ ...any) error { return errors.New(format) }); err != nil {
				t.Errorf("%s\nis an invalid service: %v", text, err)
			}
		}
	})
}

// A group of a LeaderWorkerSet is a replica, with what all of its pods ask for.
func TestALeaderWorkerSetIsAServiceOfGroups(t *testing.T) {
	const head, container = "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: llama}\nspec:\n  replicas: 3\n  leaderWorkerTemplate:\n    size: 4\n", "{spec: {containers: [{name: main, resources: {requests: {cpu: 2, memory: 8Gi}, limits: {nvidia.com/gpu: "
	leader, worker := "    leaderTemplate: "+container+"0}}}]}}\n", "    workerTemplate: "+container+"2}}}]}}\n"
	for text, want := range map[string]servicefile.Spec{
		head + worker:          {Replicas: 3, GPUs: 8, CPU: 8, Memory: 32},
		head + leader + worker: {Replicas: 3, GPUs: 6, CPU: 8, Memory: 32},
	} {
		s, err := propagation.ReadWorkload("llama.yaml", []byte(text))
		if err != nil || s.Replicas != want.Replicas || s.GPUs != want.GPUs || s.CPU != want.CPU || s.Memory != want.Memory || strings.Contains(s.Task, "replicas") {
			t.Errorf("%s: %+v, %v; want %+v", text, s, err, want)
		}
	}
	for text, want := range map[string]string{
		head: "llama.yaml:6: spec/leaderWorkerTemplate: lacks workerTemplate",
		head + "    workerTemplate: " + container + "500m}}}]}}\n":                   "llama.yaml:8: spec/leaderWorkerTemplate/workerTemplate/spec: asks for 0.5 GPUs",
		strings.Replace(head+worker, "leaderworkerset.x-k8s.io", "apps", 1):          "llama.yaml:1: apiVersion: is apps/v1",
		strings.Replace(head+worker, "size: 4", "size: 0", 1):                        "llama.yaml:7: spec/leaderWorkerTemplate/size: is too small",
		strings.Replace(head+worker, "kind: LeaderWorkerSet", "kind: Deployment", 1): "apiVersion",
	} {
		if _, err := propagation.ReadWorkload("llama.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want it to say %q", text, err, want)
		}
	}
}
