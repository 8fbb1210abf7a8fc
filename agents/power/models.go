package power

import (
	"slices"

	"github.com/gridbid/gridbid/protocol"
)

// w is a watt, to keep the table readable.
const w protocol.Milliwatts = 1000

// DefaultTable returns the built-in models. V100M16 and V100M32 are the V100; A100-40
// and A100-80 are the A100.
func DefaultTable() Table {
	gpus := slices.Concat(measuredGPUs(), assumedGPUs(), newerGPUs())
	slices.SortFunc(gpus, func(a, b GPU) int { return compareModel(a, b.Model) })
	return Table{gpus}
}

// Curves of Zeus (NSDI '23): medians over six networks and their batch sizes,
// taken from the raw traces that its authors published.
const zeus = "caps: medians of the Zeus traces (NSDI '23); "

var (
	curveV100 = []Cap{
		{200 * w, 965, 897}, {175 * w, 941, 845}, {150 * w, 899, 806},
		{125 * w, 853, 796}, {100 * w, 725, 836},
	}
	curveA40 = []Cap{
		{250 * w, 989, 956}, {225 * w, 985, 936}, {200 * w, 956, 866},
		{175 * w, 929, 839}, {150 * w, 751, 954},
	}
	curveRTX6000 = []Cap{{200 * w, 971, 871}, {150 * w, 909, 778}, {125 * w, 821, 795}}
	curveP100    = []Cap{{125 * w, 944, 880}}
)

// measuredGPUs returns the models that have a measured curve of their own.
func measuredGPUs() []GPU {
	v100 := GPU{
		Model: "V100", Idle: 35 * w, Load: 160 * w, Limit: 250 * w, Speed: 1000, Caps: curveV100,
		Source: zeus + "load: between their mean (149 W) and median (177 W) without a cap; idle assumed",
	}
	return []GPU{
		v100,
		renamedGPU("V100M16", v100, "as V100"),
		renamedGPU("V100M32", v100, "as V100"),
		{
			Model: "A40", Idle: 30 * w, Load: 195 * w, Limit: 300 * w, Speed: 1000, Caps: curveA40,
			Source: zeus + "load: between their mean (184 W) and median (203 W); speed: median of 48 runs on both, 1018; idle assumed",
		},
		{
			Model: "RTX6000", Idle: 20 * w, Load: 180 * w, Limit: 260 * w, Speed: 850, Caps: curveRTX6000,
			Source: zeus + "idle, load and speed assumed", Assumed: true,
		},
		{
			Model: "P100", Idle: 30 * w, Load: 145 * w, Limit: 250 * w, Speed: 500, Caps: curveP100,
			Source: zeus + "idle, load and speed assumed", Assumed: true,
		},
	}
}

// assumedGPUs returns the models without a curve of their own. Boards of 75 W and
// less work at their limit and can hardly be set lower, so they offer no cap.
func assumedGPUs() []GPU {
	const how = "limit: the maker's; caps: the worst of V100, A40 and RTX6000 at the same part of the limit; "
	a10 := GPU{
		Model: "A10", Idle: 20 * w, Load: 115 * w, Limit: 150 * w, Speed: 900, Caps: transferredCaps(150*w, 100*w),
		Source: how + "idle, load and speed assumed", Assumed: true,
	}
	a100 := GPU{
		Model: "A100", Idle: 60 * w, Load: 300 * w, Limit: 400 * w, Speed: 2000, Caps: transferredCaps(400*w, 200*w),
		Source: how + "idle and load: of Acme's A100s (NSDI '24); speed assumed", Assumed: true,
	}
	return []GPU{
		{
			Model: "T4", Idle: 10 * w, Load: 65 * w, Limit: 70 * w, Speed: 350,
			Source: "limit: the maker's; no caps: can be set to 60 W at least; the rest assumed", Assumed: true,
		},
		{
			Model: "L4", Idle: 15 * w, Load: 65 * w, Limit: 72 * w, Speed: 550,
			Source: "limit: the maker's; no caps: works at its limit; the rest assumed", Assumed: true,
		},
		a10,
		a100,
		renamedGPU("A100-40", a100, "as A100"),
		renamedGPU("A100-80", a100, "as A100"),
		{
			Model: "H100", Idle: 70 * w, Load: 525 * w, Limit: 700 * w, Speed: 4000, Caps: transferredCaps(700*w, 200*w),
			Source: how + "load: median of the ML.ENERGY board (531 W); idle and speed assumed", Assumed: true,
		},
		{
			Model: "H200", Idle: 75 * w, Load: 525 * w, Limit: 700 * w, Speed: 4400, Caps: transferredCaps(700*w, 200*w),
			Source: how + "idle, load and speed assumed", Assumed: true,
		},
		{
			Model: "B200", Idle: 140 * w, Load: 750 * w, Limit: 1000 * w, Speed: 8000, Caps: transferredCaps(1000*w, 400*w),
			Source: how + "idle, load and speed assumed", Assumed: true,
		},
		renamedGPU("G2", a10, "anonymous in Alibaba's trace of 2023; assumed to be an A10"),
		renamedGPU("G3", a100, "anonymous in Alibaba's trace of 2023; assumed to be an A100"),
	}
}

// newerGPUs returns boards of which neither draw nor speed was measured here: the limit is
// the maker's, the rest stands in for a measurement of the site's own (cluster-agent powercal).
func newerGPUs() []GPU {
	const how = "caps: the worst of V100, A40 and RTX6000 at the same part of the limit; load: three quarters of the limit; idle and speed assumed; limit: "
	board := func(model string, idle, limit, lowest protocol.Milliwatts, speed protocol.Milli, source string) GPU {
		return GPU{Model: model, Idle: idle, Load: limit * 3 / 4, Limit: limit, Speed: speed, Caps: transferredCaps(limit, lowest), Source: how + source, Assumed: true}
	}
	return []GPU{
		board("A30", 28*w, 165*w, 100*w, 1100, "NVIDIA A30 datasheet, 165 W"),
		board("L40S", 35*w, 350*w, 100*w, 1700, "NVIDIA L40S datasheet, 350 W"),
		board("RTX-PRO-6000", 30*w, 600*w, 300*w, 2600, "NVIDIA RTX PRO 6000 Blackwell datasheets, server and workstation editions, 600 W (Max-Q has 300 W)"),
		board("H20", 70*w, 400*w, 200*w, 1200, "400 W, as reported of the board; NVIDIA publishes no datasheet"),
		board("GH200", 90*w, 900*w, 400*w, 4200, "NVIDIA GH200 datasheet, module programmable from 450 to 1000 W with its processor; 900 W for the GPU assumed"),
		board("GB200", 150*w, 1200*w, 400*w, 8800, "NVIDIA GB200 NVL72, up to 1200 W a GPU"),
		board("B300", 150*w, 1400*w, 400*w, 8800, "NVIDIA HGX B300, up to 1400 W a GPU"),
		board("MI300X", 140*w, 750*w, 350*w, 3800, "AMD Instinct MI300X datasheet, 750 W"),
	}
}

// renamedGPU returns g under another model name; why goes in front of its source.
func renamedGPU(model string, g GPU, why string) GPU {
	g.Model = model
	g.Source = why + ": " + g.Source
	return g
}

// transferredCaps returns caps for a model without a measured curve: at 80, 70 and 60 %
// of the limit, the lowest speed and the highest energy of the three full curves
// there (each interpolated linearly). All three curves were measured at 60 % and
// above, so no value is extrapolated. lowest is the lowest limit that the vendor
// allows.
func transferredCaps(limit, lowest protocol.Milliwatts) []Cap {
	var caps []Cap
	for _, c := range []Cap{{800, 965, 948}, {700, 941, 894}, {600, 899, 844}} {
		c.Limit = limit * c.Limit / 1000
		if c.Limit >= lowest {
			caps = append(caps, c)
		}
	}
	return caps
}
