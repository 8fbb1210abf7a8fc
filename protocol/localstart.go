package protocol

// LocalStart reports that a site started a job of its own queue by itself, while it heard no
// coordinator. The coordinator answers with an Award of the run, or with a Cancel if another site
// has the job or it is over. A site repeats it until then.
type LocalStart struct {
	Job    JobID     `msgpack:"j"`
	Epoch  uint64    `msgpack:"e"` // that the site launched it under; an Award has a higher one
	Option BidOption `msgpack:"o"` // as the site would have bid, from when it started
}

func (LocalStart) messageKind() string  { return "local-start" }
func (b LocalStart) referredJob() JobID { return b.Job }

const (
	// StartedAlone is why a site is awarded a job: it runs there already, and why the site does not
	// bid for it.
	StartedAlone Code = "started-alone"
	// HomeSilent is why a job of a site's own queue waits: the site may start it by itself, and has
	// not said that it will not.
	HomeSilent Code = "home-silent"
)

// isPossible reports whether the option of a LocalStart is within bounds.
func (b LocalStart) isPossible() bool {
	o := b.Option
	return b.Epoch > 0 && b.Epoch < 1<<32 && o.Finish > o.Start && o.Finish <= o.Start.Add(3*MaxRun) && o.Energy >= 0 && o.Carbon >= 0 && o.Tariff >= 0 &&
		Usage{Energy: o.Energy, Carbon: o.Carbon, Money: o.Money}.isWithinBounds()
}
