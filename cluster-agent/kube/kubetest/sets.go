package kubetest

import "time"

// setTemplate returns the template of pods with four cores, 16 GiB and some GPUs, which end
// after run (0: never), of a container that Kubeflow's kinds want by this name.
func setTemplate(container string, gpus string, run time.Duration, notes map[string]string) map[string]any {
	all := map[string]any{}
	if run > 0 {
		all["plane.test/run"] = run.String()
	}
	for k, v := range notes {
		all[k] = v
	}
	limits := map[string]any{}
	if gpus != "" {
		limits["nvidia.com/gpu"] = gpus
	}
	spec := PodSpec(limits)
	delete(spec, "restartPolicy") // of the role, in these kinds
	spec["containers"].([]any)[0].(map[string]any)["name"] = container
	return map[string]any{"metadata": map[string]any{"annotations": all}, "spec": spec}
}

// PyTorchJob returns a PyTorchJob of a master and three workers of eight GPUs. It ends with
// its master, after run.
func PyTorchJob(run time.Duration, notes map[string]string) map[string]any {
	role := func(n int, run time.Duration, notes map[string]string) map[string]any {
		return map[string]any{"replicas": int64(n), "restartPolicy": "Never", "template": setTemplate("pytorch", "8", run, notes)}
	}
	return map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": map[string]any{}, "spec": map[string]any{
		"runPolicy":           map[string]any{"backoffLimit": int64(0)},
		"pytorchReplicaSpecs": map[string]any{"Master": role(1, run, notes), "Worker": role(3, 0, nil)},
	}}
}

// MPIJob returns an MPIJob of a launcher without GPUs and eight workers of four. It ends with
// its launcher, after run.
func MPIJob(run time.Duration, notes map[string]string) map[string]any {
	role := func(n int, gpus string, run time.Duration, notes map[string]string) map[string]any {
		return map[string]any{"replicas": int64(n), "restartPolicy": "Never", "template": setTemplate("mpi", gpus, run, notes)}
	}
	return map[string]any{"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": map[string]any{}, "spec": map[string]any{
		"slotsPerWorker": int64(4), "runPolicy": map[string]any{"backoffLimit": int64(0)},
		"mpiReplicaSpecs": map[string]any{"Launcher": role(1, "", run, notes), "Worker": role(8, "4", 0, nil)},
	}}
}

// LeaderWorkerSet returns a LeaderWorkerSet of two groups: a leader and three workers of four
// GPUs each.
func LeaderWorkerSet() map[string]any {
	return map[string]any{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": map[string]any{}, "spec": map[string]any{
		"replicas": int64(2), "leaderWorkerTemplate": map[string]any{
			"size": int64(4), "leaderTemplate": setTemplate("main", "4", 0, nil), "workerTemplate": setTemplate("main", "4", 0, nil),
		},
	}}
}

// GroupOfPods returns a LeaderWorkerSet of seven groups: four pods of one GPU each. As the task of a service
// it is one replica.
func GroupOfPods() map[string]any {
	return map[string]any{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": map[string]any{}, "spec": map[string]any{
		"replicas": int64(7), "leaderWorkerTemplate": map[string]any{"size": int64(4), "workerTemplate": setTemplate("main", "1", 0, nil)},
	}}
}
