// Package published has the rules of the literature that move a job in time: to the
// hour of least intensity, to the best run of hours, to the hour that saves
// most for the wait, into pieces between which it sleeps, or
// onto more workers while it is clean.
//
// Each rule is one pure function of a [Curve], which says what is known of the
// hours ahead. Given the true future they give the figures that were published
// (package conformance holds them to that); given a forecast they are the
// baselines that the auction is compared with (package baseline). So what is
// compared is the published rule and not a likeness of it.
//
// Sources, by rule:
//   - [LowestSlot], [LowestWindow], [CarbonTime]: GAIA (Hanafy et al., ASPLOS
//     2024), where the last is the paper's own;
//   - [Threshold] with [Below]: Ecovisor (Souza et al., ASPLOS 2023), as GAIA
//     runs it;
//   - [LowestWindow] with the true length, and [Cheapest]: Let's Wait Awhile
//     (Wiesner et al., Middleware 2021), non-interrupting and interrupting;
//   - [Elastic]: CarbonScaler (Hanafy et al., SIGMETRICS 2024).
package published
