package spec

import (
	"math"
	"time"

	"github.com/gridbid/gridbid/protocol"
	"github.com/gridbid/gridbid/scenarios/generate"
)

// An elasticSpec makes a share of the jobs elastic.
type elasticSpec struct {
	Share float64 `yaml:"share"`
	Curve string  `yaml:"curve"`
}

// elasticCurves are speed-up curves by name: thousands of samples an hour on one to eight workers, as measured
// by CarbonScaler's authors (W. Hanafy et al., "CarbonScaler: Leveraging Cloud Workload Elasticity for
// Optimizing Carbon-Efficiency", SIGMETRICS 2024; umassos/carbonAdvisor at 3e1ac6a, scale_profile.yaml). Workers
// there are machines without GPUs; here they are pods of one GPU.
var elasticCurves = map[string][]float64{
	"densenet121":     {171.2, 335.3, 502.7, 660.0, 826.1, 988.8, 1153, 1313},
	"efficientnet_b1": {228.0, 433.2, 643.4, 847.7, 1063, 1253, 1471, 1654},
	"mobilenet_v2":    {437.9, 759.0, 1097, 1459, 1736, 2058, 2344, 2621},
	"resnet18":        {723.6, 1376, 2086, 2756, 3332, 4069, 4676, 5297},
	"resnet50":        {189.1, 368.7, 543.9, 721.8, 913.3, 1079, 1258, 1430},
	"vgg16":           {132.8, 161.7, 196.9, 234.5, 278.8, 324.0, 370.8, 416.4},
}

// minElasticRun is the shortest run of a job that becomes elastic, as of one that can be paused.
const minElasticRun = 20 * time.Minute

// makeElastic makes a share of the jobs elastic that may wait, run for minElasticRun or more and hold one to
// eight whole GPUs: each is then pods of one GPU, as many as it has, and may run on one to eight. It may also be
// paused, at the cost of every job that is. The seed says which jobs these are.
func (out *Scenario) makeElastic(e elasticSpec) {
	could, made := 0, 0
	for i := range out.Jobs {
		j := &out.Jobs[i]
		if j.IsGang() || !j.MayWait() || j.Run < minElasticRun || j.GPUs < 1 || j.GPUs > len(elasticCurves[e.Curve]) || j.Share != 1000 {
			continue
		}
		could++
		if generate.SeededRand(out.Seed, string(j.ID), "elastic").Float64() >= e.Share {
			continue
		}
		made++
		x := *j
		x.Speed = speedPoints(elasticCurves[e.Curve])
		if x.Pause == 0 {
			x.Pause, x.State = generate.PauseOf(x.GPUs)
		}
		n := x.GPUs
		x = x.WithPods([]protocol.Component{{
			Role: "worker", Pods: n, GPUs: 1, Share: 1000, GPUMemory: x.GPUMemory, CPU: x.CPU / protocol.Milli(n), Memory: x.Memory / protocol.MiB(n),
		}})
		if x.InvalidReason() == "" { // on one pod it may run for longer than any job may
			*j = x
		} else {
			made--
		}
	}
	out.addNote("%d of %d jobs that could be are elastic: they run on 1 to 8 pods of one GPU at the speeds that CarbonScaler's authors measured of %s, and may be paused to go on with another number", made, could, e.Curve)
}

// speedPoints returns the curve of what is done on one and more workers.
func speedPoints(work []float64) (out []protocol.SpeedPoint) {
	for i, w := range work {
		out = append(out, protocol.SpeedPoint{Pods: i + 1, Speed: protocol.Milli(math.Round(1000 * w / work[0]))})
	}
	return out
}
