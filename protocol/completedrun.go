package protocol

//lint:file-ignore U1000 msgpack reads the field _msgpack by reflection: a struct with it is written as an array.

import "time"

// What a site remembers of jobs that ran, and makes of it.
type (
	// Utilization is what a job made of what it held, over its run; 0 is what was not
	// measured.
	Utilization struct {
		GPU         Milli `msgpack:"g,omitempty"`  // part of the time that its devices worked, in the mean
		GPUMemory   MiB   `msgpack:"gm,omitempty"` // of one device, at most
		CPU         Milli `msgpack:"c,omitempty"`  // cores, in the mean
		Memory      MiB   `msgpack:"m,omitempty"`  // at most
		Received    MiB   `msgpack:"rx,omitempty"` // over the network, in all
		Sent        MiB   `msgpack:"tx,omitempty"` // likewise
		Temperature int   `msgpack:"t,omitempty"`  // of its hottest device at most, degrees Celsius
	}

	// CompletedRun is what a site remembers of a run, to tell by it how long jobs like it
	// take. It is a fact of the site's agent, and said to nobody.
	CompletedRun struct {
		Job    Job           `msgpack:"j"`            // tenant, image and shape
		Lasted time.Duration `msgpack:"r"`            // at the reference clock
		Power  Milliwatts    `msgpack:"pw,omitempty"` // mean, before the facility's share; 0: not measured
		Use    Utilization   `msgpack:"u,omitempty"`
	}

	// An Estimate is how long a site takes a job to run, at the reference clock, by
	// the jobs like it that it ran before. Its options are planned with the mean,
	// which is right for the sum of many.
	Estimate struct {
		_msgpack struct{} `msgpack:",as_array"`
		Mean     time.Duration
		P50      time.Duration // half of such jobs took less
		P90      time.Duration // nine in ten did
		Runs     int           // of the jobs most like it; 0: a guess by rule
	}
)
