//go:build !race

package qta

const raceEnabled = false
