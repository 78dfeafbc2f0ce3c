package config

import (
	"slices"
	"strings"
)

// notConfigs are KAFKA_ variables that the apache/kafka image and Kafka's scripts use for themselves.
var notConfigs = []string{
	"VERSION", "HEAP_OPTS", "LOG4J_OPTS", "OPTS", "JMX_OPTS", "JMX_PORT", "JMX_HOSTNAME", "JVM_PERFORMANCE_OPTS", "GC_LOG_OPTS",
	"LOG4J_ROOT_LOGLEVEL", "LOG4J_LOGGERS", "TOOLS_LOG4J_LOGLEVEL", "HOME", "BASE_DIR", "DEBUG", "CONFIG",
}

// environ reads KAFKA_ variables, then MILLRACE_ ones. A variable without a value counts as not set: compose files pass such ones on.
func (l *loader) environ(variables []string) {
	for _, prefix := range []string{"KAFKA_", "MILLRACE_"} {
		for _, v := range slices.Sorted(slices.Values(variables)) {
			variable, value, _ := strings.Cut(v, "=")
			rest, ours := strings.CutPrefix(variable, prefix)
			if !ours || value == "" || slices.Contains(notConfigs, rest) || serviceLink(rest) {
				continue
			}
			name := environName(rest)
			if own := "millrace." + name; prefix == "MILLRACE_" && brokerKeys[name] == nil && brokerKeys[own] != nil {
				name = own
			}
			l.add(name, value, "environment "+variable)
		}
	}
}

// environName turns what follows the prefix into a config's name, by the rules of the apache/kafka image: ___ is -, __ is _, _ is a dot.
func environName(rest string) string {
	return strings.NewReplacer("___", "-", "__", "_", "_", ".").Replace(strings.ToLower(rest))
}

// serviceLink recognises what Kubernetes sets for a service that is called kafka: KAFKA_PORT=tcp://10.0.0.7:9092.
func serviceLink(rest string) bool {
	return rest == "PORT" || strings.HasPrefix(rest, "PORT_") || rest == "SERVICE_HOST" || strings.HasPrefix(rest, "SERVICE_PORT")
}
