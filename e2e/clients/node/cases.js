// Small programs on kafkajs for single cases: cases.js NAME BOOTSTRAP ARGUMENT… Each prints lines that the test reads.
'use strict'

const { Kafka, logLevel } = require('kafkajs')

const [name, bootstrap, ...args] = process.argv.slice(2)
const kafka = new Kafka({ clientId: 'cases', brokers: bootstrap.split(','), logLevel: logLevel.ERROR })

const cases = {
  async 'list-topics' () {
    const admin = kafka.admin()
    await admin.connect()
    console.log((await admin.listTopics()).sort().join('\n'))
    await admin.disconnect()
  },

  async produce (topic, value) {
    const producer = kafka.producer({ allowAutoTopicCreation: true })
    await producer.connect()
    await producer.send({ topic, messages: [{ value }] })
    await producer.disconnect()
  },

  // Reads count records with a group that begins at the earliest offset; prints each value, commits, leaves.
  async consume (group, topic, count) {
    const consumer = kafka.consumer({ groupId: group, sessionTimeout: 6000, heartbeatInterval: 500, maxWaitTimeInMs: 100 })
    await consumer.connect()
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    let left = Number(count)
    await new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`${left} records did not come`)), 20_000)
      consumer.run({
        eachBatch: async ({ batch, resolveOffset, commitOffsetsIfNecessary }) => {
          for (const message of batch.messages) {
            console.log(`value ${message.value}`)
            resolveOffset(message.offset)
            left--
          }
          await commitOffsetsIfNecessary()
          if (left <= 0) resolve()
        },
        autoCommitThreshold: 1,
      }).catch(reject)
    })
    await consumer.disconnect()
  },

  // Produces and consumes in a group all the time, while somebody plays with the brokers. No unexpected error may come.
  async traffic (topic, seconds) {
    let end = Date.now() + 60000 // until the first record comes; then the time runs
    const patient = new Kafka({
      clientId: 'traffic', brokers: bootstrap.split(','), logLevel: logLevel.NOTHING, retry: { initialRetryTime: 50, retries: 20, maxRetryTime: 500 },
    })
    const consumer = patient.consumer({ groupId: `${topic}-node`, sessionTimeout: 6000, heartbeatInterval: 300, maxWaitTimeInMs: 100 })
    const producer = patient.producer()
    let consumed = 0
    let sent = 0
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      // Retriable ones it recovers from by a restart.
      if (!payload.restart) console.log(`problem consumer: ${payload.error.name} ${payload.error.message}`)
    })
    await Promise.all([consumer.connect(), producer.connect()])
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await consumer.run({
      eachMessage: async () => {
        if (consumed++ === 0) {
          end = Date.now() + Number(seconds) * 1000
          console.log('begun')
        }
      },
    })
    for (; Date.now() < end; sent++) {
      await producer.send({ topic, acks: -1, messages: [{ key: `k${sent % 10}`, value: `v${sent}` }] })
        .catch(error => console.log(`problem producer: ${error.name} ${error.message}`))
    }
    await producer.disconnect()
    await consumer.disconnect()
    console.log(`consumed ${consumed}`)
    console.log(`sent ${sent}`)
    console.log('done')
  },
}

cases[name](...args).then(() => process.exit(0), error => {
  console.error(error)
  process.exit(1)
})
