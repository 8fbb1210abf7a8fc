package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import "time"

// Recorded runs of a site, and estimates from them.
type (
	// Utilization is the resource use of a run; 0 means not measured.
	Utilization struct {
		GPU         Milli `msgpack:"g,omitempty"`  // mean share of time that its devices were busy
		GPUMemory   MiB   `msgpack:"gm,omitempty"` // peak of one device
		CPU         Milli `msgpack:"c,omitempty"`  // mean number of cores
		Memory      MiB   `msgpack:"m,omitempty"`  // peak
		Received    MiB   `msgpack:"rx,omitempty"` // total over the network
		Sent        MiB   `msgpack:"tx,omitempty"` // total over the network
		Temperature int   `msgpack:"t,omitempty"`  // peak of its hottest device, degrees Celsius
	}

	// CompletedRun records a finished run, to estimate run times of similar jobs. It is an event
	// of the site's agent and never sent.
	CompletedRun struct {
		Job    Job           `msgpack:"j"`            // its tenant, image and shape count
		Lasted time.Duration `msgpack:"r"`            // at the reference clock
		Power  Milliwatts    `msgpack:"pw,omitempty"` // mean, without the facility's overhead; 0: not measured
		Use    Utilization   `msgpack:"u,omitempty"`
	}

	// An Estimate is a site's estimate of a job's run time at the reference clock, from
	// its earlier runs of similar jobs. Options are planned with the mean, so that the
	// sum over many jobs is right.
	Estimate struct {
		_msgpack struct{} `msgpack:",as_array"`
		Mean     time.Duration
		P50      time.Duration // median
		P90      time.Duration // 90th percentile
		Runs     int           // of the most similar jobs; 0: no runs, a default
	}
)
