package chat

import (
	"strconv"

	"github.com/gridbid/gridbid/coordinator/phrase"
	"github.com/gridbid/gridbid/protocol"
)

func kWh(e protocol.Millijoules) string { return phrase.KWh(e) + " kWh" }

func kg(c protocol.Milligrams) string { return phrase.Kg(c) + " kg" }

// grams prints an intensity in milligrams per kWh as grams.
func grams(c protocol.Milligrams) string {
	return strconv.FormatFloat(float64(c)/1000, 'f', 1, 64) + " g/kWh"
}

// perMWh prints a price in microdollars per kWh as dollars per MWh.
func perMWh(p protocol.Microdollars) string {
	return "$" + strconv.FormatFloat(float64(p)/1000, 'f', 2, 64) + "/MWh"
}

// percent prints part of whole; "–" without a whole.
func percent(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return strconv.FormatFloat(float64(part)*100/float64(whole), 'f', 1, 64) + " %"
}
