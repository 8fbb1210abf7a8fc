package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gridbid/gridbid/internal/chart"
)

// namesOf returns the names of all measurements, in their order.
func namesOf(all []measurement) (names []string) {
	for _, m := range all {
		if !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	return names
}

// rowsOf returns the measurements of one name.
func rowsOf(all []measurement, name string) (rows []measurement) {
	for _, m := range all {
		if m.name == name {
			rows = append(rows, m)
		}
	}
	return rows
}

// fitPower returns the power of the jobs by which a value grows: the slope of the line of least
// squares through the logarithms. It is NaN for fewer than two numbers of jobs.
func fitPower(rows []measurement, value func(measurement) float64) float64 {
	var x, y float64
	for _, m := range rows {
		x, y = x+math.Log(float64(m.jobs)), y+math.Log(value(m))
	}
	x, y = x/float64(len(rows)), y/float64(len(rows))
	var covariance, variance float64
	for _, m := range rows {
		d := math.Log(float64(m.jobs)) - x
		covariance += float64(d * (math.Log(value(m)) - y))
		variance += float64(d * d)
	}
	return covariance / variance
}

// growthChart returns the chart of CPU time by jobs.
func growthChart(all []measurement) chart.CurveChart {
	c := chart.CurveChart{Title: "CPU time of a replayed day", XUnit: "jobs", YUnit: "CPU-seconds of one thread", YDecimals: 1}
	for _, name := range namesOf(all) {
		curve := chart.Curve{Name: name}
		for _, m := range rowsOf(all, name) {
			curve.Points = append(curve.Points, chart.NamedPoint{X: float64(m.jobs), Y: m.cpu.Seconds()})
		}
		c.Curves = append(c.Curves, curve)
	}
	return c
}

// writeGrowthChart writes growth.svg and growth.png into a folder.
func writeGrowthChart(folder string, all []measurement) error {
	layout := growthChart(all).ComputeLayout(640)
	png, err := layout.EncodePNG()
	return errors.Join(err,
		os.WriteFile(filepath.Join(folder, "growth.svg"), layout.EncodeSVG(), 0o644),
		os.WriteFile(filepath.Join(folder, "growth.png"), png, 0o644))
}
