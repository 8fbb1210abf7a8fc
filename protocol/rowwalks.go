package protocol

// The walks of the rows. Invariant: the order of columns is the wire format, so new columns go to the
// end, and no column is ever removed within a version. beginRow's argument is the number of columns.

func (r *ShadowPrice) walkWire(w *wire) {
	c := w.beginRow(5)
	walkName(&c, &r.Site)
	walkName(&c, &r.Model)
	walkInt(&c, &r.From)
	walkInt(&c, &r.Slot)
	walkInts(&c, &r.Values)
	c.skipNewerColumns()
}

func (r *JobBids) walkWire(w *wire) {
	c := w.beginRow(4)
	walkName(&c, &r.Job)
	walkRows(&c, &r.Options)
	if w.writing || c.hasMoreColumns() {
		r.Why.walkWire(w)
	}
	walkRows(&c, &r.Expect)
	c.skipNewerColumns()
}

func (r *Estimate) walkWire(w *wire) {
	c := w.beginRow(4)
	walkInt(&c, &r.Mean)
	walkInt(&c, &r.P50)
	walkInt(&c, &r.P90)
	walkInt(&c, &r.Runs)
	c.skipNewerColumns()
}

func (r *BidOption) walkWire(w *wire) {
	width := 13
	if r.Pods != 0 {
		width++ // of elastic jobs alone: the options of others keep their bytes
	}
	c := w.beginRow(width)
	walkInt(&c, &r.Start)
	walkInt(&c, &r.Finish)
	walkName(&c, &r.Model)
	walkInt(&c, &r.Cap)
	walkInt(&c, &r.Energy)
	walkInt(&c, &r.Carbon)
	walkInt(&c, &r.Money)
	walkInt(&c, &r.Transfer)
	walkInt(&c, &r.FragmentationDelta)
	walkInt(&c, &r.Score)
	walkInt(&c, &r.NodeIdleShare)
	walkInt(&c, &r.Wake)
	walkInt(&c, &r.Tariff)
	if !w.writing || r.Pods != 0 {
		walkInt(&c, &r.Pods)
	}
	c.skipNewerColumns()
}

func (r *CapacityProfile) walkWire(w *wire) {
	width := 6
	if r.CPUUsed != 0 || r.MemoryUsed != 0 {
		width += 2 // not of idle nodes: their profiles keep their bytes
	}
	c := w.beginRow(width)
	walkName(&c, &r.Model)
	walkInt(&c, &r.From)
	walkInt(&c, &r.Slot)
	walkInts(&c, &r.Free)
	walkInt(&c, &r.Total)
	walkInts(&c, &r.ForDeferrable)
	if !w.writing || width > 6 {
		walkInt(&c, &r.CPUUsed)
		walkInt(&c, &r.MemoryUsed)
	}
	c.skipNewerColumns()
}

func (r *GridForecast) walkWire(w *wire) {
	c := w.beginRow(6)
	walkInt(&c, &r.From)
	walkInts(&c, &r.Price)
	walkInts(&c, &r.Carbon)
	walkInts(&c, &r.PUE)
	walkInts(&c, &r.PriceOff)
	walkInts(&c, &r.CarbonOff)
	c.skipNewerColumns()
}

func (r *Pool) walkWire(w *wire) {
	c := w.beginRow(5)
	walkName(&c, &r.Model)
	walkInt(&c, &r.Nodes)
	walkInt(&c, &r.GPUs)
	walkInt(&c, &r.CPU)
	walkInt(&c, &r.Memory)
	c.skipNewerColumns()
}

func (r *Node) walkWire(w *wire) {
	c := w.beginRow(10)
	walkName(&c, &r.Name)
	walkName(&c, &r.Model)
	walkInt(&c, &r.GPUs)
	walkInt(&c, &r.CPU)
	walkInt(&c, &r.Memory)
	walkInt(&c, &r.GPUMemory)
	walkName(&c, &r.Closed)
	walkInt(&c, &r.OtherCPU)
	walkInt(&c, &r.OtherMem)
	walkInts(&c, &r.Others)
	c.skipNewerColumns()
}

func (r *NodeTopology) walkWire(w *wire) {
	c := w.beginRow(2)
	walkName(&c, &r.Node)
	walkRows(&c, &r.Labels)
	c.skipNewerColumns()
}

func (r *Label) walkWire(w *wire) {
	c := w.beginRow(2)
	walkName(&c, &r.Key)
	walkName(&c, &r.Value)
	c.skipNewerColumns()
}

func (r *Point) walkWire(w *wire) {
	c := w.beginRow(2)
	walkInt(&c, &r.At)
	walkInt(&c, &r.Value)
	c.skipNewerColumns()
}

func (r *HourlyEnergy) walkWire(w *wire) {
	c := w.beginRow(2)
	walkInt(&c, &r.Hour)
	walkInt(&c, &r.Energy)
	c.skipNewerColumns()
}

func (r *Usage) walkWire(w *wire) {
	c := w.beginRow(5)
	walkInt(&c, &r.IT)
	walkInt(&c, &r.Energy)
	walkInt(&c, &r.Carbon)
	walkInt(&c, &r.Money)
	walkInt(&c, &r.Finish)
	c.skipNewerColumns()
}

func (r *Certificate) walkWire(w *wire) {
	c := w.beginRow(3)
	walkInt(&c, &r.Primal)
	walkInt(&c, &r.Bound)
	walkInt(&c, &r.Jobs)
	c.skipNewerColumns()
}

func (r *Reason) walkWire(w *wire) {
	c := w.beginRow(2)
	walkName(&c, &r.Code)
	walkName(&c, &r.Note)
	c.skipNewerColumns()
}

func (r *Weights) walkWire(w *wire) {
	c := w.beginRow(8)
	walkInt(&c, &r.Carbon)
	walkInt(&c, &r.WaitNow)
	walkInt(&c, &r.WaitStandard)
	walkInt(&c, &r.WaitFlexible)
	walkInt(&c, &r.Late)
	walkInt(&c, &r.LateMost)
	walkInt(&c, &r.WaitLimit)
	walkInt(&c, &r.WaitLimitRuns)
	c.skipNewerColumns()
}

func (r *JudgeChoice) walkWire(w *wire) {
	c := w.beginRow(6)
	walkName(&c, &r.Handle)
	walkName(&c, &r.Site)
	if w.writing || c.hasMoreColumns() {
		r.Option.walkWire(w)
	}
	walkInt(&c, &r.Cost)
	walkInt(&c, &r.Extra)
	walkBool(&c, &r.MayQueue)
	c.skipNewerColumns()
}

func (r *OperatorNotice) walkWire(w *wire) {
	c := w.beginRow(3)
	walkName(&c, &r.ID)
	walkName(&c, &r.Site)
	walkName(&c, &r.Text)
	c.skipNewerColumns()
}

func (r *LogLine) walkWire(w *wire) {
	c := w.beginRow(2)
	walkInt(&c, &r.At)
	walkName(&c, &r.Text)
	c.skipNewerColumns()
}

func (r *JudgePick) walkWire(w *wire) {
	c := w.beginRow(2)
	walkName(&c, &r.Handle)
	walkName(&c, &r.Why)
	c.skipNewerColumns()
}

func (r *Component) walkWire(w *wire) {
	c := w.beginRow(7)
	walkName(&c, &r.Role)
	walkInt(&c, &r.Pods)
	walkInt(&c, &r.GPUs)
	walkInt(&c, &r.Share)
	walkInt(&c, &r.GPUMemory)
	walkInt(&c, &r.CPU)
	walkInt(&c, &r.Memory)
	c.skipNewerColumns()
}

func (r *PodGroup) walkWire(w *wire) {
	c := w.beginRow(3)
	walkInt(&c, &r.Component)
	walkName(&c, &r.Level)
	walkInt(&c, &r.Pods)
	c.skipNewerColumns()
}

func (r *SpeedPoint) walkWire(w *wire) {
	c := w.beginRow(2)
	walkInt(&c, &r.Pods)
	walkInt(&c, &r.Speed)
	c.skipNewerColumns()
}

func (r *Part) walkWire(w *wire) {
	width := 2
	if len(r.Models) > 0 {
		width++ // parts that take the job's models keep their bytes
	}
	c := w.beginRow(width)
	walkName(&c, &r.Name)
	walkInts(&c, &r.Pods)
	if !w.writing || width > 2 {
		walkNames(&c, &r.Models)
	}
	c.skipNewerColumns()
}

func (r *PartSite) walkWire(w *wire) {
	c := w.beginRow(2)
	walkName(&c, &r.Part)
	walkName(&c, &r.Site)
	c.skipNewerColumns()
}

func (r *Place) walkWire(w *wire) {
	c := w.beginRow(4)
	walkInt(&c, &r.Component)
	walkInt(&c, &r.Pods)
	walkName(&c, &r.Node)
	walkInts(&c, &r.Devices)
	c.skipNewerColumns()
}

func (r *Spread) walkWire(w *wire) {
	c := w.beginRow(3)
	walkName(&c, &r.Job)
	walkInt(&c, &r.Option)
	walkRows(&c, &r.Places)
	c.skipNewerColumns()
}

func (r *Hole) walkWire(w *wire) {
	c := w.beginRow(6)
	walkName(&c, &r.Job)
	walkInt(&c, &r.Option)
	walkInt(&c, &r.Fit)
	walkInt(&c, &r.From)
	walkInt(&c, &r.GPUHours)
	walkInt(&c, &r.Cost)
	c.skipNewerColumns()
}

func (r *LargestSet) walkWire(w *wire) {
	c := w.beginRow(2)
	walkName(&c, &r.Job)
	walkInt(&c, &r.Pods)
	c.skipNewerColumns()
}

func (r *Input) walkWire(w *wire) {
	c := w.beginRow(3)
	walkInt(&c, &r.At)
	walkName(&c, &r.From)
	walkCount(&c, &r.Seq)
	c.skipNewerColumns()
}

func (r *Balance) walkWire(w *wire) {
	c := w.beginRow(3)
	walkName(&c, &r.Account)
	walkInt(&c, &r.Amount)
	walkInt(&c, &r.Jobs)
	c.skipNewerColumns()
}

func (r *OrphanedRun) walkWire(w *wire) {
	c := w.beginRow(3)
	walkName(&c, &r.Site)
	walkName(&c, &r.Job)
	walkCount(&c, &r.Epoch)
	c.skipNewerColumns()
}

func (r *EndedJob) walkWire(w *wire) {
	c := w.beginRow(3)
	walkName(&c, &r.Job)
	walkInt(&c, &r.At)
	walkCount(&c, &r.Digest)
	c.skipNewerColumns()
}

func (r *MonthUsage) walkWire(w *wire) {
	c := w.beginRow(3)
	walkInt(&c, &r.Month)
	walkInt(&c, &r.Carbon)
	walkInt(&c, &r.Money)
	c.skipNewerColumns()
}

func (r *BudgetCharge) walkWire(w *wire) {
	c := w.beginRow(7)
	walkName(&c, &r.Quota)
	walkInt(&c, &r.Month)
	walkInt(&c, &r.Money)
	walkInt(&c, &r.Carbon)
	walkInt(&c, &r.Budget)
	walkInt(&c, &r.CarbonBudget)
	walkCount(&c, &r.Version)
	c.skipNewerColumns()
}
