// Package config knows every configuration by its Kafka name: type, default, who may change it, what it does here.
//
// # Types
//
// [Config] is an immutable snapshot of the broker configs: plain fields that hot paths read, and, behind [Config.Describe], where each
// value came from. [Config.With] derives the next snapshot; whoever holds the current one swaps a pointer. [TopicConfig] is the same for
// one topic: [Config.Topic] resolves a topic's overrides on top of the broker's values, through the synonyms that Kafka has for them
// (retention.ms ← log.retention.ms, log.retention.minutes, log.retention.hours).
//
// [Config.Overlay] puts what was set at run time on top (dynamic.go), after [Config.ValidateDynamic] has judged it.
//
// [Load] puts the sources on top of each other: defaults, the .properties file, KAFKA_* and MILLRACE_* environment, command line. What
// is wrong is an error that names file, line and what was expected; what is merely odd (an unknown name, a name that nothing reads)
// goes into the [Report], since a configuration written for Kafka must start Millrace.
//
// [Key] is one row of the tables in table_broker.go and table_topic.go. They are the only place that knows a name: parsing, validation,
// DescribeConfigs and docs/config.md (see [Reference]) all come from them. Names that have no row but are Kafka's stand in ignored.go
// with the reason why they do nothing.
//
// # Invariants
//
//   - A Config that exists is valid: every value passed its rule, and the ones that depend on each other were compared.
//   - Each accepted name either has an effect or says that it has none (Effect, Report.Ignored). Values that Millrace will never honour,
//     such as compression.type=gzip, are refused.
//   - Defaults are Kafka's 4.x, except listeners (this machine only, as there is no authentication),
//     group.initial.rebalance.delay.ms (0), broker.session.timeout.ms and leader.imbalance.check.interval.seconds (5). Own names start with "millrace.", apart from control.listener and http.listener.
//   - Messages of [InvalidConfigError] are Kafka's own texts, since tools match on them.
//   - Nothing here is changed after it was returned; there are no locks and no goroutines.
package config
