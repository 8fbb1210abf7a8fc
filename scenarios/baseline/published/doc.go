// Package published implements temporal-shifting rules from the literature: they move
// a job to the hour of lowest intensity, to the window of lowest sum, to the hour
// that saves most per time waited, split it into segments between which it is
// suspended, or scale its workers with the intensity.
//
// Each rule is a pure function of a [Curve], the known future values. With the true
// future the rules reproduce the published figures (package conformance tests that);
// with a forecast they are the baselines that the auction is compared with (package
// baseline). So the comparison uses the published rules themselves.
//
// Sources, by rule:
//   - [LowestSlot], [LowestWindow], [CarbonTime]: GAIA (Hanafy et al., ASPLOS 2024),
//     where the last is the paper's own;
//   - [Curve.QuantileThreshold] with [RunBelowThreshold]: Ecovisor (Souza et al., ASPLOS
//     2023), as GAIA runs it;
//   - [LowestWindow] with the true length, and [CheapestSegments]: Let's Wait Awhile (Wiesner
//     et al., Middleware 2021), non-interrupting and interrupting;
//   - [ElasticSchedule]: CarbonScaler (Hanafy et al., SIGMETRICS 2024).
package published
