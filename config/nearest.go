package config

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// didYouMean suggests the known name that is nearest to a wrong one: "; did you mean num.partitions?", or nothing.
func didYouMean(name string) string {
	if k := topicKeys[name]; k != nil && len(k.from) > 0 {
		return "; for a broker it is called " + k.from[0].name
	}
	best, least := "", 1+max(2, len(name)/4)
	for i := range brokerTable {
		if d := distance(name, brokerTable[i].Name, least); d < least {
			best, least = brokerTable[i].Name, d
		}
	}
	for _, g := range ignoredGroups {
		for _, known := range strings.Fields(g.names) {
			if d := distance(name, known, least); d < least && !strings.HasSuffix(known, "*") {
				best, least = known, d
			}
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the number of letters to add, drop or change; names that differ in length by the limit or more aren't
// compared, since they may come from outside.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	return levenshtein.ComputeDistance(a, b)
}
