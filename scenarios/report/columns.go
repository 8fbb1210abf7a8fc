package report

import (
	"github.com/gridbid/gridbid/history"
	"github.com/gridbid/gridbid/internal/chart"
)

// A totalsColumn is one figure, shown for all policies.
type totalsColumn struct {
	head, unit string
	value      func(history.Totals) float64
	show       func(float64) string
	lower      bool // the lowest value is marked; otherwise no value is
}

// A tableBlock is a part of the comparison, at most 100 columns of a terminal wide.
type tableBlock struct {
	title   string
	wide    bool // shown in the terminal only if asked for; the page shows all blocks
	columns []totalsColumn
}

// tableBlocks are the blocks of the comparison, in the order of display. Energy, carbon, idle
// machines, transfer, delay and lateness are apart, so that a policy which is late is not taken
// for one that wastes energy.
var tableBlocks = []tableBlock{
	{title: "What it costs", columns: []totalsColumn{
		{"objective", "$", func(t history.Totals) float64 { return t.ObjectiveUSD }, formatDollars, true},
		{"gap", "%", func(t history.Totals) float64 { return 100 * t.GapToBound }, formatGap, true},
		{"energy", "$", func(t history.Totals) float64 { return t.JobsEnergyUSD }, formatDollars, true},
		{"carbon", "$", func(t history.Totals) float64 { return t.JobsCarbonUSD }, formatDollars, true},
		{"idle", "$", func(t history.Totals) float64 { return t.IdleUSD + t.IdleCarbonUSD }, formatDollars, true},
		{"transfer", "$", func(t history.Totals) float64 { return t.TransferUSD }, formatDollars, true},
		{"delay", "$", func(t history.Totals) float64 { return t.DelayUSD }, formatDollars, true},
		{"late", "$", func(t history.Totals) float64 { return t.LateUSD }, formatDollars, true},
	}},
	{title: "What users and the grid see", columns: []totalsColumn{
		{"carbon", "kg", func(t history.Totals) float64 { return t.CarbonKg }, formatOneDecimal, true},
		{"wait", "min mean", func(t history.Totals) float64 { return t.WaitS.Mean / 60 }, formatOneDecimal, true},
		{"wait", "p50", func(t history.Totals) float64 { return t.WaitS.P50 / 60 }, formatOneDecimal, true},
		{"wait", "p95", func(t history.Totals) float64 { return t.WaitS.P95 / 60 }, formatOneDecimal, true},
		{"slowdown", "mean", func(t history.Totals) float64 { return t.Slowdown.Mean }, formatTwoDecimals, true},
		{"late", "jobs", func(t history.Totals) float64 { return float64(t.Late) }, formatWhole, true},
		{"kept", "%", func(t history.Totals) float64 { return 100 * t.DeadlinesKept }, formatTwoDecimals, false},
		{"unpl.", "jobs", func(t history.Totals) float64 { return float64(t.Unplaced) }, formatWhole, true},
		{"GPU", "%", func(t history.Totals) float64 { return 100 * t.GPUUtil }, formatOneDecimal, false},
	}},
	{title: "Energy and carbon, idle machines included", wide: true, columns: []totalsColumn{
		{"cost", "$", func(t history.Totals) float64 { return t.CostUSD }, formatDollars, true},
		{"energy", "kWh", func(t history.Totals) float64 { return t.EnergyKWh }, formatOneDecimal, true},
		{"idle", "kWh", func(t history.Totals) float64 { return t.IdleKWh }, formatOneDecimal, true},
		{"idle", "kg", func(t history.Totals) float64 { return t.IdleKg }, formatOneDecimal, true},
		{"CO2 avg", "kg", func(t history.Totals) float64 { return t.AverageKg }, formatOneDecimal, true},
		{"CO2 marg", "kg", func(t history.Totals) float64 { return t.MarginalKg }, formatOneDecimal, true},
	}},
	{title: "Times of jobs", wide: true, columns: []totalsColumn{
		{"may wait", "min mean", func(t history.Totals) float64 { return t.WaitDeferrableS.Mean / 60 }, formatOneDecimal, true},
		{"may wait", "p95", func(t history.Totals) float64 { return t.WaitDeferrableS.P95 / 60 }, formatOneDecimal, true},
		{"may not", "min mean", func(t history.Totals) float64 { return t.WaitUrgentS.Mean / 60 }, formatOneDecimal, true},
		{"may not", "p95", func(t history.Totals) float64 { return t.WaitUrgentS.P95 / 60 }, formatOneDecimal, true},
		{"JCT", "h mean", func(t history.Totals) float64 { return t.JCTS.Mean / 3600 }, formatTwoDecimals, true},
		{"JCT", "h p95", func(t history.Totals) float64 { return t.JCTS.P95 / 3600 }, formatTwoDecimals, true},
		{"slowdown", "p95", func(t history.Totals) float64 { return t.Slowdown.P95 }, formatTwoDecimals, true},
		{"done", "jobs/h", func(t history.Totals) float64 { return t.ThroughputPerH }, formatOneDecimal, false},
	}},
	{title: "Use of the fleets", wide: true, columns: []totalsColumn{
		{"GPU", "% mean", func(t history.Totals) float64 { return 100 * t.GPUUse.Mean }, formatOneDecimal, false},
		{"GPU", "% peak", func(t history.Totals) float64 { return 100 * t.GPUUse.Peak }, formatOneDecimal, false},
		{"CPU", "% mean", func(t history.Totals) float64 { return 100 * t.CPUUse.Mean }, formatOneDecimal, false},
		{"CPU", "% peak", func(t history.Totals) float64 { return 100 * t.CPUUse.Peak }, formatOneDecimal, false},
		{"memory", "% mean", func(t history.Totals) float64 { return 100 * t.MemoryUse.Mean }, formatOneDecimal, false},
		{"memory", "% peak", func(t history.Totals) float64 { return 100 * t.MemoryUse.Peak }, formatOneDecimal, false},
		{"frag.", "%", func(t history.Totals) float64 { return 100 * t.FragRatio }, formatOneDecimal, true},
	}},
}

// formatDollars shows cents below a thousand dollars, and whole dollars from there on.
func formatDollars(v float64) string {
	if v <= -1000 || v >= 1000 {
		return chart.FormatNumber(v, 0)
	}
	return chart.FormatNumber(v, 2)
}
