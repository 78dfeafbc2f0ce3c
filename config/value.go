package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a config value. The numbers are those of DescribeConfigs (config_type, KIP-569).
type Type int8

// The types that Kafka knows.
const (
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3
	Short    Type = 4
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	Class    Type = 8
	Password Type = 9
)

var typeNames = [...]string{"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}

// String is Kafka's name of the type.
func (t Type) String() string {
	if t < 0 || int(t) >= len(typeNames) {
		return typeNames[0]
	}
	return typeNames[t]
}

// expected says in words what a text of this type looks like.
func (t Type) expected() string {
	switch t {
	case Boolean:
		return "true or false"
	case Int:
		return "a whole number of 32 bits"
	case Short:
		return "a whole number of 16 bits"
	case Long:
		return "a whole number of 64 bits"
	case Double:
		return "a number"
	case List:
		return "a list separated by commas"
	default:
		return "text"
	}
}

// complaint says what is wrong with a value, worded as Kafka's ConfigDef does; nil is a good value.
type complaint struct {
	text  string
	value string // the item of a list that is at fault, "" for the whole
	alone bool   // the text is a sentence of its own, Kafka doesn't put the name and the value before it
}

func bad(text string) *complaint { return &complaint{text: text} }

// parse turns text into a bool, int16, int32, int64, float64, string or []string; surrounding blanks don't matter.
func (t Type) parse(text string) (any, *complaint) {
	text = strings.TrimSpace(text)
	switch t {
	case Boolean:
		switch {
		case strings.EqualFold(text, "true"):
			return true, nil
		case strings.EqualFold(text, "false"):
			return false, nil
		}
		return nil, bad("Expected value to be either true or false")
	case Int:
		n, err := strconv.ParseInt(text, 10, 32)
		return int32(n), notANumber(t, err)
	case Short:
		n, err := strconv.ParseInt(text, 10, 16)
		return int16(n), notANumber(t, err)
	case Long:
		n, err := strconv.ParseInt(text, 10, 64)
		return n, notANumber(t, err)
	case Double:
		f, err := strconv.ParseFloat(text, 64)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			err = strconv.ErrSyntax
		}
		return f, notANumber(t, err)
	case List:
		return splitList(text), nil
	default:
		return text, nil
	}
}

func notANumber(t Type, err error) *complaint {
	if err == nil {
		return nil
	}
	return bad("Not a number of type " + t.String())
}

// splitList cuts at commas and trims; nothing at all is the empty list.
func splitList(text string) []string {
	if text == "" {
		return []string{}
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		items[i] = strings.TrimSpace(item)
	}
	return items
}

// format prints a value as Kafka does in DescribeConfigs, so that " TRUE " comes back as "true".
func format(value any) string {
	switch v := value.(type) {
	case bool:
		return strconv.FormatBool(v)
	case int16:
		return strconv.FormatInt(int64(v), 10)
	case int32:
		return strconv.FormatInt(int64(v), 10)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return formatDouble(v)
	case []string:
		return strings.Join(v, ",")
	case string:
		return v
	}
	panic(fmt.Sprintf("config: a value of type %T", value))
}

// formatDouble prints like Java's Double.toString: 0.5, 1.0, 1.7976931348623157E308.
func formatDouble(f float64) string {
	if a := math.Abs(f); a != 0 && (a < 1e-3 || a >= 1e7) {
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
		if !strings.Contains(mantissa, ".") {
			mantissa += ".0"
		}
		n, _ := strconv.Atoi(exponent)
		return mantissa + "E" + strconv.Itoa(n)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// rule is what a value must fulfil beyond its type.
type rule struct {
	text  string // for people and the reference: "at least 1"
	check func(value any) *complaint
}

// number widens any numeric value. The limits in the table are below 2^53, so a float64 compares exactly.
func number(value any) float64 {
	switch v := value.(type) {
	case int16:
		return float64(v)
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	panic(fmt.Sprintf("config: %T isn't a number", value))
}

func atLeast(minimum int64) *rule {
	return &rule{fmt.Sprintf("at least %d", minimum), func(v any) *complaint {
		if number(v) < float64(minimum) {
			return bad(fmt.Sprintf("Value must be at least %d", minimum))
		}
		return nil
	}}
}

func between(minimum, maximum int64) *rule {
	return &rule{fmt.Sprintf("from %d to %d", minimum, maximum), func(v any) *complaint {
		if number(v) > float64(maximum) {
			return bad(fmt.Sprintf("Value must be no more than %d", maximum))
		}
		return atLeast(minimum).check(v)
	}}
}

func oneOf(words ...string) *rule {
	return &rule{"one of " + strings.Join(words, ", "), func(v any) *complaint {
		if slices.Contains(words, v.(string)) {
			return nil
		}
		return bad("String must be one of: " + strings.Join(words, ", "))
	}}
}

// listOf allows any number of the words, none included (since Kafka 4.0 an empty cleanup.policy means: keep everything).
func listOf(name string, words ...string) *rule {
	return &rule{"any of " + strings.Join(words, ", "), func(v any) *complaint {
		for _, item := range v.([]string) {
			if item == "" {
				return &complaint{text: "Configuration '" + name + "' values must not be empty.", alone: true}
			}
			if c := oneOf(words...).check(item); c != nil {
				c.value = item
				return c
			}
		}
		return nil
	}}
}

// retentionRule: Kafka takes -1 for "no limit" and refuses 0, which would delete what is being written.
var retentionRule = &rule{"-1 for no limit, or at least 1", func(v any) *complaint {
	if n := number(v); n < -1 || n == 0 {
		return bad("Value must be unlimited (-1) or at least 1")
	}
	return nil
}}

var gzipLevel = &rule{"from 1 to 9, or -1", func(v any) *complaint {
	if n := number(v); n != -1 && (n < 1 || n > 9) {
		return bad("Value must be between 1 and 9 or equal to -1")
	}
	return nil
}}

// producerOnly refuses what Kafka would do and Millrace won't: a value that is accepted and does nothing is a lie.
var producerOnly = &rule{"producer (the broker never compresses)", func(v any) *complaint {
	known := oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
	if c := known.check(v); c != nil {
		return c
	}
	if v.(string) != "producer" {
		return bad("Only producer is supported: batches are stored as the producer compressed them, the broker never compresses")
	}
	return nil
}}

// neverTrue refuses a switch for something that doesn't exist, since a client that sets it relies on it.
func neverTrue(text string) *rule {
	return &rule{"false", func(v any) *complaint {
		if v.(bool) {
			return &complaint{text: text, alone: true}
		}
		return nil
	}}
}

func throttledReplicas(name string) *rule {
	return &rule{"*, or partition:broker separated by commas", func(v any) *complaint {
		items := v.([]string)
		if len(items) == 1 && items[0] == "*" {
			return nil
		}
		for _, item := range items {
			partition, broker, _ := strings.Cut(item, ":")
			if !digits(partition) || !digits(broker) {
				return &complaint{
					value: "[" + strings.Join(items, ", ") + "]",
					text:  name + " must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
				}
			}
		}
		return nil
	}}
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
