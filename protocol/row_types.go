package protocol

//lint:file-ignore U1000 msgpack reads the field _msgpack by reflection: a struct with it is written as an array.

import "time"

// Rows, which travel as arrays: they may grow at their end.
type (
	// A ShadowPrice is what a GPU-hour of one model at one site is worth, by slot.
	ShadowPrice struct {
		_msgpack struct{}       `msgpack:",as_array"`
		Site     string         //
		Model    string         //
		From     Time           // of the first slot
		Slot     time.Duration  //
		Values   []Microdollars // per GPU-hour, never negative
	}

	// A JobBids is a site's answer for one job: options, or why it has none.
	JobBids struct {
		_msgpack struct{} `msgpack:",as_array"`
		Job      JobID
		Options  []BidOption
		Why      Reason
		Expect   []Estimate // one, of a job that does not say how long it runs
	}

	// An BidOption is one way to run a job. Energy, carbon and money are the
	// change of the site's own, facility's share included, by forecasts of now.
	BidOption struct {
		_msgpack           struct{} `msgpack:",as_array"`
		Start              Time
		Finish             Time
		Model              string       // of the GPUs; "" for a job without
		Cap                Milliwatts   // of each device; 0: none
		Energy             Millijoules  //
		Carbon             Milligrams   //
		Money              Microdollars // for energy
		Transfer           Microdollars // for moving its input
		FragmentationDelta Milli        `name:"fragment"` // of GPUs made useless to the usual jobs; negative: made useful
		Score              Milli        // of the node, by the site's placement policy
		NodeIdleShare      Microdollars `name:"awake"` // its part in keeping a node awake, carbon included
	}

	// A CapacityProfile is what a site could still give of one GPU model, by slot.
	CapacityProfile struct {
		_msgpack      struct{} `msgpack:",as_array"`
		Model         string
		From          Time
		Slot          time.Duration
		Free          []Milli // of GPUs, by slot
		Total         Milli
		ForDeferrable []Milli `name:"open"` // of Free, to jobs that can wait; empty: all
	}

	// An GridForecast is the grid as a site sees it now: this hour, then forecasts.
	GridForecast struct {
		_msgpack struct{} `msgpack:",as_array"`
		From     Time     // start of this hour
		Price    []Microdollars
		Carbon   []Milligrams
		PUE      []Milli
		// By how much Price and Carbon may be off: four in five are within. 0 is
		// what was measured or sold; empty is not said.
		PriceOff  []Microdollars
		CarbonOff []Milligrams
	}

	// A Pool is the GPUs of one model at a site. Model is "" for nodes without.
	Pool struct {
		_msgpack struct{} `msgpack:",as_array"`
		Model    string
		Nodes    int
		GPUs     int
		CPU      Milli
		Memory   MiB
	}

	// A Node is one machine of a site, and what others than the market's jobs
	// hold of it.
	Node struct {
		_msgpack  struct{} `msgpack:",as_array"`
		Name      string
		Model     string // of its GPUs; "" for a node without
		GPUs      int
		CPU       Milli
		Memory    MiB
		GPUMemory MiB     // of each device; 0: not known
		Closed    string  // why it takes nothing new; "": it does
		OtherCPU  Milli   // held by others
		OtherMem  MiB     // held by others
		Others    []Milli // held by others of each device; may be shorter than GPUs
	}

	// A Point is a value of a signal from an instant on, until the next point.
	Point struct {
		_msgpack struct{} `msgpack:",as_array"`
		At       Time
		Value    int64 // unit: see Quantity
	}

	// A HourlyEnergy is the energy drawn in one hour of a run.
	HourlyEnergy struct {
		_msgpack struct{} `msgpack:",as_array"`
		Hour     Time
		Energy   Millijoules
	}

	// A Usage is energy with what it cost the purse and the air.
	Usage struct {
		_msgpack struct{}     `msgpack:",as_array"`
		IT       Millijoules  // before the facility's share
		Energy   Millijoules  // with it
		Carbon   Milligrams   //
		Money    Microdollars //
		Finish   Time         // of a job; zero for a site's hour
	}

	// A Certificate says how good the clearing of a round was: no assignment of
	// its jobs can cost less than Bound, and the one awarded costs Primal.
	Certificate struct {
		_msgpack struct{} `msgpack:",as_array"`
		Primal   Microdollars
		Bound    Microdollars
		Jobs     int
	}

	// A JudgeChoice is an option under a handle that tells nothing: "k2".
	JudgeChoice struct {
		_msgpack struct{} `msgpack:",as_array"`
		Handle   string
		Site     string
		Option   BidOption
		Cost     Microdollars // as the clearing ranks it: all terms, by trust in the site
		Extra    Microdollars // over the best of the choices, room counted where that is dearer
		MayQueue bool         `name:"queue"` // it would wait at the site
	}

	// A OperatorNotice is what an operator wants known of a site.
	OperatorNotice struct {
		_msgpack struct{} `msgpack:",as_array"`
		ID       string
		Site     string
		Text     string
	}

	// A JudgePick is one verdict: a handle, and why.
	JudgePick struct {
		_msgpack struct{} `msgpack:",as_array"`
		Handle   string
		Why      Code
	}

	// A Reason says why, as a code for machines and a note for people.
	Reason struct {
		_msgpack struct{} `msgpack:",as_array"`
		Code     Code
		Note     string
	}
)
