package config

import "strings"

// group is a family of Kafka names that are accepted without effect, for one reason. Names are separated by blanks; a * at
// the end stands for anything.
type group struct {
	reason   string
	security bool // leaving these out weakens what the operator thinks is protected: warn, don't just list
	names    string
}

// ignoredGroups covers all names of Kafka 4.x that aren't in brokerTable, and the old ones that server.properties files and
// container images still carry.
var ignoredGroups = []group{
	{reason: "nothing is kept on disk", names: `
		log.dir log.dirs cordoned.log.dirs log.dir.failure.timeout.ms log.initial.task.delay.ms log.flush.*
		num.recovery.threads.per.data.dir num.replica.alter.log.dirs.threads alter.log.dirs.replication.quota.*
		metadata.log.* metadata.max.* metadata.cleanup.policy replica.high.watermark.checkpoint.interval.ms`},
	{reason: "there is no tiered storage", names: `
		remote.* rsm.config.* rlmm.config.* follower.fetch.last.tiered.offset.enable`},
	{reason: "the central server takes the place of KRaft and ZooKeeper", names: `
		process.roles controller.* controlled.shutdown.* zookeeper.* initial.broker.registration.timeout.ms
		broker.heartbeat.interval.ms broker.id.generation.enable reserved.broker.max.id
		early.start.listeners unstable.* inter.broker.protocol.version`},
	{reason: "brokers of one process need no connections among themselves", names: `
		inter.broker.listener.name replica.socket.* socket.connection.setup.* request.timeout.ms
		add.partitions.to.txn.retry.*`},
	{reason: "event loops and workers take the place of Kafka's thread pools and purgatories", names: `
		num.network.threads num.io.threads background.threads
		fetch.purgatory.purge.interval.requests producer.purgatory.purge.interval.requests
		delete.records.purgatory.purge.interval.requests share.fetch.purgatory.purge.interval.requests group.coordinator.*
		share.coordinator.* offsets.load.buffer.size
		offsets.topic.compression.codec offsets.commit.required.acks transaction.state.log.load.buffer.size`},
	{reason: "batches are stored as they come", names: `
		log.message.format.version log.message.downconversion.enable log.message.timestamp.difference.max.ms`},
	{reason: "compaction is done by the partitions' own workers, in small steps", names: `
		log.cleaner.enable log.cleaner.threads log.cleaner.io.* log.cleaner.dedupe.buffer.size log.cleaner.backoff.ms`},
	{reason: "a fetch of a follower is answered as soon as there is something", names: `
		num.replica.fetchers replica.fetch.min.bytes`},
	{reason: "followers serve no consumers, and are not throttled by topic", names: `
		replica.selector.class leader.imbalance.* leader.replication.throttled.* follower.replication.throttled.* replication.quota.*`},
	{reason: "a transaction is aborted when its time is over, and every batch is verified", names: `
		transaction.abort.timed.out.transaction.cleanup.interval.ms transaction.partition.verification.enable`},
	{reason: "there are no two-phase transactions yet", names: `
		transaction.two.phase.commit.enable`},
	{reason: "there are no quotas yet", names: `
		quota.* client.quota.callback.class max.connections.per.ip.overrides max.connection.creation.rate`},
	{reason: "a consumer group changes from and to the classic protocol while it is empty, and assigns at once", names: `
		group.consumer.migration.policy group.consumer.assignment.interval.ms group.consumer.min.assignment.interval.ms
		group.consumer.max.assignment.interval.ms`},
	{reason: "there are neither share nor streams groups yet", names: `
		group.share.* group.streams.* errors.deadletterqueue.*`},
	{reason: "there is no JVM", names: `
		metric.reporters metrics.* kafka.metrics.* auto.include.jmx.reporter telemetry.* config.providers*
		create.topic.policy.* alter.config.policy.*`},
	{reason: "there is neither TLS nor authentication nor authorisation yet", security: true, names: `
		ssl.* sasl.* security.* authorizer.class.name super.users allow.everyone.if.no.acl.found principal.builder.class
		delegation.token.* connections.max.reauth.ms connection.failed.authentication.delay.ms password.encoder.*
		listener.name.*`},
}

// ignoredName looks a name up in the groups.
func ignoredName(name string) (g *group, known bool) {
	for i := range ignoredGroups {
		for _, p := range strings.Fields(ignoredGroups[i].names) {
			if prefix, open := strings.CutSuffix(p, "*"); p == name || open && strings.HasPrefix(name, prefix) {
				return &ignoredGroups[i], true
			}
		}
	}
	return nil, false
}
