// Package arch holds the house to its plan. It has no code, only tests; read
// the table in plan_test.go first.
//
// What it promises, of every package of this module:
//
//   - it has a line in the plan, and imports of ours only what its line allows;
//   - it imports of others only what its line names, and a library that has a
//     door in the house only if it is that door;
//   - coordinator and site never import each other, not even in tests, and only
//     mains and package scenarios import from both;
//   - the binary of a site links nothing of the coordinator, of what explains it,
//     of scenarios or of the laboratory, however far down, and the coordinator's
//     nothing of sites, scenarios or the laboratory;
//   - if its line says pure, it is a function of what it is given: no clock, no
//     I/O, no goroutine, no global random numbers, no order of a map, and no
//     float that one processor rounds once and another twice;
//   - no file is over 500 lines and no function over 100, and every package and
//     every exported name is documented.
//
// Each rule is held to a planted violation, which must be found and told in the
// words that its test expects.
package arch
