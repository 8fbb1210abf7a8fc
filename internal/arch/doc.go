// Package arch tests that the module follows its architecture. It contains only tests;
// read the table in plan_test.go first.
//
// It checks of every package of this module:
//
//   - it has a line in the plan, and imports of this module only what the line allows;
//   - it imports third-party packages only if its line names them, and a library
//     with a door only if it is that door;
//   - coordinator and site never import each other, not even in tests, and only
//     mains and package scenarios import both;
//   - the binary of a site links, even transitively, nothing of the coordinator, of
//     its explanation, of scenarios or of the laboratory; the coordinator's binary
//     links nothing of sites, scenarios or the laboratory;
//   - if its line says pure, results depend on arguments only: no clock, no I/O, no
//     goroutine, no global random numbers, no map order, and no floating-point
//     operation that processors may round differently;
//   - only the listed packages fold the messages of a job's history, sum the
//     objective, or (under bus) create message bodies;
//   - no file has more than 500 lines and no function more than 100, and every
//     package and every exported name is documented.
//
// Each rule is tested with planted violations, which must be found.
package arch
