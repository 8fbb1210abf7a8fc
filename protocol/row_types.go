package protocol

//lint:file-ignore U1000 the field _msgpack is read by reflection: a struct with it is written as an array.

import "time"

// Rows are encoded as arrays: they may grow at their end.
type (
	// A ShadowPrice is the shadow price of a GPU-hour of one model at one site, by slot.
	ShadowPrice struct {
		_msgpack struct{}       `msgpack:",as_array"`
		Site     string         //
		Model    string         //
		From     Time           // of the first slot
		Slot     time.Duration  //
		Values   []Microdollars // per GPU-hour, never negative
	}

	// A JobBids is a site's answer for one job: options, or why there are none.
	JobBids struct {
		_msgpack struct{} `msgpack:",as_array"`
		Job      JobID
		Options  []BidOption
		Why      Reason
		Expect   []Estimate // one, for a job without a run time
	}

	// A BidOption is one way to run a job. Energy, carbon and money are what the site uses
	// more because of the job, with the facility's overhead, by current forecasts.
	BidOption struct {
		_msgpack           struct{} `msgpack:",as_array"`
		Start              Time
		Finish             Time
		Model              string        // of the GPUs; "" without GPUs
		Cap                Milliwatts    // power cap of each device; 0: none
		Energy             Millijoules   //
		Carbon             Milligrams    //
		Money              Microdollars  // for energy
		Transfer           Microdollars  // for transferring its input
		FragmentationDelta Milli         `name:"fragment"` // GPU capacity that usual jobs can no longer use; negative: capacity that becomes usable
		Score              Milli         // of the node, by the site's placement policy
		NodeIdleShare      Microdollars  `name:"awake"` // its share of keeping a node awake, including carbon
		Wake               time.Duration // from Start, while its node wakes: the job waits for so long, too
		Tariff             Microdollars  // that the site charges for a GPU-hour, beside the energy
		Pods               int           `json:",omitempty"` // of an elastic job: on how many; 0: on as many as the job has
	}

	// A CapacityProfile is a site's free capacity of one GPU model, by slot.
	CapacityProfile struct {
		_msgpack      struct{} `msgpack:",as_array"`
		Model         string
		From          Time
		Slot          time.Duration
		Free          []Milli // of GPUs, by slot
		Total         Milli
		ForDeferrable []Milli `name:"open"` // the part of Free for deferrable jobs; empty: all
		// The parts of the cores and of the memory of these GPUs' nodes that are in use now; 0: none, or not stated.
		CPUUsed    Milli `json:",omitempty"`
		MemoryUsed Milli `json:",omitempty"`
	}

	// A GridForecast is a site's view of its grid: the current hour, then forecasts.
	GridForecast struct {
		_msgpack struct{} `msgpack:",as_array"`
		From     Time     // start of this hour
		Price    []Microdollars
		Carbon   []Milligrams
		PUE      []Milli
		// Bounds that four in five errors of Price and Carbon stay within. 0: measured
		// or sold; empty: not stated.
		PriceOff  []Microdollars
		CarbonOff []Milligrams
	}

	// A Pool is the GPUs of one model at a site. Model is "" for nodes without GPUs.
	Pool struct {
		_msgpack struct{} `msgpack:",as_array"`
		Model    string
		Nodes    int
		GPUs     int
		CPU      Milli
		Memory   MiB
	}

	// A Node is one machine of a site, and the capacity that others than the market's
	// jobs use.
	Node struct {
		_msgpack  struct{} `msgpack:",as_array"`
		Name      string
		Model     string // of its GPUs; "" for a node without GPUs
		GPUs      int
		CPU       Milli
		Memory    MiB
		GPUMemory MiB     // of each device; 0: not known
		Closed    string  // why it accepts no new job; "": it does
		OtherCPU  Milli   // used by others
		OtherMem  MiB     // used by others
		Others    []Milli // used by others, by device; may be shorter than GPUs
	}

	// A Point is a value of a signal from an instant on, until the next point.
	Point struct {
		_msgpack struct{} `msgpack:",as_array"`
		At       Time
		Value    int64 // unit: see Quantity
	}

	// An HourlyEnergy is the energy drawn in one hour of a run.
	HourlyEnergy struct {
		_msgpack struct{} `msgpack:",as_array"`
		Hour     Time
		Energy   Millijoules
	}

	// A Usage is energy with its cost in money and carbon.
	Usage struct {
		_msgpack struct{}     `msgpack:",as_array"`
		IT       Millijoules  // without the facility's overhead
		Energy   Millijoules  // with it
		Carbon   Milligrams   //
		Money    Microdollars //
		Finish   Time         // of a job; zero for a site's hour
	}

	// A Certificate bounds the clearing of a round: no assignment of its jobs costs less
	// than Bound; the awarded one costs Primal.
	Certificate struct {
		_msgpack struct{} `msgpack:",as_array"`
		Primal   Microdollars
		Bound    Microdollars
		Jobs     int
	}

	// A JudgeChoice is an option under a neutral handle, such as "k2".
	JudgeChoice struct {
		_msgpack struct{} `msgpack:",as_array"`
		Handle   string
		Site     string
		Option   BidOption
		Cost     Microdollars // as the clearing ranks it: all terms, scaled by trust in the site
		Extra    Microdollars // above the best choice, with the price of capacity where that is higher
		MayQueue bool         `name:"queue"` // it would wait at the site
	}

	// An OperatorNotice is an operator's note on a site.
	OperatorNotice struct {
		_msgpack struct{} `msgpack:",as_array"`
		ID       string
		Site     string
		Text     string
	}

	// A JudgePick is one verdict: a handle and its reason.
	JudgePick struct {
		_msgpack struct{} `msgpack:",as_array"`
		Handle   string
		Why      Code
	}

	// A Reason is a code for programs and a note for people.
	Reason struct {
		_msgpack struct{} `msgpack:",as_array"`
		Code     Code
		Note     string
	}
)
