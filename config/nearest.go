package config

import "strings"

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

// distance counts the letters to add, drop or change (Levenshtein); it stops counting at limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], limit)
}
