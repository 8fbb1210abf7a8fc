package protocol

// The walks. The order of columns is the wire: new ones go to the end.

func (r *Price) walk(w *wire) {
	c := w.row(5)
	name(&c, &r.Site)
	name(&c, &r.Model)
	integer(&c, &r.From)
	integer(&c, &r.Slot)
	integers(&c, &r.Values)
	c.end()
}

func (r *Menu) walk(w *wire) {
	c := w.row(4)
	name(&c, &r.Job)
	rows(&c, &r.Options)
	if w.writing || c.more() {
		r.Why.walk(w)
	}
	rows(&c, &r.Expect)
	c.end()
}

func (r *Estimate) walk(w *wire) {
	c := w.row(4)
	integer(&c, &r.Mean)
	integer(&c, &r.P50)
	integer(&c, &r.P90)
	integer(&c, &r.Runs)
	c.end()
}

func (r *Option) walk(w *wire) {
	c := w.row(11)
	integer(&c, &r.Start)
	integer(&c, &r.Finish)
	name(&c, &r.Model)
	integer(&c, &r.Cap)
	integer(&c, &r.Energy)
	integer(&c, &r.Carbon)
	integer(&c, &r.Money)
	integer(&c, &r.Transfer)
	integer(&c, &r.Fragment)
	integer(&c, &r.Score)
	integer(&c, &r.Awake)
	c.end()
}

func (r *Room) walk(w *wire) {
	c := w.row(6)
	name(&c, &r.Model)
	integer(&c, &r.From)
	integer(&c, &r.Slot)
	integers(&c, &r.Free)
	integer(&c, &r.Total)
	integers(&c, &r.Open)
	c.end()
}

func (r *Outlook) walk(w *wire) {
	c := w.row(6)
	integer(&c, &r.From)
	integers(&c, &r.Price)
	integers(&c, &r.Carbon)
	integers(&c, &r.PUE)
	integers(&c, &r.PriceOff)
	integers(&c, &r.CarbonOff)
	c.end()
}

func (r *Pool) walk(w *wire) {
	c := w.row(5)
	name(&c, &r.Model)
	integer(&c, &r.Nodes)
	integer(&c, &r.GPUs)
	integer(&c, &r.CPU)
	integer(&c, &r.Memory)
	c.end()
}

func (r *Node) walk(w *wire) {
	c := w.row(10)
	name(&c, &r.Name)
	name(&c, &r.Model)
	integer(&c, &r.GPUs)
	integer(&c, &r.CPU)
	integer(&c, &r.Memory)
	integer(&c, &r.GPUMemory)
	name(&c, &r.Closed)
	integer(&c, &r.OtherCPU)
	integer(&c, &r.OtherMem)
	integers(&c, &r.Others)
	c.end()
}

func (r *Point) walk(w *wire) {
	c := w.row(2)
	integer(&c, &r.At)
	integer(&c, &r.Value)
	c.end()
}

func (r *Slice) walk(w *wire) {
	c := w.row(2)
	integer(&c, &r.Hour)
	integer(&c, &r.Energy)
	c.end()
}

func (r *Bill) walk(w *wire) {
	c := w.row(5)
	integer(&c, &r.IT)
	integer(&c, &r.Energy)
	integer(&c, &r.Carbon)
	integer(&c, &r.Money)
	integer(&c, &r.Finish)
	c.end()
}

func (r *Certificate) walk(w *wire) {
	c := w.row(3)
	integer(&c, &r.Primal)
	integer(&c, &r.Bound)
	integer(&c, &r.Jobs)
	c.end()
}

func (r *Reason) walk(w *wire) {
	c := w.row(2)
	name(&c, &r.Code)
	name(&c, &r.Note)
	c.end()
}

func (r *Weights) walk(w *wire) {
	c := w.row(3)
	integer(&c, &r.Carbon)
	integer(&c, &r.Delay)
	integer(&c, &r.Late)
	c.end()
}

func (r *Choice) walk(w *wire) {
	c := w.row(6)
	name(&c, &r.Handle)
	name(&c, &r.Site)
	if w.writing || c.more() {
		r.Option.walk(w)
	}
	integer(&c, &r.Cost)
	integer(&c, &r.Extra)
	boolean(&c, &r.Queue)
	c.end()
}

func (r *Note) walk(w *wire) {
	c := w.row(3)
	name(&c, &r.ID)
	name(&c, &r.Site)
	name(&c, &r.Text)
	c.end()
}

func (r *Pick) walk(w *wire) {
	c := w.row(2)
	name(&c, &r.Handle)
	name(&c, &r.Why)
	c.end()
}

func (j *Job) walk(w *wire) { w.fields(j.fields) }

func (j *Job) fields(f *fields) {
	keyText(f, "id", &j.ID, always)
	keyText(f, "tn", &j.Tenant, unlessZero)
	keyText(f, "hm", &j.Home, unlessZero)
	keyInt(f, "g", &j.GPUs, unlessZero)
	keyInt(f, "s", &j.Share, unlessZero)
	keyInt(f, "gm", &j.GPUMemory, unlessZero)
	keyInt(f, "c", &j.CPU, unlessZero)
	keyInt(f, "m", &j.Memory, unlessZero)
	keyTexts(f, "md", &j.Models)
	keyInt(f, "a", &j.Arrival, always)
	keyInt(f, "r", &j.Run, always)
	keyInt(f, "d", &j.Deadline, always)
	keyFlag(f, "df", &j.Deferrable)
	keyInt(f, "p", &j.Priority, unlessZero)
	keyTexts(f, "rg", &j.Regions)
	keyInt(f, "in", &j.Input, unlessZero)
	keyText(f, "im", &j.Image, unlessZero)
	keyInt(f, "pz", &j.Pause, unlessZero)
	keyInt(f, "sz", &j.State, unlessZero)
}

func (r *Step) walk(w *wire) {
	c := w.row(3)
	integer(&c, &r.At)
	name(&c, &r.From)
	count(&c, &r.Seq)
	c.end()
}

func (r *Balance) walk(w *wire) {
	c := w.row(3)
	name(&c, &r.Account)
	integer(&c, &r.Amount)
	integer(&c, &r.Jobs)
	c.end()
}

func (r *Stray) walk(w *wire) {
	c := w.row(3)
	name(&c, &r.Site)
	name(&c, &r.Job)
	count(&c, &r.Epoch)
	c.end()
}

func (r *Past) walk(w *wire) {
	c := w.row(3)
	name(&c, &r.Job)
	integer(&c, &r.At)
	count(&c, &r.Mark)
	c.end()
}
