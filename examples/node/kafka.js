// What an application does with kafkajs: make a topic, produce keyed records, consume them in a group.
'use strict'

const { Kafka, CompressionTypes, CompressionCodecs, Partitioners, logLevel } = require('kafkajs')
const lz4 = require('lz4-napi')

// kafkajs itself knows gzip; the others are plugged in.
CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: encoder => lz4.compressFrame(encoder.buffer),
  decompress: bytes => lz4.decompressFrame(bytes),
})
const zstd = import('@hpcc-js/wasm-zstd').then(({ Zstd }) => Zstd.load())
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from((await zstd).compress(encoder.buffer)),
  decompress: async bytes => Buffer.from((await zstd).decompress(bytes)),
})

const codecs = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

const connect = bootstrap => new Kafka({ clientId: 'example-node', brokers: bootstrap.split(','), logLevel: logLevel.ERROR })

// Runs work with a connected producer, consumer or admin client.
async function using (client, work) {
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.disconnect()
  }
}

// Makes the topic and waits for its leaders; one that exists already is fine.
async function createTopic (bootstrap, topic, partitions) {
  await using(connect(bootstrap).admin(), admin =>
    admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: 1 }] }))
}

// Sends records {key, value} with acks=all, `perRequest` at a time, and returns [{partition, baseOffset}] of each request.
// The default partitioner places a key where the Java client would.
async function produce (bootstrap, topic, codec, records, perRequest = 2000) {
  const producer = connect(bootstrap).producer({
    createPartitioner: Partitioners.DefaultPartitioner, idempotent: true, maxInFlightRequests: 1,
  })
  return using(producer, async () => {
    const placed = []
    for (let i = 0; i < records.length; i += perRequest) {
      placed.push(await producer.send({
        topic, acks: -1, compression: codecs[codec], messages: records.slice(i, i + perRequest),
      }))
    }
    return placed
  })
}

// Joins the group and reads until `stop` resolves, then leaves. tell hears of
// ('assigned', partitions), ('records', partition, messages), ('committed', partition, offset).
// Processed first and committed afterwards: at least once.
async function consume (bootstrap, topic, group, stop, tell) {
  const consumer = connect(bootstrap).consumer({
    groupId: group, sessionTimeout: 6000, heartbeatInterval: 500, maxWaitTimeInMs: 50, rebalanceTimeout: 10000,
  })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => tell('assigned', payload.memberAssignment[topic] || []))
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (payload.restart) return
    console.error(payload.error)
    process.exit(1)
  })
  await using(consumer, async () => {
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch, heartbeat, isStale }) => {
        if (isStale()) return // after a seek
        tell('records', batch.partition, batch.messages)
        const next = String(BigInt(batch.lastOffset()) + 1n)
        await consumer.commitOffsets([{ topic, partition: batch.partition, offset: next }])
        tell('committed', batch.partition, next)
        await heartbeat()
      },
    })
    await stop
  })
}

// The sum over all partitions of end offset − committed offset.
async function lag (bootstrap, topic, group) {
  return using(connect(bootstrap).admin(), async admin => {
    const ends = await admin.fetchTopicOffsets(topic)
    const [{ partitions }] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
    const committed = new Map(partitions.map(p => [p.partition, Math.max(0, Number(p.offset))]))
    return ends.reduce((sum, end) => sum + Number(end.high) - (committed.get(end.partition) || 0), 0)
  })
}

module.exports = { createTopic, produce, consume, lag }
